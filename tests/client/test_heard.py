"""Which part of a text was heard: by the cases that bind the JavaScript, and over a real socket."""

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abr_tts.client import Client
from abr_tts.client.heard import HeardText
from abr_tts.engine.text import Clauser
from abr_tts.wire.messages import Mark

from ..server.harness import WAIT_S, eventually, serving_in_a_thread

FIXTURE = Path(__file__).parent.parent / "js" / "heard.fixture.json"
CASES = json.loads(FIXTURE.read_text("utf-8"))["cases"]


@pytest.fixture(scope="module")
def server():
    with serving_in_a_thread(engine__workers=2) as made:
        yield made


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case):
    first, *rest = case["text"]
    heard = HeardText(first)
    for piece in rest:
        heard.add(piece)
    for pts, begin, end in case["marks"]:
        heard.mark(Mark(1, pts, begin, end))
    if case["end"] is not None:
        heard.end(case["end"])
    found = [heard.at(played, reach) for played, reach, *_ in case["asked"]]
    assert found == [wanted for _, _, wanted, _ in case["asked"]]
    units = [len(heard.text[:at].encode("utf-16-le", "surrogatepass")) // 2 for at in found]
    assert units == [index for *_, index in case["asked"]], "the fixture agrees with itself"


WORDS = st.text("ab 字1.，。 😀é", max_size=80)


@given(WORDS, st.lists(st.integers(1, 9_600), min_size=80, max_size=80), st.lists(st.integers(0, 90_000)))
def test_what_was_heard_only_grows_and_never_ends_within_a_word(text, lengths, times):
    heard, pts = HeardText(text), 0
    clauser = Clauser(40, 20)
    for clause, length in zip([*clauser.feed(text), *clauser.end()], lengths, strict=False):
        heard.mark(Mark(1, pts, clause.begin, clause.end))
        pts += length
    heard.end(pts)
    at = 0
    for time in sorted(times):
        now = heard.at(time, max(time, pts))
        assert at <= now <= len(text)
        at = now
        if 0 < now < len(text) and now not in {mark.end for mark in heard._marks}:
            before, after = text[now - 1], text[now]
            assert not (before in "ab1.é" and after in "ab1.é"), (before, after)


async def test_a_speech_that_was_interrupted_tells_what_was_heard_to_the_word(server):
    text = "One two three four. Five six seven eight nine. Ten."
    async with Client(server.url) as client:
        speech = client.speak(text, rung="pcm22")
        assert speech.heard == 0
        async for _ in speech:
            if speech.stats.seconds >= 1.7:  # 60 ms a character: 28.3 of them
                break
        told = speech.cancel()
    assert told == speech.heard == speech.stats.heard
    assert speech.heard_text == "One two three four. Five six "
    assert speech.heard_at(1.14) == len("One two three four.")
    assert speech.heard_at(0.6) == len("One two ")
    assert speech.heard_at(99) == told


async def test_a_speech_that_was_heard_to_its_end_was_heard_whole(server):
    async with Client(server.url) as client:
        speech = client.speak("  All of it. 😀 ")
        await speech.read()
    assert speech.heard_text == "  All of it. 😀 "
    assert speech.stats.heard == 15


async def test_pieces_with_halves_of_a_pair_are_counted_as_the_server_counts_them(server):
    async def pieces():
        yield "Hi \ud83d"
        yield "\ude00 there. "
        yield "𠮷 and on and on and on."

    async with Client(server.url) as client:
        speech = client.speak(pieces(), rung="pcm22")
        async for _ in speech:
            if speech.stats.seconds >= 1.0:
                break
    assert speech.heard_text == "Hi 😀 there. 𠮷 "  # which counts as four letters, and half a word


async def test_nothing_was_heard_of_a_speech_that_was_cancelled_at_once(server):
    async with Client(server.url) as client:
        speech = client.speak("Never heard.")
        assert speech.cancel() == 0
        assert [frame async for frame in speech] == []
        assert speech.heard_text == ""


async def test_a_cancel_stops_the_model_that_writes_and_the_engine_that_speaks(server):
    stopped = asyncio.Event()

    async def endless():
        try:
            while True:
                yield "and so on, "
                await asyncio.sleep(0)
        finally:
            stopped.set()

    async with Client(server.url) as client:
        speech = client.speak(endless())
        async for _ in speech:
            break
        speech.cancel()
        async with asyncio.timeout(WAIT_S):
            await stopped.wait()
        await eventually(lambda: server.pool.stats.busy == 0)
