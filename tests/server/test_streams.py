"""Speech through the whole server: complete, apart from each other, stoppable, survivable."""

import asyncio
import random
import uuid

import numpy as np
import pytest

from abr_tts.control.controller import MOST_OUTSTANDING_BYTES
from abr_tts.engine.text import Clauser
from abr_tts.engine.tone import Options, expected
from abr_tts.wire import messages as m

from .harness import eventually, peer, serving, serving_in_a_thread

RATE = Options(rate=22_050)
SENTENCE = "one two three four five six seven. "


@pytest.fixture(scope="module")
def server():
    # An idle flush would cut a text where a test happens to wait.
    quick = {"engine__first_chunk_s": 2.0, "engine__gap_s": 1.0, "engine__text_idle_s": 0}
    with serving_in_a_thread(engine__workers=3, limits__streams_per_connection=32, **quick) as made:
        yield made


@pytest.fixture
def url(server):
    return server.url


def clauses(text: str):
    clauser = Clauser(200, 80)
    return clauser.feed(text) + clauser.end()


def spoken(text: str, voice: str = "tone") -> np.ndarray:
    """What the engine makes of a text that is cut into clauses."""
    return np.concatenate([expected(clause.text, voice, options=RATE) for clause in clauses(text)])


async def test_every_sample_of_the_engine_arrives_once_and_in_order(url):
    async with peer(url) as client:
        started = await client.start(SENTENCE * 5, rung="pcm22")
        assert started.sample_rate == 22_050
        np.testing.assert_array_equal(await client.whole_pcm(started.stream), spoken(SENTENCE * 5))


async def test_text_that_comes_in_pieces_sounds_like_the_whole(url):
    async with peer(url) as client:
        started = await client.start("", open=True, rung="pcm22")
        text = SENTENCE * 3
        for at in range(0, len(text), 7):
            await client.send(m.Text(started.stream, text[at : at + 7]))
        await client.send(m.TextEnd(started.stream))
        np.testing.assert_array_equal(await client.whole_pcm(started.stream), spoken(text))


async def test_a_pair_of_surrogates_split_between_two_messages_is_joined_and_a_lone_one_harmless(url):
    async with peer(url) as client:
        started = await client.start("", open=True, rung="pcm22")
        for piece in ("smile \ud83d", "\ude00 and \ud83d", " go on", "\ude00"):
            await client.send(m.Text(started.stream, piece))
        await client.send(m.TextEnd(started.stream))
        text = "smile \U0001f600 and  go on"
        np.testing.assert_array_equal(await client.whole_pcm(started.stream), spoken(text))


async def test_marks_tell_where_each_clause_begins_in_text_and_sound(url):
    text = "First one. Second one is longer. 你好。"
    async with peer(url) as client:
        started = await client.start(text, rung="pcm22")
        await client.whole_pcm(started.stream)
        at, wanted = 0, []
        for clause in clauses(text):
            wanted.append((round(at * 48_000 / 22_050), clause.begin, clause.end))
            at += len(expected(clause.text, options=RATE))
        marks = client.of(m.Mark, stream=started.stream)
        assert [(mark.pts, mark.begin, mark.end) for mark in marks] == wanted
        assert [text[mark.begin : mark.end] for mark in marks] == [
            "First one.",
            "Second one is longer.",
            "你好。",
        ]


async def test_sixteen_streams_started_and_cancelled_at_random_never_share_a_sample(url):
    rng = random.Random(9)
    async with peer(url) as client:
        texts = {str(uuid.UUID(int=rng.getrandbits(128))): "x" * (3 + index * 4) for index in range(32)}
        pending, cancelled, ended = list(texts), set(), set()
        handles = {}

        async def begin():
            stream_id = pending.pop()
            started = await client.start(
                texts[stream_id], stream_id=stream_id, voice="tone-length", rung="pcm22"
            )
            handles[stream_id] = started.stream
            if rng.random() < 0.3:
                await client.send(m.Cancel(started.stream))
                cancelled.add(stream_id)

        await asyncio.gather(*(begin() for _ in range(16)))
        while pending:
            await begin()
        assert len(set(handles.values())) == 32
        for stream_id, handle in handles.items():
            end = await client.first(m.StreamEnd, stream=handle)
            heard = client.pcm(handle)
            whole = spoken(texts[stream_id], "tone-length")
            if end.reason == "done":
                ended.add(stream_id)
                assert end.length == len(whole)
            length = min(len(heard), len(whole))
            np.testing.assert_array_equal(heard[:length], whole[:length])
            assert not heard[length:].any()
        assert ended >= set(texts) - cancelled
        assert len(ended) >= 16


async def test_speech_at_two_rungs_on_one_connection_does_not_mix(url):
    async with peer(url) as client:
        opus, pcm = await client.start("x" * 40, rung="opus24"), await client.start("y" * 40, rung="pcm22")
        np.testing.assert_array_equal(await client.whole_pcm(pcm.stream), spoken("y" * 40))
        await client.first(m.StreamEnd, stream=opus.stream)
        sounding = client.of(m.Audio, stream=opus.stream)
        frames = sum(len(audio.packets) for audio in sounding)
        assert sounding[0].pts == -960
        assert frames == 1 + 40 * 3  # 60 ms a character, and the packet before the first


# ---- faults of the engine


@pytest.mark.parametrize(
    ("voice", "code"),
    [
        ("tone-die", "engine_lost"),
        ("tone-hang", "engine_timeout"),
        ("tone-raise", "engine_failed"),
        ("tone-thread", "engine_failed"),
        ("tone-refuse", "engine_failed"),
    ],
)
async def test_an_engine_that_fails_costs_its_own_stream_alone(server, voice, code):
    async with peer(server.url) as client, peer(server.url) as other:
        healthy = await other.start("", open=True, rung="pcm22")
        await other.send(m.Text(healthy.stream, SENTENCE))
        bad = await client.start("x" * 30, voice=voice, rung="pcm22")
        told = await client.first(m.Error, stream=bad.stream)
        assert (told.code, told.scope) == (code, "stream")
        await other.send(m.Text(healthy.stream, SENTENCE), m.TextEnd(healthy.stream))
        np.testing.assert_array_equal(await other.whole_pcm(healthy.stream), spoken(SENTENCE * 2))
        again = await client.start("well again", rung="pcm22")
        np.testing.assert_array_equal(await client.whole_pcm(again.stream), spoken("well again"))


@pytest.mark.parametrize("voice", ["tone-hot", "tone-nan", "tone-odd", "tone-empty", "tone-whole"])
async def test_chunks_of_every_kind_arrive_as_the_samples_they_should_be(url, voice):
    async with peer(url) as client:
        started = await client.start("x" * 40, voice=voice, rung="pcm22")
        np.testing.assert_array_equal(await client.whole_pcm(started.stream), spoken("x" * 40, voice))


# ---- cancel


async def test_a_cancel_stops_the_engine_within_a_chunk_and_nothing_follows_the_end():
    slow = {"rate": 22_050, "rtf": 1.0, "chunks": [441 * 3]}
    async with serving(engine__options=slow) as server, peer(server.url) as client:
        started = await client.start("x" * 400, rung="pcm22")
        await client.first(m.Audio)
        await client.send(m.Cancel(started.stream))
        end = await client.first(m.StreamEnd)
        assert end.reason == "cancelled"
        await eventually(lambda: server.pool.stats.busy == 0)
        samples = server.pool.stats.samples
        assert samples < 22_050 * 5  # of 24 s that the text lasts
        await client.send(m.Ping(1))
        await client.first(m.Pong)
        assert isinstance(client.messages[-1], m.Pong) and isinstance(client.messages[-2], m.StreamEnd)
        assert server.pool.stats.samples == samples
        assert (await client.start("next", rung="pcm22")).stream != started.stream


async def test_a_stream_that_waits_for_a_worker_can_be_cancelled():
    slow = {"rate": 22_050, "rtf": 1.0}
    all_at_once = {"limits__engine_share": 100}
    async with serving(engine__options=slow, **all_at_once) as server, peer(server.url) as client:
        first = await client.start("x" * 80, rung="pcm22")
        await client.first(m.Audio)
        second = await client.start("waits", rung="pcm22")
        await eventually(lambda: server.pool.stats.waiting == 1)
        await client.send(m.Cancel(second.stream))
        assert (await client.first(m.StreamEnd, stream=second.stream)).length == 0
        await eventually(lambda: server.pool.stats.waiting == 0)
        await client.send(m.Cancel(first.stream))
        await client.first(m.StreamEnd, stream=first.stream)


# ---- what is remembered


async def test_a_stream_that_was_heard_leaves_nothing_behind(url, server):
    async with peer(url) as client:
        started = await client.start("short", rung="pcm22")
        end = await client.first(m.StreamEnd)
        await client.hint(started.stream, round(end.length * 48_000 / 22_050))
        await eventually(lambda: not any(session._utterances for session in list(server._front.sessions)))


async def test_a_stream_whose_listener_never_reports_is_forgotten_after_its_time():
    async with serving(stream__linger_s=0.05) as server, peer(server.url, hints=False) as client:
        await client.start("short", rung="pcm22")
        await client.first(m.StreamEnd)
        (session,) = server._front.sessions
        assert session.active == 0
        await eventually(lambda: not session._utterances)  # 0.3 s of sound and 0.05 s; 30 s if it is not set


async def test_the_second_stream_of_a_connection_is_not_held_up_by_what_the_first_one_sent(url):
    async with peer(url) as client:
        for _ in range(4):  # 4 · 53 kB, each under the cap of what may be outstanding
            started = await client.start("x" * 20, rung="pcm22")
            await client.whole_pcm(started.stream)


async def test_a_speech_that_follows_a_cancelled_one_does_not_wait_for_a_report(url):
    async with peer(url, hints=False) as client:
        first = await client.start(SENTENCE * 8, rung="pcm22")
        await client.until(lambda: client.received > MOST_OUTSTANDING_BYTES - 4_500)  # no more goes
        await client.send(m.Cancel(first.stream))
        second = await client.start("next", rung="pcm22")
        np.testing.assert_array_equal(await client.whole_pcm(second.stream), spoken("next"))
