"""
A TCP relay that behaves like a slow link, without any privilege: it listens on one port of this
machine, connects to another, and carries the bytes of both directions over a `Path` each.

Both sides see loopback only, as they would see a proxy in front of a radio link: round trips of
microseconds and a kernel queue that is always empty. What the path has no room for stays in the
sender's kernel, whose window closes then. Beside what `path.not_emulated` names it does not do:
TCP over the emulated link (no slow start, no retransmissions, no acknowledgements that take
capacity from the other direction), more than one connection on the same capacity (each has the path
for itself), and a reset that takes time to travel.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress

from ..control.ladder import SEGMENT_BYTES
from ..sim.scenario import Scenario
from .path import Path

KERNEL_BYTES = 32_768
"""Receive buffer asked of the kernel for each side, lest it swallow much that the path has no room
for; the kernel's own default grows to 6 MB."""

READ_BYTES = 16 * SEGMENT_BYTES
"""Bytes taken from a socket in one go at most."""

HOST = "127.0.0.1"
"""It serves this machine alone."""


class Relay:
    """
    Made inside a running event loop.

    Args:
        scenario: both directions of the link.
        host, port: of the server behind it.
    """

    def __init__(self, scenario: Scenario, host: str, port: int) -> None:
        self.port = 0
        """Where clients connect, once started."""
        self._scenario, self._target = scenario, (host, port)
        self._loop = asyncio.get_running_loop()
        self._origin = self._loop.time()
        self._pairs: set[Pair] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen; the schedule runs from here on."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, KERNEL_BYTES)
        listener.bind((HOST, 0))
        self.port = listener.getsockname()[1]
        self._server = await self._loop.create_server(self._accept, sock=listener)

    def restart(self) -> None:
        """The schedule begins again at second 0, for the connections that are open as well."""
        self._origin = self._loop.time()
        for pair in self._pairs:
            pair.restart(self._origin)

    def steer(self, scenario: Scenario) -> None:
        """The link is another one from now on, for the connections that are open as well."""
        self._scenario, self._origin = scenario, self._loop.time()
        for pair in self._pairs:
            pair.steer(scenario, self._origin)

    def clear(self) -> None:
        """Everything gets through at once from now on: the show is over, and goodbyes need not wait."""
        for pair in self._pairs:
            pair.clear(self._loop.time())

    async def stop(self) -> None:
        """Cut every connection; returns when nothing listens any more."""
        if self._server is not None:
            self._server.close()
        for pair in list(self._pairs):
            pair.abort()
        if self._server is not None:
            await self._server.wait_closed()

    @property
    def kbps(self) -> float:
        """What the link carries to the listener at this moment."""
        second = (self._loop.time() - self._origin) % self._scenario.duration_s
        return self._scenario.down.kbps_at(second)

    def _accept(self) -> End:
        pair = Pair(self._scenario, self._origin, self._pairs.discard)
        self._pairs.add(pair)
        pair.dial(*self._target)
        return pair.near


class Pair:
    """
    One connection: the client's end, the server's end, and a way in each direction.

    Args:
        scenario: both directions of the link.
        origin: second 0 of its schedule, on the loop's clock.
        on_over: called with the pair when it is gone.
    """

    def __init__(self, scenario: Scenario, origin: float, on_over: Callable[[Pair], None]) -> None:
        seed, period = f"{scenario.seed}", scenario.duration_s
        down = Way(Path(scenario.down, period, f"{seed}/down", origin))
        up = Way(Path(scenario.up, period, f"{seed}/up", origin))
        self.near, self.far = End(self, up, down), End(self, down, up)
        self._ways, self._on_over = (up, down), on_over
        self._dialling: asyncio.Task[None] | None = None
        self._over = False

    def dial(self, host: str, port: int) -> None:
        """Connect the far end; until then the near one is not read."""
        self._dialling = asyncio.ensure_future(self._dial(host, port))

    def restart(self, now: float) -> None:
        """The schedule begins again."""
        for way in self._ways:
            way.path.restart(now)
            way.pump()

    def steer(self, scenario: Scenario, now: float) -> None:
        """The link is another one from now on."""
        for way, direction in zip(self._ways, (scenario.up, scenario.down), strict=True):
            way.path.steer(direction, now)
            way.pump()

    def clear(self, now: float) -> None:
        """The link is no obstacle any more."""
        for way in self._ways:
            way.path.clear(now)
            way.pump()

    def closed(self) -> None:
        """A direction said goodbye; after both the sockets close."""
        if all(way.over for way in self._ways):
            for end in (self.near, self.far):
                end.close()

    def lost(self) -> None:
        """A socket is gone; the other one goes too, at once unless all was said."""
        if not all(way.over for way in self._ways):
            self.abort()
        elif self.near.gone and self.far.gone and not self._over:
            self._over = True
            self._on_over(self)

    def abort(self) -> None:
        """Cut both ends; twice does nothing."""
        if self._over:
            return
        self._over = True
        if self._dialling is not None:
            self._dialling.cancel()
        for way in self._ways:
            way.stop()
        for end in (self.near, self.far):
            end.abort()
        self._on_over(self)

    async def _dial(self, host: str, port: int) -> None:
        loop = asyncio.get_running_loop()
        far = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        try:
            far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, KERNEL_BYTES)
            far.setblocking(False)
            await loop.sock_connect(far, (host, port))
            await loop.create_connection(lambda: self.far, sock=far)
        except OSError:
            far.close()
            self.abort()
        except asyncio.CancelledError:
            far.close()
            raise


class Way:
    """One direction's driver: from the end that reads to the end that writes, over a path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.source: End | None = None
        self.sink: End | None = None
        self.over = False
        """The goodbye of the source has reached the sink."""
        self.blocked = False
        """The sink's kernel takes nothing now."""
        self._ended = False
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def room(self) -> int:
        """Bytes that may be read now."""
        return self.path.room(self._loop.time())

    def push(self, data: bytes) -> None:
        """The source sent something."""
        self.path.push(data, self._loop.time())
        self.pump()

    def end(self) -> None:
        """The source sends nothing more."""
        self._ended = True
        self.pump()

    def pump(self) -> None:
        """Hand out what has arrived, read on if there is room, and arm the timer."""
        if self.over or self.source is None or self.sink is None:
            return
        now = self._loop.time()
        if not self.blocked:
            self.sink.write(self.path.pull(now))
        waiting = not self.path.room(now)
        self.source.read(not waiting and not self.blocked)
        if self._ended and self.path.empty:
            self.over = True
            self.sink.write_eof()
        self._arm(None if self.over else self.path.get_timer(waiting), now)

    def stop(self) -> None:
        """Nothing more moves."""
        self.over = self.blocked = True
        self._arm(None, 0.0)

    def _arm(self, due: float | None, now: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due is not None and (due > now or not self.blocked):
            self._timer = self._loop.call_at(due, self.pump)


class End(asyncio.BufferedProtocol):
    """
    One socket of a pair. It reads no more than its way out has room for.

    Args:
        pair: it belongs to.
        out: carries what is read here.
        back: brings what is written here.
    """

    def __init__(self, pair: Pair, out: Way, back: Way) -> None:
        self._pair, self._out, self._back = pair, out, back
        self._buffer = memoryview(bytearray(READ_BYTES))
        self._transport: asyncio.Transport | None = None
        self.gone = False
        """The socket was there and is not any more."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is there; it is read once the other one is there, too."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.pause_reading()
        self._out.source = self._back.sink = self
        self._out.pump()
        self._back.pump()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes go; as many as the path has room for."""
        return self._buffer[: max(1, min(self._out.room(), READ_BYTES))]

    def buffer_updated(self, nbytes: int) -> None:
        """They are there."""
        self._out.push(bytes(self._buffer[:nbytes]))

    def eof_received(self) -> bool:
        """The peer sends no more; it may still be sent to."""
        self._out.end()
        return True

    def pause_writing(self) -> None:
        """The peer does not read: what is under way waits, and no more is taken."""
        self._back.blocked = True
        self._back.pump()

    def resume_writing(self) -> None:
        """It reads again."""
        self._back.blocked = False
        self._back.pump()

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is gone."""
        self.gone = True
        self._pair.lost()

    def read(self, on: bool) -> None:
        """Read on, or not for now."""
        if self._transport is None or self._transport.is_closing():
            return
        if on and not self._transport.is_reading():
            self._transport.resume_reading()
        elif not on and self._transport.is_reading():
            self._transport.pause_reading()

    def write(self, data: bytes) -> None:
        """To the peer."""
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def write_eof(self) -> None:
        """Nothing more goes to the peer."""
        if self._transport is not None and not self._transport.is_closing():
            with suppress(OSError):  # the peer is gone already, and asyncio has not heard of it
                self._transport.write_eof()
        self._pair.closed()

    def close(self) -> None:
        """After what is written."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Now."""
        if self._transport is not None:
            self._transport.abort()
