"""
Asking over HTTP: one session for all servers, every failure turned into `failures.Failed`.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import ssl
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Optional

import aiohttp

from ...errors import ConfigError, EngineError
from ..base import Samples
from .body import Body
from .failures import Failed, lost, no_speech, refused, tidy
from .options import Options

KEEP_ALIVE_S = 4.0
"""How long an idle connection is kept: less than the 5 s of uvicorn, behind which most of these servers
run, so that it is us who closes and no request meets a connection that is just being closed."""

ERROR_BYTES = 4096
"""Bytes of an error's body that are read."""

ERROR_S = 1.0
"""Seconds to wait for them."""

SOUND = ("audio/", "application/octet-stream", "binary/octet-stream")
"""Content types that may be PCM; CosyVoice's server names none."""

OTHER_CODECS = ("mpeg", "mp3", "ogg", "opus", "flac", "aac", "mp4", "webm", "basic")
"""Audio that is no linear PCM."""


class Web:
    """
    Requests to servers of one kind.

    Args:
        options: `connect_s`, `ca_file`, `key` and `sample_rate` of them.
        headers: of every request.
    """

    def __init__(self, options: Options, headers: dict[str, str]) -> None:
        self._options = options
        # No gzip: a proxy that compresses holds the first second of speech back until its buffer is full.
        self._headers = {"Accept-Encoding": "identity", "User-Agent": "abr-tts", **headers}
        self._tls = _tls(options)
        self._session: Optional[aiohttp.ClientSession] = None

    async def open(self) -> None:
        """Make the session; inside a running loop."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._tls, keepalive_timeout=KEEP_ALIVE_S),
            timeout=aiohttp.ClientTimeout(total=None, connect=self._options.connect_s),
            headers=self._headers,
        )

    async def close(self) -> None:
        """Close every connection."""
        if self._session:
            await self._session.close()

    async def get(self, url: str) -> tuple[int, bytes]:
        """Status and body of a small answer; raises `Failed` if there is none."""
        async with self._asked("GET", url) as answer:
            return answer.status, await answer.content.read(1 << 20)

    async def speech(self, url: str, **request: Any) -> AsyncGenerator[Samples, None]:
        """
        The PCM that a POST brings, as it comes; see `dialect.Dialect.speak`.

        Args:
            request: `json` or `data`, as aiohttp takes them.
        """
        async with self._asked("POST", url, **request) as answer:
            await self._check(answer)
            body = Body(self._options.sample_rate)
            while data := await answer.content.readany():
                yield _sound(partial(body.push, data))
            yield _sound(body.end)

    @asynccontextmanager
    async def _asked(
        self, method: str, url: str, **request: Any
    ) -> AsyncGenerator[aiohttp.ClientResponse, None]:
        """
        The answer while it lasts.

        Leaving before all is read closes the connection (aiohttp keeps only those that are drained):
        that is how a server learns that nobody listens any more.
        """
        assert self._session is not None, "open() comes first"
        try:
            # A redirect would take the key to whoever is named there, and turn POST into GET.
            async with self._session.request(method, url, allow_redirects=False, **request) as answer:
                yield answer
        except aiohttp.ConnectionTimeoutError:
            raise lost(
                f"the engine's server did not take the connection in {self._options.connect_s:g} s"
            ) from None
        except aiohttp.ClientConnectorCertificateError as error:
            raise lost(f"the engine's server is not trusted: {_why(error)}") from None
        except aiohttp.ClientConnectorError as error:
            raise lost(f"the engine's server cannot be reached: {_why(error)}") from None
        except aiohttp.ClientPayloadError:
            raise lost("the engine's server broke off in the middle of its answer") from None
        except aiohttp.ClientConnectionError:
            raise lost("the engine's server closed the connection") from None
        except aiohttp.ClientError as error:
            raise no_speech(
                f"the engine's server speaks no HTTP that we know ({type(error).__name__})"
            ) from None

    async def _check(self, answer: aiohttp.ClientResponse) -> None:
        """Raise `Failed` unless it is sound."""
        kind, _, more = answer.headers.get("Content-Type", "").lower().partition(";")
        kind = kind.strip()
        if answer.status != 200:
            retry_after = answer.headers.get("Retry-After", "")
            body = await _some(answer)
            raise refused(answer.status, kind, body, retry_after, time.time(), self._options.key)
        if kind and (not kind.startswith(SOUND) or any(codec in kind for codec in OTHER_CODECS)):
            raise no_speech(f"the engine's server sent {tidy(kind)}, not PCM")
        rate = re.search(r"\brate=(\d+)", more)  # audio/L16 of RFC 2586 tells it so, and others do alike
        if rate and int(rate[1]) != self._options.sample_rate:
            raise no_speech(
                f"the engine's server sends {rate[1]} Hz,"
                f" but engine.options.sample_rate is {self._options.sample_rate}"
            )


def _sound(read: Callable[[], Samples]) -> Samples:
    """What `read` makes of the body; raises `Failed` if it is no sound."""
    try:
        return read()
    except EngineError as error:
        raise Failed(error, retry=False, hurt=True) from None


async def _some(answer: aiohttp.ClientResponse) -> bytes:
    """The beginning of an error's body, or what there is of it."""
    found = b""
    try:
        async with asyncio.timeout(ERROR_S):
            while len(found) < ERROR_BYTES and (data := await answer.content.readany()):
                found += data
    except (TimeoutError, aiohttp.ClientError):
        pass  # the status says enough
    return found[:ERROR_BYTES]


def _why(error: aiohttp.ClientConnectorError) -> str:
    """The reason in the system's own words, without the address."""
    inner = error.os_error
    if isinstance(inner, ssl.SSLCertVerificationError):
        return inner.verify_message
    # asyncio puts the address into `strerror`; a failed look-up of a name has numbers of its own.
    number = inner.errno or 0
    if number not in errno.errorcode:
        return "its name is not known, or the network is down"
    return os.strerror(number).lower()


def _tls(options: Options) -> ssl.SSLContext | bool:
    if options.ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=str(options.ca_file))
    except (OSError, ssl.SSLError):
        raise ConfigError(f"engine.options.ca_file: {options.ca_file} holds no certificates in PEM") from None
