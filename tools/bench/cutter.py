"""
A TCP relay that cuts: each connection lives for so many bytes and is then gone, without a word to either
side. It runs on the event loop of whoever uses it, on loopback alone.
"""

from __future__ import annotations

import asyncio
import random
from types import TracebackType

READ_BYTES = 512
"""Bytes that are carried in one go: a cut then falls into the midst of messages and of TLS records."""


class Cutter:
    """
    `async with Cutter(port, rng) as cutter:` connect to `cutter.port`, and `arm` it.

    Args:
        port: of the server, on loopback.
        chance: for the bytes that a connection lives for.
    """

    def __init__(self, port: int, chance: random.Random) -> None:
        self._target, self._chance = port, chance
        self._mean = 0
        self._left = 0
        self._lines: set[_Line] = set()
        self.cuts = 0
        """Connections that were cut."""
        self.carried = 0
        """Bytes in both directions so far."""

    async def __aenter__(self) -> Cutter:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for line in list(self._lines):
            line.cut()

    def arm(self, cuts: int, mean: int) -> None:
        """Cut so many connections, what is open now first; each lives for 1 to 2·`mean` bytes more."""
        self._left, self._mean = cuts, mean
        for line in self._lines:
            self._lease(line)

    def _lease(self, line: _Line) -> None:
        line.life = self._chance.randint(1, 2 * self._mean) if self._left else None

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        line = _Line((reader, writer), far)
        self._lines.add(line)
        self._lease(line)
        await asyncio.gather(self._carry(line, reader, far[1]), self._carry(line, far[0], writer))
        self._lines.discard(line)
        writer.close()
        far[1].close()

    async def _carry(self, line: _Line, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(READ_BYTES):
                if line.life is not None and line.life <= len(data):
                    sink.write(data[: line.life])
                    self._cut(line)
                    return
                if line.life is not None:
                    line.life -= len(data)
                self.carried += len(data)
                sink.write(data)
                await sink.drain()
            if sink.can_write_eof():
                sink.write_eof()
        except OSError:
            line.cut()

    def _cut(self, line: _Line) -> None:
        self.cuts += 1
        self._left -= 1
        line.cut(politely=self._chance.random() < 0.5)


class _Line:
    """A connection through the relay."""

    def __init__(self, *ends: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
        self._writers = [writer for _, writer in ends]
        self.life: int | None = None

    def cut(self, politely: bool = False) -> None:
        """Both ends are gone: with a FIN, after what was written, or with a reset."""
        self.life = None
        for writer in self._writers:
            if politely:
                writer.close()
            else:
                writer.transport.abort()
