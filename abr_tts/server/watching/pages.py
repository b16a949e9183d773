"""
The pages for people: the demonstration at `/`, the operator's at `/ops`, and the files of the JavaScript
client below `/static/`.

Everything is read once, when the server is made, and served from memory: a name that is not among what was
found there does not exist, so no request reaches the disk. Files keep their names from version to version;
browsers ask each time whether theirs is still the one (ETag).
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from aiohttp import web

from ...errors import ConfigError

TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
    "wasm": "application/wasm",
    "ts": "text/plain; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
}
"""What is served, by the ending of its name; a file of any other kind is not. Browsers compile WebAssembly
while it arrives only if it is called `application/wasm`."""

CSP = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing from elsewhere, nothing inline (CSP level 3); 'wasm-unsafe-eval' lets WebAssembly compile."""

HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
"""Of everything here. `no-cache` means: keep it, and ask before each use."""

WORTH_PACKING = 0.9
"""A file is sent packed if that leaves at most this share of it. By eye: saves a kilobyte of ten."""

Facts = Callable[[web.Request], Mapping[str, Any]]
"""What the page is told of the server; of the request it looks at the key alone."""


@dataclass(frozen=True)
class File:
    """One file: its bytes, its type and, as `etag`, a hash of them."""

    body: bytes
    content_type: str

    @cached_property
    def etag(self) -> str:
        """As in the header, quotes included."""
        return f'"{hashlib.sha256(self.body).hexdigest()[:32]}"'

    @cached_property
    def packed(self) -> bytes | None:
        """By gzip; None: it would not get smaller."""
        packed = gzip.compress(self.body, mtime=0)
        return packed if len(packed) <= WORTH_PACKING * len(self.body) else None


class Pages:
    """
    Args:
        facts: what the page is told of the server, at `/page.json`.
        folder: of the files; the package's own if None.

    Raises:
        ConfigError: there are none; the installation is broken.
    """

    def __init__(self, facts: Facts, folder: Traversable | None = None) -> None:
        self._facts = facts
        self._files = dict(_found(folder or files("abr_tts").joinpath("web", "static")))
        if "index.html" not in self._files:
            raise ConfigError("web.enabled: the pages are missing; install again, or set it to false")

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Serve them in a web server."""
        for path, name in (("/", "index.html"), ("/ops", "ops.html"), ("/favicon.ico", "favicon.svg")):
            router.add_get(path, self._named(name))
        router.add_get("/page.json", self._told)
        router.add_get("/static/{name:.*}", self._static)

    def _named(self, name: str) -> Callable[[web.Request], Any]:
        async def page(request: web.Request) -> web.Response:
            return self._answer(request, name)

        return page

    async def _static(self, request: web.Request) -> web.Response:
        return self._answer(request, request.match_info["name"])

    async def _told(self, request: web.Request) -> web.Response:
        return web.json_response(dict(self._facts(request)), headers=HEADERS | {"Cache-Control": "no-store"})

    def _answer(self, request: web.Request, name: str) -> web.Response:
        file = self._files.get(name)
        if file is None:
            raise web.HTTPNotFound(headers=HEADERS)
        headers = HEADERS | {"ETag": file.etag, "Vary": "Accept-Encoding"}
        if _has(request, file.etag):
            return web.Response(status=304, headers=headers)
        body = file.body
        if file.packed is not None and _takes_gzip(request):
            body, headers["Content-Encoding"] = file.packed, "gzip"
        return web.Response(body=body, headers=headers | {"Content-Type": file.content_type})


def _found(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, File]]:
    """Every file below a folder that may be served, by its path there."""
    if not folder.is_dir():
        return
    for item in folder.iterdir():
        if item.is_dir():
            yield from _found(item, f"{prefix}{item.name}/")
        elif content_type := TYPES.get(item.name.rpartition(".")[2]):
            yield prefix + item.name, File(item.read_bytes(), content_type)


def _has(request: web.Request, etag: str) -> bool:
    """Whether the browser's copy is this one (RFC 9110 13.1.2)."""
    given = request.headers.get("If-None-Match", "")
    return given.strip() == "*" or etag in (item.strip().removeprefix("W/") for item in given.split(","))


def _takes_gzip(request: web.Request) -> bool:
    """Whether it says so; one that says `gzip;q=0` does not."""
    offers = (item.strip().replace(" ", "") for item in request.headers.get("Accept-Encoding", "").split(","))
    return any(offer == "gzip" or (offer.startswith("gzip;q=") and offer[7:].strip("0.")) for offer in offers)
