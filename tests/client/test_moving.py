"""Two servers behind one address, of which the first stops in mid-speech: what its listeners hear."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import numpy as np
import pytest

from abr_tts.client import Client, Reconnected, Reconnecting
from abr_tts.server.app import Server
from abr_tts.wire import messages as m

from ..browser.relay import Relay, relaying
from ..server.harness import serving

SENTENCE = "xxxxxxxxx. "
TEXT = SENTENCE * 10
SHORT = {
    "engine__clause_chars": 12,
    "engine__first_clause_chars": 12,
    "stream__max_ahead_s": 2,
    "server__drain_s": 3.0,
    "limits__close_timeout_s": 0.2,
}
"""A sentence is a clause, of some 0.6 s, and little is made ahead. Streams are moved after 0.9 s."""


async def unbroken(server: Server, **wishes) -> np.ndarray:
    async with Client(server.url) as client:
        return await client.speak(TEXT, **wishes).read()


@contextlib.asynccontextmanager
async def two_servers() -> AsyncIterator[tuple[Relay, Server, Server]]:
    """Both running; the address leads to the first."""
    async with serving(**SHORT) as first, serving(**SHORT) as second, relaying(first.port) as relay:
        yield relay, first, second


async def stop(relay: Relay, first: Server, second: Server) -> None:
    """As a process does that is told to, behind a proxy that passes over it."""
    relay._target = second.port
    await first.drain()
    await first.stop()


async def listen(client: Client, at: int, then, **wishes) -> tuple[np.ndarray, object, list]:
    """All frames of a real-time listener who does something at one of them; the speech, and its events."""
    events, heard, tasks = [], [], []
    speech = client.speak(wishes.pop("text", TEXT), realtime=True, events=events.append, **wishes)
    async for frame in speech:
        heard.append(frame)
        if len(heard) == at:
            tasks.append(asyncio.ensure_future(then()))
    await asyncio.gather(*tasks)
    return np.concatenate(heard), speech, events


@pytest.mark.parametrize("rung", ["pcm22", "opus24", None])
async def test_a_listener_of_a_server_that_stops_hears_every_word_once(rung):
    async with two_servers() as (relay, first, second), Client(f"ws://127.0.0.1:{relay.port}") as client:
        whole = await unbroken(second, rung=rung)
        heard, speech, events = await listen(client, 10, lambda: stop(relay, first, second), rung=rung)
    marks = [event for event in events if isinstance(event, m.Mark)]
    assert [TEXT[mark.begin : mark.end].strip() for mark in marks] == [SENTENCE.strip()] * 10
    assert len(heard) == len(whole)
    if rung == "pcm22":
        assert np.array_equal(heard, whole)
    assert speech.stats.complete and speech.heard_text == TEXT and speech.stats.stalls == 0
    news = [type(event) for event in events if isinstance(event, Reconnecting | Reconnected)]
    assert news[:1] == [Reconnecting] and news[-1:] == [Reconnected]
    ends = {mark.pts for mark in marks}
    assert len(ends) == len(marks), "no clause stands where another one does"


async def test_text_that_still_comes_is_spoken_by_both():
    moved = asyncio.Event()

    async def text() -> AsyncIterator[str]:
        yield TEXT[:30]
        await moved.wait()
        yield TEXT[30:45]
        yield TEXT[45:]

    async def stop_and_tell(relay, first, second) -> None:
        stopping = asyncio.ensure_future(stop(relay, first, second))
        asyncio.get_running_loop().call_later(2.2, moved.set)
        await stopping

    async with two_servers() as (relay, first, second), Client(f"ws://127.0.0.1:{relay.port}") as client:
        whole = await unbroken(second, rung="pcm22")
        heard, speech, _ = await listen(
            client, 10, lambda: stop_and_tell(relay, first, second), rung="pcm22", text=text()
        )
    assert np.array_equal(heard, whole)
    assert speech.heard_text == TEXT


async def test_many_listeners_of_a_server_that_stops_lose_nothing():
    async with two_servers() as (relay, first, second):
        address = f"ws://127.0.0.1:{relay.port}"
        whole = await unbroken(second, rung="pcm22")
        async with Client(address) as one, Client(address) as other:
            speeches = [client.speak(TEXT, rung="pcm22") for client in (one, one, other)]
            reads = [asyncio.ensure_future(slowly(speech)) for speech in speeches]
            await asyncio.sleep(0.3)
            await stop(relay, first, second)
            for heard in await asyncio.gather(*reads):
                assert np.array_equal(heard, whole)


async def slowly(speech) -> np.ndarray:
    """By a listener who lets the server wait."""
    frames = []
    async for frame in speech:
        frames.append(frame)
        await asyncio.sleep(0.01)
    return np.concatenate(frames)


@pytest.mark.parametrize("tail", ["", "  \n", "!!! ..."])
async def test_where_nothing_is_left_to_say_after_the_move_the_speech_is_whole(tail):
    over = asyncio.Event()

    async def text() -> AsyncIterator[str]:
        yield SENTENCE * 2
        await over.wait()
        if tail:
            yield tail

    async def stop_and_end(relay, first, second) -> None:
        stopping = asyncio.ensure_future(stop(relay, first, second))
        asyncio.get_running_loop().call_later(2.2, over.set)
        await stopping

    async with two_servers() as (relay, first, second), Client(f"ws://127.0.0.1:{relay.port}") as client:
        async with Client(second.url) as other:
            whole = await other.speak(SENTENCE * 2, rung="pcm22").read()
        heard, speech, _ = await listen(
            client, 10, lambda: stop_and_end(relay, first, second), rung="pcm22", text=text()
        )
    assert np.array_equal(heard, whole)
    assert speech.stats.complete
