"""Servers that stop: what is new goes elsewhere, what runs goes on, what is cut short is said to its end."""

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest

from abr_tts import errors
from abr_tts.client import Client, Reconnected, Reconnecting
from abr_tts.units import FRAME_TICKS
from abr_tts.wire import messages as m

from ..server.harness import eventually
from .scripted import FRAME, RATE, Scripted, samples, scripted

AWAY = m.GoingAway(30_000, "deploy")


def turns(*plays):
    """A server for each connection, one after the other."""
    left = list(plays)

    async def play(server: Scripted) -> None:
        await left.pop(0)(server)

    return play


async def begin(server: Scripted, request: m.StreamStart, handle: int = 1, voice: str = "voice") -> None:
    await server.send(
        m.StreamStarted(handle, request.stream_id, "token", voice, RATE, 1, "pcm16", "pcm16k"),
        m.Track(handle, 0, 0, "pcm16k", "pcm16", RATE, 1, 0),
    )


async def say(server: Scripted, request: m.StreamStart, frames: int, handle: int = 1) -> None:
    await begin(server, request, handle)
    await server.audio(0, frames, handle=handle)
    await server.end(frames, handle=handle)


def moved(frames: int, chars: int, handle: int = 1) -> m.StreamEnd:
    return m.StreamEnd(handle, frames * FRAME, RATE, 1, "pcm16", m.MOVED, chars)


async def test_what_is_new_goes_elsewhere_and_what_runs_ends_where_it_is():
    spoken = asyncio.Event()

    async def first(server: Scripted) -> None:
        request = await server.start()
        await server.send(AWAY)
        await spoken.wait()
        await server.audio(0, 12)
        await server.end(12)
        await server.until(m.BitRateHint, lambda hint: hint.played == 12 * FRAME_TICKS)
        await server.gone()  # by the client, of itself
        assert [one.text for one in server.seen if isinstance(one, m.StreamStart)] == [request.text]

    async def second(server: Scripted) -> None:
        await server.greet()
        request = await server.until(m.StreamStart)
        assert request.text == "new"
        await say(server, request, 20)
        await server.gone()

    async with scripted(turns(first, second)) as url, Client(url) as client:
        old = client.speak("old")
        await eventually(lambda: not client.connected)
        new = client.speak("new")
        assert client.speeches == 2
        assert np.array_equal(await new.read(), samples(20))
        assert client.connected
        spoken.set()
        assert np.array_equal(await old.read(), samples(12))
        await eventually(lambda: len(client._line._pumps) == 1)


async def test_an_idle_client_leaves_and_comes_back_when_it_speaks():
    connections = []

    async def idle(server: Scripted) -> None:
        connections.append(server)
        await server.greet()
        await server.send(AWAY)
        await server.gone()

    async def second(server: Scripted) -> None:
        connections.append(server)
        await server.greet()
        await say(server, await server.until(m.StreamStart), 12)
        await server.gone()

    async with scripted(turns(idle, second)) as url, Client(url) as client:
        await eventually(lambda: connections and connections[0].ended)
        assert len(connections) == 1
        assert np.array_equal(await client.speak("new").read(), samples(12))


@pytest.mark.parametrize("voice, asked", [(None, "anna"), ("berta", "berta")])
async def test_a_speech_that_is_cut_short_is_said_to_its_end_elsewhere(voice, asked):
    ids = []

    async def first(server: Scripted) -> None:
        await server.greet()
        request = await server.until(m.StreamStart)
        ids.append(request.stream_id)
        await begin(server, request, voice="anna")
        await server.send(m.Mark(1, 0, 0, 6), AWAY)
        await server.audio(0, 30)
        await server.send(moved(30, 6))
        await server.gone()
        assert not [one for one in server.seen if isinstance(one, m.Cancel)]

    async def second(server: Scripted) -> None:
        await server.greet()
        request = await server.until(m.StreamStart)
        ids.append(request.stream_id)
        assert (request.text, request.open, request.voice) == ("Two. Three.", False, asked)
        assert (request.rung, request.speed) == ("pcm16k", 1.5)
        await begin(server, request, handle=7)
        await server.send(m.Mark(7, 0, 0, 5), m.Mark(7, 10 * FRAME_TICKS, 5, 11))
        await server.audio(0, 25, handle=7)
        await server.end(25, handle=7)
        await server.until(m.BitRateHint, lambda hint: hint.played == 25 * FRAME_TICKS)
        await server.gone()

    events = []
    async with scripted(turns(first, second)) as url, Client(url) as client:
        speech = client.speak(
            "Eins. Two. Three.", voice=voice, rung="pcm16k", speed=1.5, events=events.append
        )
        heard = await speech.read()
    assert np.array_equal(heard, np.concatenate([samples(30), samples(25)]))
    assert ids[0] != ids[1]
    assert speech.stats.complete and speech.heard_text == "Eins. Two. Three."
    assert speech.stats.stalls == 0 and speech.stats.rungs == {"pcm16k": pytest.approx(1.1)}
    marks = [(mark.pts, mark.begin, mark.end) for mark in events if isinstance(mark, m.Mark)]
    assert marks == [(0, 0, 6), (30 * FRAME_TICKS, 6, 11), (40 * FRAME_TICKS, 11, 17)]
    assert [track.start for track in events if isinstance(track, m.Track)] == [0, 30 * FRAME_TICKS]
    news = [event for event in events if isinstance(event, Reconnecting | Reconnected)]
    assert [type(event) for event in news] == [Reconnecting, Reconnected]
    assert news[0].attempt == 1 and news[0].wait_s == 0.0


async def test_where_one_is_within_the_second_part_is_known():
    async def first(server: Scripted) -> None:
        await server.start()
        await server.send(AWAY, m.Mark(1, 0, 0, 5))
        await server.audio(0, 20)
        await server.send(moved(20, 5))
        await server.gone()

    async def second(server: Scripted) -> None:
        await server.greet()
        request = await server.until(m.StreamStart)
        await begin(server, request)
        await server.send(m.Mark(1, 0, 0, 5), m.Mark(1, 15 * FRAME_TICKS, 5, 10))
        await server.audio(0, 30)
        await server.end(30)
        await server.gone()

    async with scripted(turns(first, second)) as url, Client(url) as client:
        speech = client.speak("one. two. three")
        heard = 0
        async for _ in speech:
            heard += 1
            if heard == 20:
                assert speech.heard_text == "one. "
            elif heard == 36:
                assert speech.heard_text == "one. two. "
                assert speech.heard_at(0.4) == 5
                break
    assert speech.stats.heard == 10


async def test_text_that_still_comes_goes_on_coming_elsewhere():
    told, more = asyncio.Event(), asyncio.Event()

    async def first(server: Scripted) -> None:
        await server.start()
        await server.until(m.Text)
        await server.send(AWAY)
        await server.audio(0, 20)
        await server.send(moved(20, 5))
        await server.gone()

    async def second(server: Scripted) -> None:
        await server.greet()
        request = await server.until(m.StreamStart)
        assert request.open and request.text == ""
        told.set()
        await server.until(m.TextEnd)
        assert "".join(one.text for one in server.seen if isinstance(one, m.Text)) == "two. three."
        await say(server, request, 30)
        await server.gone()

    async def text() -> AsyncIterator[str]:
        yield "one. two. "
        await told.wait()
        yield "three."
        more.set()

    async with scripted(turns(first, second)) as url, Client(url) as client:
        speech = client.speak(text())
        assert np.array_equal(await speech.read(), np.concatenate([samples(20), samples(30)]))
    assert more.is_set() and speech.heard_text == "one. two. three."


async def test_a_speech_may_be_moved_more_than_once():
    def part(text: str, frames: int, chars: int):
        async def play(server: Scripted) -> None:
            await server.greet()
            request = await server.until(m.StreamStart)
            assert request.text == text
            await begin(server, request)
            await server.send(AWAY)
            await server.audio(0, frames)
            await server.send(
                moved(frames, chars) if chars < len(text) else m.StreamEnd(1, frames * FRAME, RATE, 1, "")
            )
            await server.gone()

        return play

    plays = part("a. b. c.", 15, 3), part("b. c.", 25, 3), part("c.", 35, 2)
    async with scripted(turns(*plays)) as url, Client(url) as client:
        speech = client.speak("a. b. c.")
        whole = np.concatenate([samples(15), samples(25), samples(35)])
        assert np.array_equal(await speech.read(), whole)
    assert speech.stats.seconds == pytest.approx(75 * 0.02)


async def test_a_speech_of_which_nothing_is_left_is_not_asked_for_again():
    async def first(server: Scripted) -> None:
        await server.start()
        await server.send(AWAY)
        await server.audio(0, 20)
        await server.send(moved(20, 4))
        await server.gone()

    async with scripted(turns(first)) as url, Client(url) as client:
        speech = client.speak("all.  ")
        assert np.array_equal(await speech.read(), samples(20))
    assert speech.stats.complete


async def test_a_speech_that_was_not_begun_is_asked_for_whole_elsewhere():
    async def first(server: Scripted) -> None:
        await server.greet()
        request = await server.until(m.StreamStart)
        busy = m.Error("busy", "stopping", "stream", stream_id=request.stream_id, retry_after=0.0)
        await server.send(AWAY, busy)
        await server.gone()

    async def second(server: Scripted) -> None:
        await server.greet()
        request = await server.until(m.StreamStart)
        assert request.text == "later"
        await say(server, request, 12)
        await server.gone()

    async with scripted(turns(first, second)) as url, Client(url) as client:
        assert np.array_equal(await client.speak("later").read(), samples(12))


async def test_busy_is_told_by_a_server_that_stays():
    async def play(server: Scripted) -> None:
        await server.greet()
        request = await server.until(m.StreamStart)
        await server.send(m.Error("busy", "full", "stream", stream_id=request.stream_id, retry_after=1.0))
        await server.gone()

    async with scripted(play) as url, Client(url) as client:
        with pytest.raises(errors.Busy):
            await client.speak("x").read()


async def test_what_the_server_could_not_end_is_attached_to_elsewhere():
    async def first(server: Scripted) -> None:
        await server.start()
        await server.send(AWAY)
        await server.audio(0, 20)
        await server.until(m.BitRateHint)
        await server._socket.close(code=1012)

    async def second(server: Scripted) -> None:
        await server.greet()
        attach = await server.until(m.Attach)
        assert (attach.token, attach.tracks) == ("token", ((0, 20 * FRAME_TICKS),))
        await server.send(
            m.StreamStarted(3, attach.stream_id, "token", "voice", RATE, 1, "pcm16", "pcm16k", 1)
        )
        await server.send(m.Track(3, 0, 0, "pcm16k", "pcm16", RATE, 1, 0))
        await server.audio(20, 10, handle=3)
        await server.end(30, handle=3)
        await server.gone()

    async with scripted(turns(first, second)) as url, Client(url) as client:
        assert np.array_equal(await client.speak("x").read(), samples(30))


async def test_without_reconnecting_a_speech_ends_with_what_its_server_spoke():
    async def play(server: Scripted) -> None:
        await server.start()
        await server.send(AWAY)
        await server.audio(0, 20)
        await server.send(moved(20, 4))
        await server.gone()

    heard = []
    async with scripted(play) as url, Client(url, reconnect_s=0) as client:
        speech = client.speak("one. two.")
        with pytest.raises(errors.ConnectionLost, match="does not connect again"):
            async for frame in speech:
                heard.append(frame)
        assert speech.rest == " two."
    assert len(heard) == 20


async def test_a_wait_between_two_parts_is_a_stall_of_a_real_time_listener():
    waited = asyncio.Event()

    async def first(server: Scripted) -> None:
        await server.start()
        await server.send(AWAY)
        await server.audio(0, 12)
        await server.send(moved(12, 2))
        await server.gone()

    async def second(server: Scripted) -> None:
        await server.greet()
        request = await server.until(m.StreamStart)
        await waited.wait()
        await say(server, request, 12)
        await server.gone()

    async with scripted(turns(first, second)) as url, Client(url) as client:
        speech = client.speak("a. b.", realtime=True)
        heard = []

        async def hear() -> None:
            async for frame in speech:
                heard.append(frame)

        listener = asyncio.ensure_future(hear())
        await eventually(lambda: speech._player.stall_ms >= 60)
        waited.set()
        await listener
    assert np.array_equal(np.concatenate(heard), np.concatenate([samples(12), samples(12)]))
    assert speech.stats.stalls == 1 and speech.stats.stall_ms >= 60 and speech.stats.complete


async def test_clips_go_elsewhere_too():
    ids = []

    async def first(server: Scripted) -> None:
        await server.greet()
        await server.send(AWAY)
        await server.gone()
        assert not [one for one in server.seen if isinstance(one, m.AudioStart)]

    async def second(server: Scripted) -> None:
        await server.greet()
        for handle in (1, 2):
            request = await server.until(m.AudioStart, lambda start: start.stream_id not in ids)
            ids.append(request.stream_id)
            await server.send(
                m.StreamStarted(handle, request.stream_id, "t", "v", RATE, 1, "pcm16", "pcm16k")
            )
            await server.until(m.TextEnd, lambda end, handle=handle: end.stream == handle)
            if request.purpose == "conversion":
                await server.send(m.Track(handle, 0, 0, "pcm16k", "pcm16", RATE, 1, 0))
                await server.audio(0, 12, handle=handle)
            await server.end(12, handle=handle)
        await server.gone()

    clip = np.zeros(RATE, np.int16)
    async with scripted(turns(first, second)) as url, Client(url) as client:
        await eventually(lambda: not client.connected)
        speech = client.convert(clip, RATE, codec="pcm16")
        assert np.array_equal(await speech.read(), samples(12))
        assert await client.add_voice("anna", clip, RATE, consent=True, codec="pcm16") == 0.24


async def test_a_speech_that_is_cancelled_without_a_connection_is_cancelled_at_the_next():
    gone = asyncio.Event()

    async def first(server: Scripted) -> None:
        await server.start()
        await server.audio(0, 5)
        await server.until(m.BitRateHint)
        server.abort()

    async def second(server: Scripted) -> None:
        await server.greet()
        cancelled = await server.until(m.Cancel)
        attach = next(one for one in server.seen if isinstance(one, m.Attach))
        assert cancelled.stream == attach.stream_id and attach.token == "token"
        await say(server, await server.until(m.StreamStart), 12)
        gone.set()
        await server.gone()

    def stop(event) -> None:
        if isinstance(event, Reconnecting):
            speech.cancel()

    async with scripted(turns(first, second)) as url, Client(url) as client:
        speech = client.speak("x", events=stop)
        async for _ in speech:
            pass
        assert client.speeches == 0
        assert np.array_equal(await client.speak("y").read(), samples(12))
        assert gone.is_set()
