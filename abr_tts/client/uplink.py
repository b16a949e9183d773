"""
One clip on its way to the server: samples in, packets out, no faster than either side bears.

The pump calls `on_message` with what the server says of the stream; `run` sends. What comes back down,
if anything does, is another's affair. Knows nothing of sockets; what it needs stands in `Way`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from typing import Any, Protocol, TypeAlias

import numpy.typing as npt

from ..audio.clip import ClipEncoder
from ..errors import NOTHING, ConnectionLost
from ..units import FRAME_TICKS
from ..wire import messages as m
from .faults import from_wire
from .pace import Pace

PACKETS = 10
"""Packets in one message at most: 200 ms, so that 30 s are 150 messages of a server's 500 a second."""

PIECE_S = 1.0
"""Seconds of a long array that are encoded in one go: some 15 ms of Opus at most."""

Samples: TypeAlias = npt.NDArray[Any]
"""int16, or float with full scale at ±1.0; shape (n,), or (n, 2), whose mean is taken."""


class Way(Protocol):
    """What an uplink needs of its client."""

    def now(self) -> float:
        """Seconds on the client's monotonic clock."""

    def send(self, message: m.Message) -> None:
        """Queue a message."""

    async def room(self, size: int) -> None:
        """Wait until so many bytes more may wait on this side."""


class Uplink:
    """
    Args:
        way: the connection.
        request: what asked for the stream.
        encoder: whose form the request tells.
        rate: Hz of `samples`.
        samples: all of them, or an async iterator over pieces.
    """

    def __init__(
        self,
        way: Way,
        request: m.AudioStart,
        encoder: ClipEncoder,
        rate: int,
        samples: Samples | AsyncIterable[Samples],
    ) -> None:
        self.stream_id = request.stream_id
        self._way, self._encoder, self._rate, self._samples = way, encoder, rate, samples
        self._pace = Pace()
        self._handle: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._news = asyncio.Event()
        self._pts = 0

    def on_message(self, message: m.Message) -> None:
        """What the server says of it."""
        if isinstance(message, m.StreamStarted) and not self._handle.done():
            self._handle.set_result(message.stream)
        elif isinstance(message, m.FlowControl):
            self._pace.set(message.rate, self._way.now())
            self._news.set()

    async def run(self) -> None:
        """Send all of it, once the server takes it; whoever runs it cancels it when there is no use."""
        handle = await self._handle
        async for piece in self._pieces():
            await self._send(handle, self._encoder.push(piece))
        await self._send(handle, self._encoder.finish())
        self._way.send(m.TextEnd(handle))

    async def _pieces(self) -> Any:
        if isinstance(self._samples, AsyncIterable):
            async for piece in self._samples:
                yield piece
            return
        size = max(1, round(self._rate * PIECE_S))
        for at in range(0, len(self._samples), size):
            yield self._samples[at : at + size]

    async def _send(self, handle: int, packets: list[bytes]) -> None:
        for at in range(0, len(packets), PACKETS):
            message = m.UplinkAudio(handle, self._pts, tuple(packets[at : at + PACKETS]))
            size = 12 + sum(len(packet) + 3 for packet in message.packets)
            await self._way.room(size)
            await self._in_time(size)
            self._way.send(message)
            self._pts += len(message.packets) * FRAME_TICKS

    async def _in_time(self, size: int) -> None:
        """Wait as long as the server wishes, who may change its mind meanwhile."""
        while (wait_s := self._pace.wait(size, self._way.now())) > 0:
            self._news.clear()
            try:
                async with asyncio.timeout(None if wait_s == float("inf") else wait_s):
                    await self._news.wait()
            except TimeoutError:
                pass
        self._pace.sent(size, self._way.now())


class Upload:
    """
    A reference clip: nothing comes back but its end. The pump treats it as a speech.

    Args:
        request: what asks for it.
    """

    def __init__(self, request: m.AudioStart) -> None:
        self.stream_id = request.stream_id
        self.handle: int | None = None
        self.kept: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        """Seconds of sound that the server keeps; or why it does not."""
        self.unwanted = False
        """Something on this side went wrong: the server is to be told to stop."""

    def on_message(self, message: m.Message, size: int) -> None:
        """A message of this stream."""
        if isinstance(message, m.StreamStarted):
            self.handle = message.stream
        elif isinstance(message, m.StreamEnd) and not self.kept.done():
            self.kept.set_result(message.length / message.sample_rate)
        elif isinstance(message, m.Error) and message.scope != NOTHING:
            self.fail(from_wire(message))

    def fail(self, fault: Exception) -> None:
        """It has ended, for this reason."""
        if not self.kept.done():
            self.kept.set_exception(fault)

    def give_up(self, fault: Exception) -> None:
        """Its samples failed."""
        self.unwanted = True
        self.fail(fault)

    def cancel(self) -> None:
        """The client closes."""
        self.fail(ConnectionLost("this client was closed"))
