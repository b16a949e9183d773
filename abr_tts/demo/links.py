"""
Links that a listener spoils for itself: each page has one of its own, between it and this server.

The page connects to `/demo/links/<id>/stream` instead of `/v1/stream`; its messages go through a `Relay`
whose rate and delay it sets by `PUT /demo/links/<id>`, at any time. Nobody else's stream passes there. It
also hands a page the trace of a stream whose id it knows. All this is open only in a server that was asked
for it (`abr-tts serve --demo`): whoever may speak may then also hold connections on a slow link.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import aiohttp
from aiohttp import web

from ..server.access.keys import KEY_PROTOCOL
from ..server.app import WILDCARDS, Server
from ..server.front import PATH as STREAM_PATH
from ..server.front import SUBPROTOCOL
from ..sim.scenario import UPLINK_KBPS, Direction, Scenario
from .relay import Relay

PATH = "/demo/links/{link}"
"""Where a link is; the page makes up the id."""

TRACES = "/demo/traces/{stream}"
"""Where the decisions of a stream are."""

LINK_ID = re.compile(r"[0-9A-Za-z-]{8,64}")
STREAM_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

MOST_LINKS = 64
"""Links at once; past it, one that nobody is connected to goes. Enough for a class room; a guess."""

MOST_KBPS = 100_000.0
"""Rate of a link that is none: what no rung comes near."""

LEAST_KBPS = 1.0
"""Rate at least, of a link that is not dead: what no rung can use, and a packet a quarter of a minute."""

MOST_USERS = 4
"""Connections through one link: a page has one, and one that it is leaving; a guess."""

JOIN_S = 10.0
"""Seconds for a connection to come through; a dead link keeps it waiting, and then the page tries again."""

MOST_DELAY_MS = 2_000.0
"""Delay at most, one way: a satellite's is 300 ms."""

PERIOD_S = 3_600.0
"""Of a link's schedule, which has one rate; a dead one lives in its last second, as `Path` wants."""

MESSAGE_BYTES = 4 * 1024 * 1024
"""Largest message that is passed on; the server's own limit is smaller."""

UNSENDABLE = frozenset({None, 1005, 1006, 1015})
"""Close codes that no peer may write (RFC 6455 7.4.1): the connection just ended."""

Socket: TypeAlias = web.WebSocketResponse | aiohttp.ClientWebSocketResponse


@dataclass
class Link:
    """One page's link: what it is like, its relay while somebody is connected, and how many are."""

    kbps: float = MOST_KBPS
    delay_ms: float = 0.0
    relay: Relay | None = None
    users: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def scenario(self) -> Scenario:
        """As a relay wants it; both directions die together, as a radio does."""
        delay_s = self.delay_ms / 1000
        up_kbps = UPLINK_KBPS if self.kbps else 0.0
        down, up = Direction(_rate(self.kbps), delay_s), Direction(_rate(up_kbps), delay_s)
        return Scenario("slider", PERIOD_S, down, up)


class Links:
    """
    Args:
        server: that the links lead to, not started.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._links: OrderedDict[str, Link] = OrderedDict()
        self._http: aiohttp.ClientSession | None = None

    def open(self) -> None:
        """Open the doors, and tell the pages of them; before the server starts."""
        app = self._server.app
        self._server.more_facts |= {"demo": True, "most_kbps": MOST_KBPS}
        app.router.add_put(PATH, self._set)
        app.router.add_get(f"{PATH}/stream", self._stream)
        if self._server.settings.record.dir is not None:
            app.router.add_get(TRACES, self._trace)
        app.on_shutdown.append(self._stop)

    # ------------------------------------------------------------ what a page asks

    async def _set(self, request: web.Request) -> web.Response:
        """`{"kbps": 40, "delay_ms": 30}`; 0 kbit/s is a dead link. What is absent stays as it is."""
        self._server.door.admit(request)
        link = self._link(request)
        wanted = await _numbers(request, {"kbps": MOST_KBPS, "delay_ms": MOST_DELAY_MS})
        if 0 < wanted.get("kbps", 0) < LEAST_KBPS:
            raise web.HTTPBadRequest(text=f"kbps must be 0, for a dead link, or at least {LEAST_KBPS:g}\n")
        link.kbps, link.delay_ms = wanted.get("kbps", link.kbps), wanted.get("delay_ms", link.delay_ms)
        if link.relay is not None:
            link.relay.steer(link.scenario())
        return web.json_response({"kbps": link.kbps, "delay_ms": link.delay_ms})

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        """The page's WebSocket, joined to one of the server's own through the relay."""
        self._server.door.check(request)
        link = self._link(request)
        if link.users >= MOST_USERS:
            raise _busy("this link has all the connections that it may have")
        host = self._server.settings.server.host
        link.users += 1
        try:
            await _enter(link, WILDCARDS.get(host, host), self._server.port)
            assert link.relay is not None
            return await self._join(request, link.relay.port)
        finally:
            await _leave(link)

    async def _trace(self, request: web.Request) -> web.Response:
        """The decisions of a stream, as far as they are written; an id cannot be guessed."""
        self._server.door.admit(request)
        folder, stream = self._server.settings.record.dir, request.match_info["stream"].lower()
        body = None
        if folder is not None and STREAM_ID.fullmatch(stream):
            body = await asyncio.to_thread(_written, folder, stream)
        if body is None:
            raise web.HTTPNotFound(text="nothing is recorded of such a stream, or not yet\n")
        name = f'attachment; filename="abr-tts-{stream[:8]}.jsonl"'
        headers = {
            "Content-Disposition": name,
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        }
        return web.Response(body=body, content_type="application/x-ndjson", headers=headers)

    # ------------------------------------------------------------ inside

    def _link(self, request: web.Request) -> Link:
        """The link of that id, made if there is none."""
        name = request.match_info["link"]
        if not LINK_ID.fullmatch(name):
            raise web.HTTPBadRequest(text="a link's id has 8 to 64 letters, digits and dashes\n")
        if name not in self._links and len(self._links) >= MOST_LINKS:
            idle = next((other for other, link in self._links.items() if not link.users), None)
            if idle is None:
                raise _busy("all links are taken")
            del self._links[idle]
        link = self._links.setdefault(name, Link())
        self._links.move_to_end(name)
        return link

    async def _join(self, request: web.Request, port: int) -> web.StreamResponse:
        self._http = self._http or aiohttp.ClientSession()
        scheme = "wss" if self._server.url.startswith("wss") else "ws"
        offered = request.headers.get("Sec-WebSocket-Protocol", "").split(",")
        asked = [item.strip() for item in offered]
        protocols = [item for item in asked if item == SUBPROTOCOL or item.startswith(KEY_PROTOCOL)]
        bearer = {key: request.headers[key] for key in ("Authorization",) if key in request.headers}
        try:
            async with asyncio.timeout(JOIN_S):
                far = await self._http.ws_connect(
                    f"{scheme}://127.0.0.1:{port}{STREAM_PATH}", protocols=protocols, headers=bearer,
                    ssl=False, max_msg_size=MESSAGE_BYTES,  # this very process: no certificate proves more
                )  # fmt: skip
        except (aiohttp.ClientError, TimeoutError):
            raise _busy("no way through that link") from None
        near = web.WebSocketResponse(
            protocols=(SUBPROTOCOL,), compress=False, max_msg_size=MESSAGE_BYTES
        )  # fmt: skip
        await near.prepare(request)
        ways = [asyncio.ensure_future(_pass_on(near, far)), asyncio.ensure_future(_pass_on(far, near))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            await far.close()
        return near

    async def _stop(self, app: web.Application) -> None:
        for link in self._links.values():
            if link.relay is not None:
                await link.relay.stop()
        if self._http is not None:
            await self._http.close()


def _busy(words: str) -> web.HTTPServiceUnavailable:
    return web.HTTPServiceUnavailable(text=f"{words}\n", headers={"Retry-After": "10"})


def _rate(kbps: float) -> tuple[tuple[float, float], ...]:
    return ((0.0, kbps),) if kbps else ((0.0, 0.0), (PERIOD_S - 1, MOST_KBPS))


async def _enter(link: Link, host: str, port: int) -> None:
    """A connection is counted; the first one starts the relay."""
    async with link.lock:
        if link.relay is None:
            relay = Relay(link.scenario(), host, port)
            await relay.start()
            link.relay = relay
            relay.steer(link.scenario())


async def _leave(link: Link) -> None:
    """One connection less; the last one stops it."""
    async with link.lock:
        link.users -= 1
        if link.users == 0 and link.relay is not None:
            relay, link.relay = link.relay, None
            await relay.stop()


async def _pass_on(source: Socket, sink: Socket) -> None:
    """Every message of one end to the other, then its goodbye."""
    async for message in source:
        if message.type is aiohttp.WSMsgType.BINARY:
            await sink.send_bytes(message.data)
        elif message.type is aiohttp.WSMsgType.TEXT:
            await sink.send_str(message.data)
    code = source.close_code
    with suppress(ConnectionError):
        await sink.close(code=1001 if code in UNSENDABLE else code)  # type: ignore[arg-type]


async def _numbers(request: web.Request, most: dict[str, float]) -> dict[str, float]:
    """The numbers of a JSON object, each 0 to its bound; anything else is refused."""
    try:
        given: Any = json.loads(await request.read())
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict) or not given.keys() <= most.keys():
        raise web.HTTPBadRequest(text=f"the body must be a JSON object with {', '.join(most)}\n")
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most[name]:
            raise web.HTTPBadRequest(text=f"{name} must be a number from 0 to {most[name]:g}\n")
    return {name: float(value) for name, value in given.items()}


def _written(folder: Path, stream: str) -> bytes | None:
    """What a recording of that stream holds by now; None: there is none."""
    with suppress(OSError):
        for path in folder.glob(f"*-{stream}.jsonl"):
            return path.read_bytes()
    return None
