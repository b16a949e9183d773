"""
Connections on which nobody asks anything: silent ones, and requests whose headers never end.

aiohttp has no time-out before the first request is whole, and the protocol's own begin with the
upgrade; without this a few hundred sockets that say nothing would keep everybody else out. TLS
handshakes have asyncio's time-out (60 s).
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Protocol

from aiohttp import web
from aiohttp.typedefs import Handler

log = logging.getLogger(__name__)

LOOKS = 4
"""Looks in the time that is allowed: a connection is closed at most a quarter of it late."""


class HttpConnection(Protocol):
    """What is looked at of a connection (`aiohttp.web.RequestHandler`)."""

    @property
    def transport(self) -> asyncio.BaseTransport | None:
        """None once it is closed."""


class Idlers:
    """
    Closes connections without a request under way.

    Args:
        patience_s: seconds that one may be so.
        connections: all that are open.
    """

    def __init__(self, patience_s: float, connections: Callable[[], Iterable[HttpConnection]]) -> None:
        self._patience_s = patience_s
        self._connections = connections
        self._busy: Counter[asyncio.BaseTransport] = Counter()
        self._idle_since: dict[asyncio.BaseTransport, float] = {}

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Count a request while it is under way; a WebSocket is so until it closes."""
        transport = request.transport
        if transport is None:
            return await handler(request)
        self._busy[transport] += 1
        try:
            return await handler(request)
        finally:
            self._busy[transport] -= 1
            if not self._busy[transport]:
                del self._busy[transport]
                self._idle_since.pop(transport, None)

    def look(self, now: float) -> int:
        """Close those that are beyond their time; how many."""
        open_now = {one.transport for one in self._connections()} - {None}
        idle = {transport for transport in open_now if transport and transport not in self._busy}
        self._idle_since = {transport: self._idle_since.get(transport, now) for transport in idle}
        late = [one for one, since in self._idle_since.items() if now - since >= self._patience_s]
        for transport in late:
            del self._idle_since[transport]
            if isinstance(transport, asyncio.WriteTransport):
                transport.abort()
        if late:
            log.debug("closed %d connections on which nothing was asked for", len(late))
        return len(late)

    async def run(self) -> None:
        """Look for ever."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._patience_s / LOOKS)
            self.look(loop.time())
