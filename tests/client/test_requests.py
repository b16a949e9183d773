"""A server that asks for slower requests is obeyed; nobody else waits."""

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest

from abr_tts.client import Client
from abr_tts.client.requests import LOOK_AGAIN_S, RequestPace
from abr_tts.errors import ConnectionLost
from abr_tts.wire import messages as m

from ..server.harness import eventually
from .scripted import Scripted, samples, scripted


def test_nothing_waits_until_the_server_has_spoken():
    pace = RequestPace()
    assert [pace.take(0.0) for _ in range(1000)] == [0.0] * 1000


def test_after_its_pause_requests_follow_at_its_rate():
    pace = RequestPace()
    pace.told(4.0, 2.0, now=10.0)
    assert (pace.take(10.5), pace.pause_s(10.5)) == (1.5, 1.5)
    assert pace.take(12.0) == 0.0
    assert pace.take(12.1) == pytest.approx(0.15)
    assert pace.take(12.25) == 0.0


def test_a_rate_of_nothing_stops_everything_until_it_names_another():
    pace = RequestPace()
    pace.told(0.0, 0.0, now=0.0)
    assert pace.take(1e6) == LOOK_AGAIN_S
    pace.told(1.0, 0.0, now=1e6)
    assert pace.take(1e6) == 0.0


async def speak(server: Scripted, request: m.StreamStart, handle: int) -> None:
    await server.send(
        m.StreamStarted(handle, request.stream_id, "t", "v", 16_000, 1, "pcm16", "pcm16k"),
        m.Track(handle, 0, 0, "pcm16k", "pcm16", 16_000, 1, 0),
    )
    await server.audio(0, 12, handle=handle)
    await server.end(12, handle=handle)


async def test_a_client_holds_its_requests_and_its_text_back_as_it_is_told():
    loop = asyncio.get_running_loop()
    times: dict[str, float] = {}

    async def play(server: Scripted) -> None:
        await server.greet()
        times["told"] = loop.time()
        await server.send(m.FlowControl(5.0, retry_after=0.4), m.Ping(1))
        for number, text in enumerate(("a", "b", "one two"), 1):
            request = await server.until(
                m.StreamStart,
                lambda start, text=text: start.text == text or (text == "one two" and start.open),
            )
            if request.open:  # what waits for its turn is asked for with the text that is there by then
                await server.until(m.TextEnd)
                pieces_said = [one.text for one in server.seen if isinstance(one, m.Text)]
                assert "".join([request.text, *pieces_said]) == text
            times[text] = loop.time()
            await speak(server, request, number)
        await server.gone()

    async def pieces() -> AsyncIterator[str]:
        yield "one "
        yield "two"

    async with scripted(play) as url, Client(url) as client:
        await told(client)
        began = loop.time()
        speeches = [client.speak("a"), client.speak("b"), client.speak(pieces())]
        assert client.speeches == 3
        for speech in speeches:
            assert np.array_equal(await speech.read(), samples(12))
    assert times["a"] - times["told"] > 0.39 and times["b"] - times["told"] > 0.59
    assert times["one two"] - began < 5


async def told(client: Client) -> None:
    """Until the server's wish has come; its pause may be over by then, on a machine that stood still."""
    await eventually(lambda: client._line.pump.requests._rate is not None)


async def test_what_is_held_back_can_be_cancelled():
    asked = asyncio.Event()

    async def play(server: Scripted) -> None:
        await server.greet()
        await server.send(m.FlowControl(0.0))
        await asked.wait()
        await server.send(m.FlowControl(5.0))
        request = await server.until(m.StreamStart)
        assert request.text == "b"
        await speak(server, request, 1)
        await server.gone()

    async with scripted(play) as url, Client(url) as client:
        await told(client)
        client.speak("a").cancel()
        assert client.speeches == 0
        speech = client.speak("b")
        asked.set()
        assert np.array_equal(await speech.read(), samples(12))


async def test_clips_wait_for_their_turn_as_texts_do():
    loop = asyncio.get_running_loop()
    times: list[float] = []

    async def play(server: Scripted) -> None:
        await server.greet()
        times.append(loop.time())
        await server.send(m.FlowControl(5.0, retry_after=0.3))
        asked: list[str] = []
        for handle in (1, 2):
            request = await server.until(m.AudioStart, lambda start: start.stream_id not in asked)
            times.append(loop.time())
            asked.append(request.stream_id)
            await server.send(
                m.StreamStarted(handle, request.stream_id, "t", "v", 16_000, 1, "pcm16", "pcm16k")
            )
            await server.until(m.TextEnd, lambda end, handle=handle: end.stream == handle)
            if request.purpose == "conversion":
                await server.send(m.Track(handle, 0, 0, "pcm16k", "pcm16", 16_000, 1, 0))
                await server.audio(0, 12, handle=handle)
            await server.end(12, handle=handle)
        await server.gone()

    clip = np.zeros(1_600, np.int16)
    async with scripted(play) as url, Client(url) as client:
        await told(client)
        speech = client.convert(clip, 16_000, codec="pcm16")
        assert np.array_equal(await speech.read(), samples(12))
        assert await client.add_voice("anna", clip, 16_000, consent=True, codec="pcm16") == 0.24
    assert times[1] - times[0] > 0.29 and times[2] - times[0] > 0.49


async def test_a_clip_that_waits_ends_with_its_client():
    async def play(server: Scripted) -> None:
        await server.greet()
        await server.send(m.FlowControl(0.0))
        await server.gone()

    async with scripted(play) as url:
        async with Client(url) as client:
            await told(client)
            speech = client.convert(np.zeros(1_600, np.int16), 16_000, codec="pcm16")
            await asyncio.sleep(0)
        with pytest.raises(ConnectionLost, match="closed"):
            await speech.read()


async def test_at_the_rate_nothing_waits_and_one_request_more_does():
    pace = RequestPace()
    pace.told(8.0, 0.0, now=0.0)
    assert [pace.take(number / 8) for number in range(20)] == [0.0] * 20
    assert pace.take(19 / 8 + 1 / 16) == 1 / 16
