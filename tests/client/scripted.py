"""A server that says what a test tells it to, right or wrong, over a real WebSocket."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import numpy as np
from aiohttp import WSMsgType, web

from abr_tts.audio.pcm import encode_pcm16
from abr_tts.units import FRAME_TICKS
from abr_tts.wire import messages as m
from abr_tts.wire.codec import decode, encode

RATE = 16_000
FRAME = RATE // 50
WAIT_S = 20.0


def samples(frames: int) -> np.ndarray:
    """Frames of PCM of which every sample is known: int16, shape (frames·320,)."""
    return (np.arange(frames * FRAME) * 7 % 20_011 - 10_000).astype(np.int16)


class Scripted:
    """One connection, seen from the server. Every message of the client is kept in `seen`."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket
        self._news = asyncio.Condition()
        self.seen: list[m.Message] = []
        self.sent_bytes = 0
        self.ended = False

    async def read(self) -> None:
        async for message in self._socket:
            assert message.type is WSMsgType.BINARY
            self.seen.append(decode(message.data, "client"))
            async with self._news:
                self._news.notify_all()
        self.ended = True
        async with self._news:
            self._news.notify_all()

    async def until(self, kind, accept: Callable[[m.Message], bool] = lambda message: True):
        """The first message of `kind` that is accepted, however long ago it came."""
        async with asyncio.timeout(WAIT_S), self._news:
            while True:
                for message in self.seen:
                    if isinstance(message, kind) and accept(message):
                        return message
                assert not self.ended, f"the client left after {self.seen[-3:]}"
                await self._news.wait()

    async def gone(self) -> None:
        """Until the client has closed."""
        async with asyncio.timeout(WAIT_S), self._news:
            while not self.ended:
                await self._news.wait()

    async def send(self, *messages: m.Message | bytes) -> None:
        for message in messages:
            data = message if isinstance(message, bytes) else encode(message)
            self.sent_bytes += len(data)
            await self._socket.send_bytes(data)

    async def greet(self, **fields) -> None:
        await self.until(m.Hello)
        await self.send(replace(m.Welcome(1, "session"), **fields))

    async def start(self, *, handle: int = 1) -> m.StreamStart:
        """Greet, and start the first stream as PCM at 16 kHz with an open track."""
        await self.greet()
        request = await self.until(m.StreamStart)
        await self.send(
            m.StreamStarted(handle, request.stream_id, "token", "voice", RATE, 1, "pcm16", "pcm16k"),
            m.Track(handle, 0, 0, "pcm16k", "pcm16", RATE, 1, 0),
        )
        return request

    async def audio(self, first: int, frames: int, *, handle: int = 1) -> None:
        """Frames `first` to `first + frames` of `samples`, in messages of at most ten."""
        pcm = samples(first + frames)
        for at in range(first, first + frames, 10):
            count = min(10, first + frames - at)
            parts = pcm[at * FRAME : (at + count) * FRAME].reshape(count, FRAME)
            packets = tuple(encode_pcm16(part) for part in parts)
            await self.send(m.Audio(handle, 0, at * FRAME_TICKS, packets))

    async def end(self, frames: int, *, handle: int = 1) -> None:
        await self.send(m.StreamEnd(handle, frames * FRAME, RATE, 1, "pcm16"))

    def abort(self) -> None:
        """The cable is cut: no close, no word."""
        transport = self._socket._req.transport
        assert transport is not None
        transport.abort()


@contextlib.asynccontextmanager
async def scripted(play: Callable[[Scripted], Awaitable[None]]) -> AsyncIterator[str]:
    """A server that runs `play` for the one client that connects; its fault is the test's, at once."""
    played: list[asyncio.Task[None]] = []
    test = asyncio.current_task()

    def over(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception():
            test.cancel()

    async def handler(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=("abr-tts.v1",))
        await socket.prepare(request)
        server = Scripted(socket)
        played.append(asyncio.ensure_future(play(server)))
        played[-1].add_done_callback(over)
        await server.read()
        return socket

    runner = web.ServerRunner(web.Server(handler), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"ws://127.0.0.1:{runner.addresses[0][1]}"
        async with asyncio.timeout(WAIT_S):
            await asyncio.gather(*played)
    except asyncio.CancelledError:
        for fault in (task.exception() for task in played if task.done() and not task.cancelled()):
            if fault:
                test.uncancel()
                raise fault from None
        raise
    finally:
        await runner.cleanup()
        for task in played:
            task.cancel()
        await asyncio.gather(*played, return_exceptions=True)  # nothing is left of a test that failed
