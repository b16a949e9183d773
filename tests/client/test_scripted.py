"""The client against servers that do what ours never would, and at moments that ours does not choose."""

import asyncio

import numpy as np
import pytest

from abr_tts import errors
from abr_tts.client import Client
from abr_tts.stream.reporter import FRAME_HEADER, UPLINK_BURST
from abr_tts.units import FRAME_TICKS
from abr_tts.wire import messages as m
from abr_tts.wire.codec import encode
from abr_tts.wire.limits import Limits

from .scripted import FRAME, WAIT_S, Scripted, samples, scripted


async def heard_until(url: str, fault: type[Exception], match: str | None = None, **options) -> np.ndarray:
    """What a listener gets before the fault."""
    heard = [np.zeros(0, np.int16)]
    async with Client(url, reconnect_s=0) as client:
        with pytest.raises(fault, match=match):
            async for frame in client.speak("a", **options):
                heard.append(frame)
    return np.concatenate(heard)


@pytest.mark.parametrize("realtime", [False, True])
async def test_what_had_arrived_before_a_fault_is_heard(realtime):
    async def play(server: Scripted) -> None:
        await server.start()
        await server.audio(0, 15)
        await server.send(m.Error("engine_lost", "The engine died.", "stream", 1))
        await server.gone()

    async with scripted(play) as url:
        heard = await heard_until(url, errors.EngineLost, "engine died", realtime=realtime)
    assert len(heard) >= 14 * FRAME
    assert np.array_equal(heard[: 14 * FRAME], samples(14))


async def test_when_the_cable_is_cut_what_is_held_is_heard():
    async def play(server: Scripted) -> None:
        await server.start()
        await server.audio(0, 15)
        await server.until(m.BitRateHint)  # it has arrived
        server.abort()

    async with scripted(play) as url:
        heard = await heard_until(url, errors.ConnectionLost, "was lost")
    assert np.array_equal(heard, samples(14)), "the fifteenth frame waits for its successor"


async def test_a_speech_that_had_arrived_whole_survives_the_cut():
    async def play(server: Scripted) -> None:
        await server.start()
        await server.audio(0, 30)
        await server.end(30)
        await server.until(m.BitRateHint)
        server.abort()

    async with scripted(play) as url, Client(url) as client:
        speech = client.speak("a", realtime=True)
        assert np.array_equal(await speech.read(), samples(30))
        assert speech.stats.complete


async def test_sound_that_was_left_out_fails_the_stream_instead_of_waiting_for_ever():
    async def play(server: Scripted) -> None:
        await server.start()
        await server.audio(0, 12)
        await server.audio(20, 10)
        await server.until(m.Cancel)
        await server.gone()

    async with scripted(play) as url:
        assert len(await heard_until(url, errors.PlayoutError)) == 11 * FRAME


async def test_a_server_that_sends_on_without_end_is_stopped(monkeypatch):
    monkeypatch.setattr("abr_tts.client.speech.MOST_AHEAD_TICKS", 1_000 * FRAME_TICKS)

    async def play(server: Scripted) -> None:
        await server.start()
        packet = b"\0\0" * FRAME
        with pytest.raises((ConnectionError, AssertionError)):
            for at in range(0, 1_000_000, 10):
                await server.send(m.Audio(1, 0, at * FRAME_TICKS, (packet,) * 10))
                assert not any(isinstance(message, m.Cancel) for message in server.seen)
        await server.until(m.Cancel)
        await server.gone()

    async with scripted(play) as url, Client(url) as client:
        speech = client.speak("a")
        frames = speech.__aiter__()
        await anext(frames)
        while speech._fault is None:
            await speech._news.wait()
            speech._news.clear()
        assert speech.buffer_ms <= 20_500
        with pytest.raises(errors.PlayoutError, match="without regard"):
            async for _ in frames:
                pass


async def test_a_format_that_cannot_be_played_fails_the_stream():
    async def play(server: Scripted) -> None:
        await server.greet()
        request = await server.until(m.StreamStart)
        await server.send(m.StreamStarted(1, request.stream_id, "t", "v", 16_000, 1, "pcm16", "pcm16k"))
        await server.send(m.Track(1, 0, 0, "stereo", "pcm16", 16_000, 2, 0))
        await server.until(m.Cancel)
        await server.gone()

    async with scripted(play) as url:
        await heard_until(url, errors.PlayoutError)


async def test_types_and_fields_of_a_later_version_are_passed_over():
    async def play(server: Scripted) -> None:
        await server.start()
        await server.send(b"\x82\xa4type\xa8firework\xa6stream\x01")
        await server.audio(0, 12)
        await server.send(m.Error("too_loud", "A remark of the future.", "nothing", 1))
        await server.end(12)
        await server.gone()

    events: list[object] = []
    async with scripted(play) as url, Client(url) as client:
        assert np.array_equal(await client.speak("a", events=events.append).read(), samples(12))
    assert [event.code for event in events if isinstance(event, m.Error)] == ["too_loud"]


async def test_garbage_in_mid_speech_ends_the_connection_with_a_reason():
    async def play(server: Scripted) -> None:
        await server.start()
        await server.audio(0, 12)
        await server.send(b"\xc1\xc1\xc1")
        await server.gone()

    async with scripted(play) as url:
        await heard_until(url, errors.BadMessage)


async def test_an_error_of_the_whole_connection_reaches_every_listener_with_its_class():
    async def play(server: Scripted) -> None:
        await server.greet()
        await server.until(m.StreamStart, lambda start: start.text == "b")
        await server.send(m.Error("overloaded", "Come back later.", "connection", retry_after=3.0))
        await server.gone()

    async with scripted(play) as url, Client(url, reconnect_s=0) as client:
        listeners = [asyncio.ensure_future(client.speak(text).read()) for text in "ab"]
        for fault in await asyncio.gather(*listeners, return_exceptions=True):
            assert isinstance(fault, errors.Overloaded) and fault.retry_after == 3.0
        with pytest.raises(errors.Overloaded):
            client.speak("c")


async def test_a_refusal_at_the_door_keeps_its_class():
    async def play(server: Scripted) -> None:
        await server.until(m.Hello)
        await server.send(m.Error("shutting_down", "Draining.", "connection"))
        await server.gone()

    async with scripted(play) as url:
        with pytest.raises(errors.ShuttingDown, match="Draining"):
            async with Client(url):
                pass


async def test_reports_say_what_was_received_and_played_and_the_last_comes_at_once():
    reports: list[m.BitRateHint] = []

    async def play(server: Scripted) -> None:
        await server.start()
        await server.audio(0, 50)
        await server.end(50)
        last = await server.until(m.BitRateHint, lambda hint: hint.played == 50 * FRAME_TICKS)
        assert last.received == server.sent_bytes
        reports.extend(message for message in server.seen if isinstance(message, m.BitRateHint))
        await server.gone()

    async with scripted(play) as url, Client(url) as client:
        assert np.array_equal(await client.speak("a", realtime=True).read(), samples(50))
    played = [hint.played for hint in reports]
    assert played == sorted(played) and len(played) >= 3
    assert all(0 <= hint.rtt_ms < 1000 for hint in reports), "the greeting was a first sample"
    assert all(hint.goodput_kbps != 0 for hint in reports)
    assert reports[0].highest == ((0, 49 * FRAME_TICKS),)
    cost = sum(len(encode(hint)) + FRAME_HEADER for hint in reports)
    assert cost <= max(0.05 * 32_000, 250) + UPLINK_BURST + 60


async def test_a_stall_is_counted_and_told():
    async def play(server: Scripted) -> None:
        await server.start()
        await server.audio(0, 12)
        stalled = await server.until(m.BitRateHint, lambda hint: hint.stalls == 1)
        assert stalled.stall_ms > 0 and stalled.buffer_ms == 0
        await server.audio(12, 20)
        await server.end(32)
        await server.gone()

    async with scripted(play) as url, Client(url) as client:
        speech = client.speak("a", realtime=True)
        heard = await speech.read()
    assert len(heard) == 32 * FRAME, "nothing is lost"
    assert speech.stats.stalls == 1
    assert 20 <= speech.stats.stall_ms < 10_000


async def test_a_silent_client_pings_as_the_server_asks():
    async def play(server: Scripted) -> None:
        await server.greet(ping_ms=50)
        first = await server.until(m.Ping)
        await server.send(m.Pong(first.value), m.Ping(77))
        await server.until(m.Pong, lambda pong: pong.value == 77)
        second = await server.until(m.Ping, lambda ping: ping.value != first.value)
        await server.send(m.Pong(second.value))

        pinged.set()

    pinged = asyncio.Event()
    async with scripted(play) as url, Client(url):
        await asyncio.wait_for(pinged.wait(), WAIT_S)


async def test_a_server_that_answers_no_ping_is_given_up(monkeypatch):
    async def play(server: Scripted) -> None:
        await server.greet(ping_ms=50)
        await server.until(m.StreamStart)
        await server.gone()

    monkeypatch.setattr("abr_tts.client.pump.LIMITS", Limits(pong_s=1.5))
    async with scripted(play) as url:
        await heard_until(url, errors.IdleTimeout)
