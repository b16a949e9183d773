"""
A socket that is given little: bodies and messages of the doors go to the kernel one by one, as it has room.

So what was cancelled is never sent, a bitrate that is chosen now is heard soon, and a reader who does not
read holds up the engine. The same means as the native door's outbox (`sending`), for whoever writes himself.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

from ...stream.pacer import KernelSample
from ..sending.brake import Brake
from ..sending.flow import hold_short
from ..sending.sockets import sample


class Valve:
    """
    Args:
        transport: of the connection; TLS or not.
        on_lost: called as soon as the connection is gone, unless the valve was closed before.
    """

    def __init__(self, transport: asyncio.Transport, on_lost: Callable[[], None] = lambda: None) -> None:
        self._transport, self.on_lost = transport, on_lost
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._most_s = math.inf
        self._closed = False
        self.lost = False
        """The connection is gone."""
        self._flow = hold_short(transport, self._news.set, self._on_lost)
        self._brake = Brake(transport, self._news.set)

    async def ready(self, patience_s: float) -> bool:
        """
        Wait until one more message may be written; False: the connection is gone.

        Raises:
            TimeoutError: the peer has taken nothing for `patience_s`, or for what `hurry` has left of it.
        """
        since = self._loop.time()
        while not self.gone and (self._flow.full or self._brake.holds()):
            self._news.clear()
            async with asyncio.timeout_at(since + min(patience_s, self._most_s)):
                await self._news.wait()
        return not self.gone

    def hurry(self, patience_s: float) -> None:
        """The peer must go: nobody waits for it longer than so many seconds any more, nor who waits now."""
        self._most_s = patience_s
        self._news.set()

    def sample(self) -> KernelSample | None:
        """What is under way; None when the socket is gone."""
        sock = None if self.gone else self._transport.get_extra_info("socket")
        return sample(sock, self._user_bytes) if sock else None

    def close(self) -> None:
        """Let go of the connection: it is as it was before. Twice is once."""
        if not self._closed:
            self._closed = True
            self._brake.stop()
            self._flow.release()
            if not self.gone:  # of TLS a transport that is closed cannot be asked
                self._transport.set_write_buffer_limits()

    @property
    def gone(self) -> bool:
        """Whether there is nobody to write to."""
        return self.lost or self._transport.is_closing() or self._flow.transport.is_closing()

    @property
    def _user_bytes(self) -> int:
        size = self._flow.transport.get_write_buffer_size()
        if self._flow.transport is not self._transport:
            size += self._transport.get_write_buffer_size()
        return size

    def _on_lost(self) -> None:
        self.lost = True
        self._brake.stop()
        self._news.set()
        if not self._closed:
            self.on_lost()
