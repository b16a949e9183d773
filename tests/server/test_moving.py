"""Speech that cannot end before its server stops: it ends with a clause, and goes on at another server."""

import asyncio
import contextlib
import os
import signal
import uuid

import aiohttp
import numpy as np
import pytest

from abr_tts.server.app import Server
from abr_tts.wire import messages as m

from .harness import Peer, eventually, peer, serving
from .test_drain import flags
from .test_reload import ready, running

RATE = 22_050
SENTENCE = "xxxxxxxxx. "
CLAUSES = {"engine__clause_chars": 12, "engine__first_clause_chars": 12, "stream__max_ahead_s": 2}
"""A sentence is a clause, of some 0.6 s, and little is made ahead: most of a text is not with the engine."""

SOON = CLAUSES | {"server__drain_s": 2.0, "limits__close_timeout_s": 0.2}
"""Streams are moved after half a second."""


@contextlib.asynccontextmanager
async def stopping(server: Server):
    """It drains while the block runs."""
    draining = asyncio.ensure_future(server.drain())
    try:
        yield
    finally:
        await draining


async def ended(client: Peer, started: m.StreamStarted) -> m.StreamEnd:
    return await client.first(m.StreamEnd, stream=started.stream)


async def test_a_long_speech_ends_with_a_clause_and_goes_on_elsewhere_without_a_word_lost_or_said_twice():
    text = SENTENCE * 40
    paced = SOON | {"engine__options": {"rate": RATE, "rtf": 0.1}}
    async with serving(**paced) as server, serving(**CLAUSES) as other:
        async with peer(server.url, level=2) as client, peer(other.url) as elsewhere:
            started = await client.start(text, rung="pcm22")
            await client.first(m.Audio)
            async with stopping(server):
                end = await ended(client, started)
            assert end.reason == m.MOVED and 0 < end.chars < len(text)
            first = await client.whole_pcm(started.stream)
            marks = client.of(m.Mark, stream=started.stream)
            assert marks[-1].end == end.chars, "at the end of the clause that was told last"
            rest = await elsewhere.start(text[end.chars :], rung="pcm22")
            second = await elsewhere.whole_pcm(rest.stream)
            unbroken = await elsewhere.start(text, rung="pcm22")
            whole = await elsewhere.whole_pcm(unbroken.stream)
        assert np.array_equal(np.concatenate([first, second]), whole)


async def test_a_speech_whose_text_is_with_the_engine_ends_as_any_other():
    slow = SOON | {"engine__options": {"rate": RATE, "rtf": 1.5}}
    async with serving(**slow) as server, peer(server.url, level=2) as client:
        started = await client.start(SENTENCE, rung="pcm22")
        async with stopping(server):
            end = await ended(client, started)
        assert (end.reason, end.chars) == ("done", 0)


async def test_text_that_still_comes_is_ignored_and_hurts_nothing():
    async with serving(**SOON) as server, peer(server.url, level=2, hints=False) as client:
        started = await client.start(SENTENCE, open=True, rung="pcm22")
        await client.first(m.Audio)
        async with stopping(server):
            end = await ended(client, started)
            assert end.reason == m.MOVED
            assert SENTENCE[end.chars :].strip() == ""
            await client.send(m.Text(started.stream, SENTENCE), m.TextEnd(started.stream), m.Ping(7))
            await client.first(m.Pong, value=7)
        assert client.of(m.Error) == []


async def test_what_the_engine_has_not_begun_is_sent_away():
    slow = SOON | {"engine__options": {"rate": RATE, "rtf": 1.0}}
    async with serving(**slow) as server, peer(server.url, level=2) as client:
        first = await client.start(SENTENCE * 3, rung="pcm22")
        waits = await client.start(SENTENCE, rung="pcm22")
        async with stopping(server):
            told = await client.first(m.Error, stream=waits.stream, scope="stream")
            assert (told.code, told.retry_after) == ("busy", 0.0)
            assert (await ended(client, first)).reason == m.MOVED


async def test_a_client_that_cannot_go_on_elsewhere_keeps_its_speech_to_the_end():
    async with serving(**SOON) as server, peer(server.url, level=1, hints=False) as client:
        started = await client.start(SENTENCE * 40, rung="pcm22")
        await client.first(m.Audio)
        async with stopping(server):
            pass
        await server.stop()
        assert await client.closed() == 1012
        assert client.of(m.StreamEnd, stream=started.stream) == []


async def test_a_cancel_after_the_move_is_a_cancel():
    async with serving(**SOON) as server, peer(server.url, level=2, hints=False) as client:
        started = await client.start(SENTENCE * 40, rung="pcm22")
        await client.first(m.Audio)
        (session,) = server._front.sessions
        session.move()
        await client.send(m.Cancel(started.stream))
        assert (await ended(client, started)).reason == "cancelled"


# ---- signals, with a real process


async def test_a_program_that_is_told_to_stop_moves_a_long_speech_and_ends_in_its_time():
    settings = CLAUSES | {"server__drain_s": 4.0, "limits__close_timeout_s": 1.0, "engine__options__rtf": 0.1}
    text = SENTENCE * 200  # 13 s of the engine's work
    async with running(*flags(**settings)) as server, peer(server.url, level=2) as client:
        started = await client.start(text, rung="opus24")
        await client.first(m.Audio)
        server.process.send_signal(signal.SIGTERM)
        assert (await client.first(m.GoingAway)).deadline_ms == 2000
        end = await ended(client, started)
        assert (end.reason, 0 < end.chars < len(text)) == (m.MOVED, True)
        assert end.chars == client.of(m.Mark)[-1].end
        assert await client.closed() == 1012
        assert await asyncio.wait_for(server.process.wait(), 4.0) == 0


def children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return [int(word) for word in file.read().split()]


def lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_hurries_and_a_third_kills_at_once_with_the_engine(number):
    settings = flags(server__drain_s=600, limits__close_timeout_s=100)
    async with running(*settings) as server, peer(server.url, hints=False) as client:
        await client.start("x" * 200, rung="pcm22", stream_id=str(uuid.uuid4()))
        await client.first(m.Audio)
        workers = await eventually(lambda: children(server.process.pid))
        client.stop_reading()
        server.process.send_signal(number)
        await server.read("stopping")
        server.process.send_signal(number)
        async with asyncio.timeout(10):
            while True:  # no connection is taken any more: it stops, and waits for who does not read
                try:
                    await ready(server)
                except (OSError, aiohttp.ClientError):
                    break
        assert server.process.returncode is None
        server.process.send_signal(number)
        assert await asyncio.wait_for(server.process.wait(), 20.0) == -number
        await eventually(lambda: not any(lives(pid) for pid in workers))
