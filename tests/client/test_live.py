"""A live listener, over a real connection: what it hears, and what it and the server are told."""

import asyncio

import numpy as np
import pytest

from abr_tts.audio.libopus import load
from abr_tts.audio.opus import Encoder
from abr_tts.client import Client, Expired, Live
from abr_tts.units import FRAME_TICKS
from abr_tts.wire import messages as m

from ..server.harness import eventually
from ..signals import tone
from .scripted import FRAME, RATE, Scripted, samples, scripted

IN_TIME_ONLY = Live(slow_below_ms=0, conceal_ms=0, late_ms=100)


async def hear(speech, heard: list) -> None:
    async for frame in speech:
        heard.append(frame)


async def test_what_is_too_late_is_dropped_and_told():
    silent = asyncio.Event()
    told: list[m.BitRateHint] = []

    async def play(server: Scripted) -> None:
        await server.start()
        await server.audio(0, 12)
        await silent.wait()
        await server.audio(12, 60)
        await server.end(72)
        told.append(await server.until(m.BitRateHint, lambda hint: hint.loss > 0))
        told.append(await server.until(m.BitRateHint, lambda hint: hint.played == 72 * FRAME_TICKS))
        await server.gone()

    events, heard = [], []
    async with scripted(play) as url, Client(url) as client:
        speech = client.speak("x", live=IN_TIME_ONLY, events=events.append)
        listener = asyncio.ensure_future(hear(speech, heard))
        await eventually(lambda: speech._player.stall_ms >= 300)
        silent.set()
        await listener
    dropped = [event for event in events if isinstance(event, Expired)]
    seconds = speech.stats.expired_ms / 1000
    assert sum(event.seconds for event in dropped) == pytest.approx(seconds)
    assert 0.2 <= seconds <= 1.0 and seconds % 0.02 == pytest.approx(0.0, abs=1e-6)
    late = round(seconds * 50)
    assert dropped[0].at_s >= (12 + dropped[0].seconds * 50) * 0.02
    sound = np.concatenate(heard)
    assert len(sound) == (72 - late) * FRAME
    assert np.array_equal(sound[-10 * FRAME :], samples(72)[-10 * FRAME :])
    assert speech.stats.complete and speech.stats.stalls == 1
    assert speech.stats.seconds == pytest.approx((72 - late) * 0.02)
    assert 0.05 < told[0].loss <= 1.0 and told[1].stalls == 1


async def test_the_same_break_costs_a_listener_who_is_not_live_nothing_but_time():
    silent = asyncio.Event()

    async def play(server: Scripted) -> None:
        await server.start()
        await server.audio(0, 12)
        await silent.wait()
        await server.audio(12, 60)
        await server.end(72)
        await server.gone()
        assert {hint.loss for hint in server.seen if isinstance(hint, m.BitRateHint)} == {0.0}

    heard = []
    async with scripted(play) as url, Client(url) as client:
        speech = client.speak("x", realtime=True)
        listener = asyncio.ensure_future(hear(speech, heard))
        await eventually(lambda: speech._player.stall_ms >= 300)
        silent.set()
        await listener
    assert sum(map(len, heard)) == 72 * FRAME
    assert (speech.stats.expired_ms, speech.stats.concealed_ms, speech.stats.slowed_ms) == (0, 0, 0)


async def test_a_gap_of_opus_is_made_up_and_told():
    late = asyncio.Event()
    encoder, pcm = Encoder(load(), rate=RATE, kbps=24), tone(RATE, 1.0, 300.0)
    packets = [encoder.encode(part.astype(np.float32) / 32768) for part in pcm.reshape(50, FRAME)]

    async def play(server: Scripted) -> None:
        await server.greet()
        request = await server.until(m.StreamStart)
        await server.send(
            m.StreamStarted(1, request.stream_id, "t", "v", RATE, 1, "opus", "opus24"),
            m.Track(1, 0, 0, "opus24", "opus", RATE, 1, 0),
            m.Audio(1, 0, 0, tuple(packets[:10])),
        )
        await late.wait()
        for at in range(10, 50, 10):
            await server.send(m.Audio(1, 0, at * FRAME_TICKS, tuple(packets[at : at + 10])))
        await server.end(50)
        await server.gone()

    heard = []
    async with scripted(play) as url, Client(url) as client:
        speech = client.speak("x", live=Live(slow_below_ms=0))
        listener = asyncio.ensure_future(hear(speech, heard))
        await eventually(lambda: speech._player.lateness.concealed_ms >= 20)
        late.set()
        await listener
    assert speech.stats.complete
    assert speech.stats.concealed_ms in (20, 40, 60)
    made = speech.stats.concealed_ms / 20
    assert sum(map(len, heard)) == (50 + made) * FRAME


async def test_speech_is_slower_when_little_is_held_and_the_text_heard_stays_right():
    async def play(server: Scripted) -> None:
        await server.start()
        await server.send(m.Mark(1, 0, 0, 6))
        await server.audio(0, 14)
        for frame in range(14, 90):
            await asyncio.sleep(0.0195)  # no faster than it is heard
            await server.audio(frame, 1)
        await server.send(m.Mark(1, 60 * FRAME_TICKS, 6, 12))
        await server.end(90)
        await server.gone()

    places = []
    async with scripted(play) as url, Client(url) as client:
        speech = client.speak("first second", live=Live(slow_below_ms=1000, conceal_ms=0, late_ms=None))
        async for _ in speech:
            places.append((speech.stats.seconds, speech._player.played / 48_000))
    stats = speech.stats
    assert stats.complete and stats.slowed_ms > 50
    more_s = stats.seconds - 1.8 - stats.slowed_ms / 1000
    assert -0.002 <= more_s <= 0.002 + 0.02 * stats.stalls, "a stall may begin with a part of a frame"
    sound_s, speech_s = places[len(places) // 2]
    assert speech_s <= sound_s and places[-1][1] == pytest.approx(1.8)


@pytest.mark.parametrize("live", [True, Live(late_ms=None)])
async def test_live_is_real_time(live):
    async def play(server: Scripted) -> None:
        await server.start()
        await server.audio(0, 20)
        await server.end(20)
        await server.gone()

    loop = asyncio.get_running_loop()
    async with scripted(play) as url, Client(url) as client:
        speech = client.speak("x", live=live)
        times = [loop.time() async for _ in speech]
    assert times[-1] - times[0] > 0.3
