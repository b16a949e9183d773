"""A TCP relay in front of a server that can fall silent, or cut what it carries."""

import asyncio
from contextlib import asynccontextmanager


class Relay:
    """Carries bytes both ways between clients and `port` of this machine."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._open = asyncio.Event()
        self._open.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self.refuses = False
        """New connections are cut at once."""

    async def start(self) -> None:
        """Listen on any free port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Cut everything."""
        self._server.close()
        await self.cut()
        self._open.set()

    async def hole(self, seconds: float) -> None:
        """Nothing gets through from now on for so long; nothing is lost."""
        self._open.clear()
        asyncio.get_running_loop().call_later(seconds, self._open.set)

    async def cut(self) -> None:
        """Reset every connection."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refuses:
            writer.transport.abort()
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        await asyncio.gather(self._carry(reader, far_writer), self._carry(far_reader, writer))

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while data := await reader.read(4096):
                await self._open.wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()
            self._writers.discard(writer)


@asynccontextmanager
async def relaying(port: int):
    """A relay, for a test."""
    relay = Relay(port)
    await relay.start()
    try:
        yield relay
    finally:
        await relay.stop()
