"""The client against a server whose connections are cut: what is heard, what is told, when it gives up."""

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest

from abr_tts import errors
from abr_tts.client import Client, Reconnected, Reconnecting
from abr_tts.engine.tone import Options, expected
from abr_tts.units import FRAME_TICKS
from abr_tts.wire import messages as m

from ..browser.relay import Relay, relaying
from ..server.harness import eventually, serving, serving_in_a_thread
from .scripted import FRAME, Scripted, samples, scripted

RATE = 22_050
LONG = "x" * 100
LEAD = {"stream__max_lead_s": 2, "engine__clause_chars": 100, "engine__first_clause_chars": 100}
"""Two seconds are sent ahead, so that a connection is needed to the end."""


def tone(text: str) -> np.ndarray:
    return expected(text, options=Options(rate=RATE))


@pytest.fixture(scope="module")
def server():
    with serving_in_a_thread(engine__workers=2, **LEAD) as server:
        yield server


async def frames_of(speech, cuts: dict[int, object]) -> np.ndarray:
    """All frames; at each of the numbers what stands there is awaited."""
    heard = []
    async for frame in speech:
        if len(heard) in cuts:
            await cuts[len(heard)]()
        heard.append(frame)
    return np.concatenate(heard)


def url(relay: Relay) -> str:
    return f"ws://127.0.0.1:{relay.port}"


@pytest.mark.parametrize("rung", ["pcm22", "opus24"])
async def test_a_listener_whose_connection_is_cut_hears_every_sample(server, rung):
    events: list[object] = []
    async with Client(server.url) as client:
        whole = await client.speak(LONG, rung=rung).read()
    async with relaying(server.port) as relay, Client(url(relay)) as client:
        speech = client.speak(LONG, rung=rung, events=events.append)
        heard = await frames_of(speech, dict.fromkeys((3, 60, 100, 101, 150), relay.cut))
    assert np.array_equal(heard, whole)
    assert speech.stats.complete and speech.stats.stalls == 0
    news = [event for event in events if isinstance(event, Reconnecting | Reconnected)]
    assert [type(event) for event in news] == [Reconnecting, Reconnected] * (len(news) // 2)
    assert len(news) >= 6 and {event.attempt for event in news[::2]} == {1}
    assert {event.wait_s for event in news[::2]} == {0.0}
    assert "was lost" in news[0].reason


async def test_a_real_time_listener_plays_on_from_what_is_held(server):
    async with relaying(server.port) as relay, Client(url(relay)) as client:
        speech = client.speak(LONG, rung="pcm22", realtime=True)
        heard = await frames_of(speech, {90: relay.cut})
    assert np.array_equal(heard, tone(LONG))
    assert speech.stats.stalls == 0


async def test_a_break_that_is_longer_than_the_bank_is_a_stall_and_loses_nothing(server):
    async with relaying(server.port) as relay, Client(url(relay)) as client:
        speech = client.speak(LONG, rung="pcm22", realtime=True)

        async def back() -> None:
            await eventually(lambda: speech._player.stall_ms > 100)
            relay.refuses = False

        async def away() -> None:
            relay.refuses = True
            await relay.cut()
            coming.append(asyncio.ensure_future(back()))

        coming: list[asyncio.Future] = []
        heard = await frames_of(speech, {60: away})
        await asyncio.gather(*coming)
    assert len(heard) == len(tone(LONG))
    assert speech.stats.stalls == 1 and speech.stats.stall_ms > 100


async def test_many_speeches_go_on_together(server):
    texts = ["x" * count for count in (60, 70, 80)]
    async with relaying(server.port) as relay, Client(url(relay)) as client:
        speeches = [client.speak(text, rung="pcm22") for text in texts]
        first, *others = [asyncio.ensure_future(frames_of(one, {40: relay.cut})) for one in speeches]
        heard = [await first, *(await asyncio.gather(*others))]
    for text, samples_ in zip(texts, heard, strict=True):
        assert np.array_equal(samples_, tone(text))


async def test_text_that_was_fed_meanwhile_is_said_once(server):
    gone, told = asyncio.Event(), asyncio.Event()

    async def text() -> AsyncIterator[str]:
        yield "The first sentence. "
        await gone.wait()
        yield "The sec"
        yield "ond one \ud83d"
        told.set()
        yield "\ude00 ends."

    marks: list[m.Mark] = []
    async with relaying(server.port) as relay, Client(url(relay)) as client:
        speech = client.speak(text(), rung="pcm22", events=marks.append)

        async def away() -> None:
            await relay.cut()
            gone.set()

        heard = await frames_of(speech, {10: away, 30: relay.cut})
        assert speech.heard_text == "The first sentence. The second one \U0001f600 ends."
    clauses = dict.fromkeys((mark.begin, mark.end) for mark in marks if isinstance(mark, m.Mark))
    said = [speech.heard_text[begin:end] for begin, end in clauses]
    assert "".join(said).replace(" ", "") == speech.heard_text.replace(" ", "")
    assert told.is_set() and len(heard) == sum(len(tone(clause)) for clause in said)


async def test_a_request_of_which_nothing_had_come_is_made_again_under_another_name():
    names: list[str] = []

    async def play(server: Scripted) -> None:
        await server.greet()
        request = await server.until(m.StreamStart)
        names.append(request.stream_id)
        if len(names) == 1:
            server.abort()
            return
        await server.send(
            m.StreamStarted(1, request.stream_id, "t", "v", 16_000, 1, "pcm16", "pcm16k"),
            m.Track(1, 0, 0, "pcm16k", "pcm16", 16_000, 1, 0),
        )
        await server.audio(0, 20)
        await server.end(20)
        await server.gone()

    async with scripted(play) as address, Client(address) as client:
        speech = client.speak("abc", voice="v")
        assert np.array_equal(await speech.read(), samples(20))
        assert names == [*names[:1], speech.stream_id] and names[0] != names[1]


async def test_what_is_asked_at_another_connection_is_what_is_lacked():
    seen: list[m.Attach] = []
    connections = 0

    async def play(server: Scripted) -> None:
        nonlocal connections
        connections += 1
        if connections == 1:
            await server.start()
            await server.audio(0, 15)
            await server.until(m.BitRateHint)
            server.abort()
            return
        await server.greet()
        attach = await server.until(m.Attach)
        seen.append(attach)
        await server.send(
            m.StreamStarted(7, attach.stream_id, "token", "voice", 16_000, 1, "pcm16", "pcm16k", chars=3),
            m.Track(7, 0, 0, "pcm16k", "pcm16", 16_000, 1, 0),
        )
        await server.audio(15, 15, handle=7)
        await server.end(30, handle=7)
        last = await server.until(m.BitRateHint, lambda hint: hint.played == 30 * FRAME_TICKS)
        assert (last.stream, last.received) == (7, server.sent_bytes)
        await server.gone()

    async with scripted(play) as address, Client(address) as client:
        assert np.array_equal(await client.speak("abc").read(), samples(30))
    (attach,) = seen
    assert (attach.token, attach.played) == ("token", 14 * FRAME_TICKS)
    assert attach.tracks == ((0, 15 * FRAME_TICKS),)


async def test_a_server_that_holds_nothing_ends_the_speech_and_the_client_knows_what_is_left():
    text = "One sentence. Another sentence. A third."
    connections = 0

    async def play(server: Scripted) -> None:
        nonlocal connections
        connections += 1
        if connections == 1:
            await server.start()
            await server.send(m.Mark(1, 0, 0, 13), m.Mark(1, 10 * FRAME_TICKS, 14, 31))
            await server.audio(0, 15)
            await server.until(m.BitRateHint)
            server.abort()
            return
        await server.greet()
        attach = await server.until(m.Attach)
        await server.send(m.Error("resume_lost", "Gone.", "stream", stream_id=attach.stream_id))
        await server.gone()

    async with scripted(play) as address, Client(address) as client:
        speech, heard = client.speak(text), []
        with pytest.raises(errors.ResumeLost):
            async for frame in speech:
                heard.append(frame)
    assert sum(map(len, heard)) == 14 * FRAME, "what had come is heard"
    assert speech.rest == "Another sentence. A third."


async def test_it_is_given_up_in_time_with_the_reason_of_the_loss(server):
    events: list[object] = []
    loop = asyncio.get_running_loop()
    async with relaying(server.port) as relay, Client(url(relay), reconnect_s=1.0) as client:
        speech = client.speak(LONG, rung="pcm22", events=events.append)
        began = 0.0

        async def away() -> None:
            nonlocal began
            relay.refuses, began = True, loop.time()
            await relay.cut()

        with pytest.raises(errors.ConnectionLost, match="was lost"):
            await frames_of(speech, {30: away})
        assert 0.6 < loop.time() - began < 10  # the client's own time is two minutes
        assert [event.attempt for event in events if isinstance(event, Reconnecting)][:2] == [1, 2]
        relay.refuses = False
        assert np.array_equal(await client.speak("abc", rung="pcm22").read(), tone("abc")), "and tried anew"


async def test_an_idle_connection_that_was_lost_is_opened_by_the_next_speech(server):
    async with relaying(server.port) as relay, Client(url(relay)) as client:
        assert len(await client.speak("abc").read())
        await relay.cut()
        await eventually(lambda: client._line.pump is None)
        assert np.array_equal(await client.speak("abc", rung="pcm22").read(), tone("abc"))


async def test_without_reconnecting_a_speech_ends_with_its_connection(server):
    async with relaying(server.port) as relay, Client(url(relay), reconnect_s=0) as client:
        with pytest.raises(errors.ConnectionLost):
            await frames_of(client.speak(LONG, rung="pcm22"), {30: relay.cut})


@pytest.mark.parametrize("code", [1000, 1008, 1009])
async def test_a_server_that_closed_for_good_is_not_tried_again(code):
    connections = 0

    async def play(server: Scripted) -> None:
        nonlocal connections
        connections += 1
        await server.start()
        await server.audio(0, 15)
        await server.until(m.BitRateHint)
        await server._socket.close(code=code)
        await server.gone()

    async with scripted(play) as address, Client(address) as client:
        with pytest.raises(errors.ConnectionLost, match=str(code)):
            await client.speak("abc").read()
        with pytest.raises(errors.ConnectionLost):
            client.speak("abc")
    assert connections == 1


async def test_a_key_that_is_refused_at_the_return_is_not_tried_for_minutes():
    async with (
        serving(**LEAD, auth__keys=("right",)) as server,
        relaying(server.port) as relay,
        Client(url(relay), api_key="right") as client,
    ):
        speech = client.speak(LONG, rung="pcm22")

        async def away() -> None:
            client._api_key = "wrong"
            await relay.cut()

        with pytest.raises(errors.ConnectFailed, match="refused the API key"):
            await frames_of(speech, {30: away})


async def test_a_speech_that_is_cancelled_while_it_has_no_connection_is_over(server):
    async with relaying(server.port) as relay, Client(url(relay)) as client:
        speech = client.speak(LONG, rung="pcm22")

        async def away() -> None:
            relay.refuses = True
            await relay.cut()
            await eventually(lambda: client._line.pump is None)
            asyncio.get_running_loop().call_soon(speech.cancel)

        heard = await frames_of(speech, {30: away})
        assert 0 < len(heard) < len(tone(LONG)) and client._line._task is None
        relay.refuses = False
        assert len(await client.speak("abc").read())


async def test_a_pause_outlives_the_break(server):
    async with relaying(server.port) as relay, Client(url(relay)) as client:
        speech = client.speak(LONG, rung="pcm22", realtime=True)

        async def away() -> None:
            speech.pause()
            await relay.cut()
            asyncio.get_running_loop().call_later(0.3, speech.resume)

        heard = await frames_of(speech, {30: away})
        assert len(heard) == len(tone(LONG)) and speech.stats.stalls == 0


async def test_an_event_callback_that_fails_at_a_break_fails_its_speech_alone(server):
    def events(event: object) -> None:
        if isinstance(event, Reconnecting):
            raise ZeroDivisionError("in a callback")

    async with relaying(server.port) as relay, Client(url(relay)) as client:
        other = client.speak(LONG, rung="pcm22")
        with pytest.raises(ZeroDivisionError):
            await frames_of(client.speak(LONG, rung="pcm22", events=events), {30: relay.cut})
        assert np.array_equal(await other.read(), tone(LONG))


async def test_closing_while_there_is_no_connection_leaves_no_task(server):
    before = len(asyncio.all_tasks())
    async with relaying(server.port) as relay:
        async with Client(url(relay)) as client:
            speech = client.speak(LONG, rung="pcm22")
            relay.refuses = True
            await relay.cut()
            await eventually(lambda: client._line.pump is None)
        assert len(await speech.read()) < len(tone(LONG))
    await eventually(lambda: len(asyncio.all_tasks()) <= before)
