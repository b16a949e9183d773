"""The pump where a real socket is hard to bring: one that takes nothing."""

import asyncio

from abr_tts.client.pump import Pump
from abr_tts.client.speech import Speech
from abr_tts.stream.player import Player
from abr_tts.wire import messages as m
from abr_tts.wire.codec import encode


class CloggedSocket:
    """An open WebSocket whose peer reads nothing more after the hello."""

    close_code = None

    def __init__(self) -> None:
        self.taken = 0
        self._free = asyncio.Event()

    async def send_bytes(self, data: bytes) -> None:
        self.taken += 1
        if self.taken > 2:
            await self._free.wait()

    async def __aiter__(self):
        await self._free.wait()
        yield

    async def freed(self) -> None:
        await self._free.wait()

    async def close(self, code: int = 1000) -> None:
        self._free.set()


async def test_a_socket_that_takes_nothing_costs_neither_memory_nor_time(monkeypatch):
    timers = 0
    on_timer = Pump._on_timer

    def counted(pump: Pump) -> None:
        nonlocal timers
        timers += 1
        on_timer(pump)

    monkeypatch.setattr(Pump, "_on_timer", counted)
    socket = CloggedSocket()
    pump = Pump(socket, "somewhere")
    pump.start(m.Hello())
    pump._receive(encode(m.Welcome(1, "s")))
    request = m.StreamStart("12345678-1234-1234-1234-123456789abc", "a")
    speech = Speech(pump, request, Player(None))
    pump.open(speech, request)
    pump._receive(encode(m.StreamStarted(1, request.stream_id, "t", "v", 16_000, 1, "pcm16", "pcm16k")))
    pump._receive(encode(m.Track(1, 0, 0, "pcm16k", "pcm16", 16_000, 1, 0)))
    for at in range(100):
        pump._receive(encode(m.Audio(1, 0, 960 * at, (b"\0" * 640,))))
    await asyncio.wait([asyncio.ensure_future(socket.freed())], timeout=0.8)
    assert socket.taken == 3, "hello, start, and the first report or ping, which is stuck"
    assert len(pump._outgoing) <= 2
    assert timers < 20
    await pump.close()
