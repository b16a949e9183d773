"""
The outbox: messages of one connection on their way to the socket, in order, as late as can be.

At most one message is ever between here and the kernel, and the kernel itself is given little
(`brake`), so that what is decided now is heard soon and what is cancelled is never sent. With
room a message goes to the kernel at once, within `put`; that it did is told in the loop's next
turn. It writes bytes that others made and knows their owners only as things to compare.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web

from ...stream.pacer import KernelSample
from .brake import Brake
from .flow import hold_short
from .linger import drain, second_handle
from .sockets import sample

TEXT_FRAME, BINARY_FRAME = 0x81, 0x82
"""First byte of a WebSocket frame that is a whole text message, or a binary one (RFC 6455 5.2)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """
    One message: its bytes, whose it is (None: the connection's own) and what it was made from.

    `framed`: the bytes are whole frames already, of messages that belong together.
    """

    data: bytes
    owner: object | None = None
    message: object | None = None
    framed: bool = False


class Outbox:
    """
    Args:
        socket: the WebSocket, prepared; it answers pings and says goodbye, the rest is written here.
        transport: its transport.
        on_written: called with each entry once the kernel has all of it, and when that was.
        close_timeout_s: seconds that a close may take, what is queued before it included.
    """

    def __init__(
        self,
        socket: web.WebSocketResponse,
        transport: asyncio.Transport,
        on_written: Callable[[Entry, float], None],
        close_timeout_s: float,
    ) -> None:
        self._socket, self._transport = socket, transport
        self._loop = asyncio.get_running_loop()
        self._on_written = on_written
        self._close_timeout_s = close_timeout_s
        self._waiting: deque[Entry] = deque()
        self._under_way: deque[Entry] = deque()
        self._untold: list[tuple[Entry, float]] = []
        self._farewell: tuple[int, str] | None = None
        self._goodbye: asyncio.Task[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._over = asyncio.Event()
        self._flow = hold_short(transport, self._on_room, self._on_lost)
        self._brake = Brake(transport, self._pump)

    # ------------------------------------------------------------ what others do with it

    def put(self, entry: Entry) -> None:
        """Send `entry` after what is queued. After `close` it is dropped."""
        if self._farewell is None:
            self._waiting.append(entry)
            self._pump()

    @property
    def waiting(self) -> int:
        """Messages that wait here."""
        return len(self._waiting)

    def discard(self, owner: object) -> None:
        """Drop what waits of `owner`; what is being written cannot be stopped."""
        self._waiting = deque(entry for entry in self._waiting if entry.owner is not owner)

    def close(self, code: int, reason: str) -> None:
        """Say goodbye after what is queued; the socket is cut if that takes too long."""
        if self._farewell is None:
            self._farewell = (code, reason)
            self._deadline = self._loop.call_later(self._close_timeout_s, self.abort)
            self._pump()

    def abort(self) -> None:
        """Cut the socket now; nothing more is sent."""
        self._waiting.clear()
        self._transport.abort()

    async def wait_closed(self) -> None:
        """Return when the goodbye after `close` is done, or the connection is lost."""
        await self._over.wait()
        if self._goodbye:
            await asyncio.wait([self._goodbye])

    @property
    def queued_bytes(self) -> int:
        """Bytes that wait here."""
        return sum(len(entry.data) for entry in self._waiting)

    @property
    def user_bytes(self) -> int:
        """Bytes between here and the kernel, in the transports."""
        size = self._flow.transport.get_write_buffer_size()
        # asyncio's TLS transport cannot be asked any more once it is closed.
        if self._flow.transport is not self._transport and not self._transport.is_closing():
            size += self._transport.get_write_buffer_size()
        return size

    def sample(self) -> KernelSample | None:
        """What is under way; None when the socket is gone."""
        if self._transport.is_closing():
            return None
        sock = self._transport.get_extra_info("socket")
        return sample(sock, self.user_bytes) if sock else None

    # ------------------------------------------------------------ writing

    @property
    def _broken(self) -> bool:
        """Whether nothing is written any more. TLS does not say so of the transport behind it."""
        return self._transport.is_closing() or self._flow.transport.is_closing()

    def _pump(self) -> None:
        """Hand over what the kernel has room for; say goodbye when nothing is left."""
        while self._waiting and not self._flow.full:
            if self._socket.closed or self._broken:
                self._waiting.clear()
            elif self._brake.holds():
                return
            else:
                self._write(self._waiting.popleft())
        if self._farewell and not self._waiting and not self._flow.full and self._goodbye is None:
            self._goodbye = asyncio.ensure_future(self._say_goodbye(*self._farewell))

    def _write(self, entry: Entry) -> None:
        self._transport.write(entry.data if entry.framed else frame(BINARY_FRAME, entry.data))
        if self._flow.full:
            self._under_way.append(entry)
        elif not self._broken:  # the write may have found out
            self._tell(entry)

    def _on_room(self) -> None:
        while self._under_way:
            self._tell(self._under_way.popleft())
        self._pump()

    def _tell(self, entry: Entry) -> None:
        if not self._untold:
            self._loop.call_soon(self._tell_all)
        self._untold.append((entry, self._loop.time()))

    def _tell_all(self) -> None:
        untold, self._untold = self._untold, []
        for entry, at in untold:
            self._on_written(entry, at)

    # ------------------------------------------------------------ the end

    async def _say_goodbye(self, code: int, reason: str) -> None:
        # A peer that has closed sends nothing more; any other one may be in the middle of a report.
        handle = second_handle(self._transport) if self._socket.close_code is None else None
        try:
            await self._socket.close(code=code, message=_short(reason))
        finally:
            if self.user_bytes:  # a transport that closes waits for ever for a reader that does not read
                self.abort()
            self._end()
            if handle is not None:
                await drain(handle, min(self._close_timeout_s, LINGER_S))
                self.abort()  # TLS would wait for a goodbye that was read above

    def _on_lost(self) -> None:
        self._waiting.clear()
        self._under_way.clear()
        self._flow.full = False
        self._end()

    def _end(self) -> None:
        self._brake.stop()
        self._over.set()
        if self._deadline:
            self._deadline.cancel()


LINGER_S = 2.0
"""Seconds that a peer has to close as well: two round trips of a slow radio link, and time to wake up."""


def frame(first: int, data: bytes) -> bytes:
    """A server's frame: not masked, the length in 1, 3 or 9 bytes (RFC 6455 5.2)."""
    size = len(data)
    if size < 126:
        return bytes((first, size)) + data
    if size < 65_536:
        return struct.pack("!BBH", first, 126, size) + data
    return struct.pack("!BBQ", first, 127, size) + data


def _short(reason: str) -> bytes:
    """A close reason of at most 123 bytes (RFC 6455 5.5), cut between characters."""
    return reason.encode()[:123].decode(errors="ignore").encode()
