"""
Streams that go on at another connection: who may, what is told, what is held meanwhile, what is not.
"""

import asyncio
import os
import signal
import uuid

import numpy as np
import pytest

from abr_tts.audio.pcm import decode_pcm16
from abr_tts.engine.tone import Options, converted, expected
from abr_tts.units import FRAME_TICKS
from abr_tts.wire import messages as m

from .clips import begin as clip
from .clips import conversion, messages, noise, pcm_packets
from .harness import WAIT_S, Peer, eventually, peer, serving

RATE = 22_050
FRAME = RATE // 50
LONG = "x" * 100
"""Six seconds in one clause."""
SETTINGS = {"engine__clause_chars": 200, "engine__first_clause_chars": 200}


def tone(text: str) -> np.ndarray:
    return expected(text, options=Options(rate=RATE))


async def cut(client: Peer) -> None:
    """The cable is pulled: no close, no word."""
    client.socket._response.connection.transport.abort()
    await asyncio.wait([client.task])


def attach(started: m.StreamStarted, at: int = 0, token: str | None = None) -> m.Attach:
    """Go on from `at`, where all before it was played."""
    return m.Attach(started.stream_id, token or started.token, ((0, at),) if at else (), at)


def rest(client: Peer, started: m.StreamStarted, token: str | None = None) -> m.Attach:
    """Go on from what this client got last."""
    return attach(started, next_pts(client, started.stream), token)


async def begun(client: Peer, text: str = LONG, frames: int = 50, **fields) -> m.StreamStarted:
    """A stream at `pcm22` of which so many frames have come."""
    started = await client.start(text, rung="pcm22", **fields)
    await client.until(lambda: next_pts(client, started.stream) >= frames * FRAME_TICKS)
    return started


def next_pts(client: Peer, handle: int) -> int:
    audio = client.of(m.Audio, stream=handle)
    return audio[-1].pts + len(audio[-1].packets) * FRAME_TICKS if audio else 0


async def lost(server) -> None:
    """Until the server has noticed that a connection is gone."""
    await eventually(lambda: not server._front.sessions)


def samples(client: Peer, handle: int) -> np.ndarray:
    packets = [packet for audio in client.of(m.Audio, stream=handle) for packet in audio.packets]
    return np.concatenate([decode_pcm16(packet) for packet in packets])


async def metric(server, name: str, **labels: str) -> float:
    return server.metrics.registry.get_sample_value(name, labels) or 0.0


async def test_a_stream_goes_on_from_the_packet_that_its_listener_lacks():
    async with serving(**SETTINGS) as server:
        async with peer(server.url, level=2) as first:
            started = await begun(first)
            await cut(first)
            await lost(server)
        at = next_pts(first, started.stream)
        async with peer(server.url, level=2) as second:
            await second.start("another takes the handle 1", open=True)
            await second.send(attach(started, at))
            again = await second.first(m.StreamStarted, stream_id=started.stream_id)
            end = await second.first(m.StreamEnd, stream=again.stream)
            assert (again.stream, again.token, again.chars) == (2, started.token, len(LONG))
            assert (again.codec, again.rung, again.voice) == (started.codec, started.rung, started.voice)
            audio = second.of(m.Audio, stream=again.stream)
        assert audio[0].pts == at
        heard = np.concatenate([samples(first, started.stream), samples(second, again.stream)])
        assert np.array_equal(heard[: end.length], tone(LONG))
        assert await metric(server, "abr_tts_resumes_total", result="resumed") == 1
        assert await metric(server, "abr_tts_streams_started_total") == 2


async def test_without_a_connection_the_engine_goes_on_to_its_limit_and_the_stream_counts():
    async with serving(
        **SETTINGS, stream__max_ahead_s=2, engine__options={"rate": RATE, "rtf": 0.2}
    ) as server:
        async with peer(server.url, level=2) as first:
            started = await begun(first, "x" * 20 + ". " + LONG + ". " + LONG + ".", frames=5)
            await cut(first)
        await lost(server)
        assert server._admission.streams == 1
        assert len(server._resumption.shelf) == 1
        (utterance,) = server._resumption.detached
        await eventually(lambda: utterance.core.produced > 2 * RATE and server.pool.stats.busy == 0)
        assert utterance.core.produced < (2 + 6.2) * RATE, "one clause beyond the limit"
        assert utterance.held_bytes >= 2 * utterance.core.held_samples > 0
        told = [one for one in server.door.told() if one["id"] == started.stream_id[:8]]
        assert len(told) == 1
        assert await metric(server, "abr_tts_detached_streams") == 1
        assert await metric(server, "abr_tts_detached_bytes") == utterance.held_bytes


async def test_a_stream_that_nobody_comes_back_for_is_over_when_its_window_is():
    async with serving(**SETTINGS, resume__window_s=0.2) as server:
        async with peer(server.url, level=2) as first:
            started = await begun(first, (LONG + ". ") * 10, frames=5)
            await cut(first)
        await eventually(lambda: (server._admission.streams, server.pool.stats.busy) == (0, 0))
        assert await metric(server, "abr_tts_streams_unresumed_total", limit="window") == 1
        assert await metric(server, "abr_tts_streams_ended_total", reason="lost") == 1
        async with peer(server.url, level=2) as second:
            await second.send(rest(first, started))
            assert (await second.first(m.Error)).code == "resume_lost"
            await second.send(m.StreamStart(started.stream_id, LONG))
            assert await second.first(m.Error, code="duplicate_stream"), "and is never spoken again"
        assert await metric(server, "abr_tts_resumes_total", result="lost") == 1


async def test_of_more_streams_than_are_kept_the_first_lost_go():
    async with serving(**SETTINGS, resume__streams=2) as server:
        tokens = []
        for _ in range(3):
            async with peer(server.url, level=2) as client:
                tokens.append(rest(client, await begun(client, frames=5)))
                await cut(client)
            await lost(server)
        assert await metric(server, "abr_tts_streams_unresumed_total", limit="streams") == 1
        async with peer(server.url, level=2) as client:
            await client.send(*tokens)
            await client.until(lambda: len(client.of(m.StreamStarted)) == 2)
            assert [error.stream_id for error in client.of(m.Error)] == [tokens[0].stream_id]


@pytest.mark.parametrize("window", [0, 60])
@pytest.mark.parametrize("level", [1, 2])
async def test_only_a_client_that_can_resume_has_its_streams_kept_and_only_where_that_is_set(window, level):
    async with serving(**SETTINGS, resume__window_s=window) as server:
        async with peer(server.url, level=level) as client:
            await begun(client, frames=5)
            await cut(client)
        await lost(server)
        assert len(server._resumption.shelf) == (1 if window and level == 2 else 0)
        assert server._admission.streams == len(server._resumption.shelf)


@pytest.mark.parametrize(("code", "kept"), [(1000, 0), (1001, 0), (1006, 1), (1011, 1), (4008, 1)])
async def test_a_client_that_says_goodbye_leaves_nothing(code, kept):
    async with serving(**SETTINGS) as server:
        async with peer(server.url, level=2) as client:
            await begun(client, frames=5)
            await (cut(client) if code == 1006 else client.socket.close(code=code))
        await lost(server)
        assert len(server._resumption.shelf) == kept


@pytest.mark.parametrize(("bad", "kept"), [(b"\xc1", 0), (b"\0" * 9000, 0)])
async def test_a_client_that_breaks_the_rules_leaves_nothing(bad, kept):
    async with serving(**SETTINGS, limits__message_bytes=8192) as server:
        async with peer(server.url, level=2) as client:
            await begun(client, frames=5)
            await client.socket.send_bytes(bad)
            assert await client.closed() in (1008, 1009)
        await lost(server)
        assert len(server._resumption.shelf) == kept


async def test_a_client_that_fell_silent_may_come_back():
    async with serving(**SETTINGS, limits__ping_s=0.5, limits__idle_timeout_s=2.0) as server:
        async with peer(server.url, level=2, hints=False) as client:
            await begun(client, frames=5)
            assert await client.closed() == 1008
        await lost(server)
        assert len(server._resumption.shelf) == 1


async def test_a_wrong_token_is_refused_and_the_right_one_still_welcome():
    async with serving(**SETTINGS) as server:
        async with peer(server.url, level=2) as first:
            started = await begun(first, frames=5)
            await cut(first)
        await lost(server)
        async with peer(server.url, level=2) as second:
            for token in ("x", started.token[:-1], started.token + "x", "\u00fc" * 22):
                before = len(second.of(m.Error))
                await second.send(rest(first, started, token))
                await second.until(lambda before=before: len(second.of(m.Error)) > before)
            assert {error.code for error in second.of(m.Error)} == {"resume_refused"}
            assert await metric(server, "abr_tts_resumes_total", result="refused") == 4
            await second.send(rest(first, started))
            assert await second.first(m.StreamStarted)


async def test_another_key_may_not_attach():
    keys = {"auth__keys": ("anna:one", "berta:two")}
    async with serving(**SETTINGS, **keys) as server:
        async with peer(server.url, level=2, headers={"Authorization": "Bearer one"}) as first:
            started = await begun(first, frames=5)
            await cut(first)
        await lost(server)
        async with peer(server.url, level=2, headers={"Authorization": "Bearer two"}) as second:
            await second.send(rest(first, started))
            assert (await second.first(m.Error)).code == "resume_refused"
        async with peer(server.url, level=2, headers={"Authorization": "Bearer one"}) as third:
            await third.send(rest(first, started))
            assert await third.first(m.StreamStarted)


async def test_of_two_claimants_the_later_has_the_stream_and_the_other_is_told():
    async with serving(**SETTINGS) as server, peer(server.url, level=2) as first:
        started = await begun(first, frames=20)
        async with peer(server.url, level=2, hints=False) as second, peer(server.url, level=2) as third:
            at = next_pts(first, started.stream)
            await second.send(attach(started, at))
            assert (await first.first(m.Error, scope="stream")).code == "resume_refused"
            again = await second.first(m.StreamStarted)
            told = next_pts(second, again.stream)
            await third.send(attach(started, at))
            assert (await second.first(m.Error, scope="stream")).code == "resume_refused"
            last = await third.first(m.StreamStarted)
            end = await third.first(m.StreamEnd, stream=last.stream)
            heard = samples(first, started.stream)[: at // FRAME_TICKS * FRAME]
            heard = np.concatenate([heard, samples(third, last.stream)])
            assert np.array_equal(heard[: end.length], tone(LONG))
            assert told >= 0 and server.pool.stats.samples < 1.1 * len(tone(LONG)), "spoken once"


async def test_two_claimants_at_the_same_moment_get_one_stream_between_them():
    async with serving(**SETTINGS) as server:
        async with peer(server.url, level=2) as first:
            started = await begun(first, frames=20)
            await cut(first)
        await lost(server)
        async with peer(server.url, level=2) as one, peer(server.url, level=2) as two:
            await asyncio.gather(*(claimant.send(rest(first, started)) for claimant in (one, two)))
            ended = await eventually(lambda: [c for c in (one, two) if c.of(m.StreamEnd)])
            assert len(ended) == 1
            (loser,) = [claimant for claimant in (one, two) if claimant not in ended]
            await loser.first(m.Error)
            assert [error.code for error in loser.of(m.Error)] == ["resume_refused"]


async def test_attaching_twice_on_one_connection_ends_nothing():
    async with serving(**SETTINGS) as server:
        async with peer(server.url, level=2) as first:
            started = await begun(first, frames=5)
            await cut(first)
        await lost(server)
        async with peer(server.url, level=2) as second:
            await second.send(*[rest(first, started)] * 2)
            error = await second.first(m.Error)
            assert (error.code, error.scope) == ("duplicate_stream", "nothing")
            assert await second.first(m.StreamEnd)


async def test_two_starts_with_one_name_at_the_same_moment_are_one_synthesis():
    async with serving(**SETTINGS, engine__workers=2) as server:
        name = str(uuid.uuid4())
        async with peer(server.url, level=2) as one, peer(server.url, level=2) as two:
            request = m.StreamStart(name, LONG, rung="pcm22")
            await asyncio.gather(one.send(request), two.send(request))
            winner = await eventually(lambda: next((c for c in (one, two) if c.of(m.StreamEnd)), None))
            (loser,) = {one, two} - {winner}
            assert (await loser.first(m.Error)).code == "duplicate_stream"
            assert np.array_equal(await winner.whole_pcm(1), tone(LONG))
        assert server.pool.stats.samples == len(tone(LONG))


async def test_a_start_that_is_repeated_after_a_break_is_refused_and_the_stream_can_be_attached():
    async with serving(**SETTINGS) as server:
        async with peer(server.url, level=2) as first:
            started = await begun(first, frames=5)
            await cut(first)
        await lost(server)
        async with peer(server.url, level=2) as second:
            assert (await second.refused(LONG, stream_id=started.stream_id)).code == "duplicate_stream"
            await second.send(rest(first, started))
            await second.first(m.StreamEnd)
        assert server.pool.stats.samples == len(tone(LONG))


async def test_text_goes_on_behind_what_the_server_has():
    async with serving(**SETTINGS) as server:
        async with peer(server.url, level=2) as first:
            started = await begun(first, "First. ", frames=5, open=True)
            await first.send(m.Text(started.stream, "Sec\U0001f600nd \ud83d"))
            (session,) = server._front.sessions
            (utterance,) = session._utterances.values()
            await eventually(lambda: utterance._making._reading._chars == len("First. Sec_nd "))
            await cut(first)
        await lost(server)
        async with peer(server.url, level=2) as second:
            await second.send(rest(first, started))
            again = await second.first(m.StreamStarted)
            assert again.chars == len("First. Sec_nd ")
            await second.send(m.Text(again.stream, "\U0001f600 end."), m.TextEnd(again.stream))
            await second.first(m.StreamEnd)
            marks = second.of(m.Mark)
        assert max(mark.end for mark in marks) == len("First. Sec_nd _ end.")


async def test_a_fault_without_a_connection_is_told_to_whoever_comes_back():
    async with serving(**SETTINGS, engine__options={"rate": RATE, "rtf": 1.0}) as server:
        async with peer(server.url, level=2) as first:
            started = await begun(first, frames=2)
            await cut(first)
        await lost(server)
        os.kill(server.pool.pids[0], signal.SIGKILL)
        await eventually(lambda: server._admission.streams == 0)
        async with peer(server.url, level=2) as second:
            await second.send(rest(first, started))
            error = await second.first(m.Error)
            assert (error.code, error.scope, error.stream_id) == ("engine_lost", "stream", started.stream_id)
        assert len(server._resumption.shelf) == 0


async def test_a_listener_who_wants_what_was_freed_is_told_and_may_ask_right():
    async with serving(**SETTINGS) as server:
        async with peer(server.url, level=2) as first:
            started = await begun(first, frames=50)
            (session,) = server._front.sessions
            (utterance,) = session._utterances.values()
            await eventually(lambda: utterance.core.played > 20 * FRAME_TICKS)
            await cut(first)
        await lost(server)
        at = next_pts(first, started.stream)
        async with peer(server.url, level=2) as second:
            await second.send(m.Attach(started.stream_id, started.token, ((0, 0),)))
            assert (await second.first(m.Error)).code == "resume_lost"
            await second.send(attach(started, at))
            assert await second.first(m.StreamEnd)


async def test_nothing_is_kept_of_a_server_that_stops():
    async with serving(**SETTINGS, server__drain_s=60) as server:
        async with peer(server.url, level=2) as first, peer(server.url, level=2) as second:
            await begun(first, frames=5)
            await cut(first)
            await eventually(lambda: len(server._resumption.shelf) == 1)
            await begun(second, (LONG + ". ") * 50, frames=5)
            draining = asyncio.ensure_future(server.drain())
            await second.first(m.GoingAway)
            assert len(server._resumption.shelf) == 0
            await cut(second)
            await asyncio.wait_for(draining, WAIT_S)  # which is less than it may take for who is there
            assert len(server._resumption.shelf) == server._admission.streams == 0
        assert await metric(server, "abr_tts_streams_unresumed_total", limit="stop") == 1


async def test_a_recording_goes_on_over_the_break_and_replays_bit_for_bit(tmp_path):
    from abr_tts.sim.replay import replay
    from abr_tts.trace import read

    async with serving(**SETTINGS, record__dir=str(tmp_path)) as server:
        async with peer(server.url, level=2) as first:
            started = await first.start(LONG)
            await first.until(lambda: next_pts(first, started.stream) > 20 * FRAME_TICKS)
            await cut(first)
        await lost(server)
        wanted = {audio.track: audio.pts + len(audio.packets) * FRAME_TICKS for audio in first.of(m.Audio)}
        async with peer(server.url, level=2) as second:
            await second.send(m.Attach(started.stream_id, started.token, tuple(wanted.items())))
            end = await second.first(m.StreamEnd)
            await second.hint(end.stream, end.length * 48_000 // RATE + 960)
            await eventually(
                lambda: (
                    server._front.sessions
                    and not any(session._utterances for session in server._front.sessions)
                )
            )
    (path,) = tmp_path.iterdir()
    lines = path.read_text().splitlines(keepends=True)
    assert (
        sum('"in":"detach"' in line for line in lines) == sum('"in":"attach"' in line for line in lines) == 1
    )
    assert replay(read(lines, path.name)).difference is None


async def test_a_conversion_goes_on_as_any_speech():
    options = {"rate": 16_000, "converts": True}
    sound = noise(100)
    async with serving(engine__options=options) as server:
        async with peer(server.url, level=2) as first:
            started = await clip(first, conversion(rung="pcm16k", voice="tone"))
            await first.send(*messages(started.stream, pcm_packets(sound, 16_000)), m.TextEnd(started.stream))
            await first.until(lambda: next_pts(first, started.stream) >= 10 * FRAME_TICKS)
            await cut(first)
        await lost(server)
        async with peer(server.url, level=2) as second:
            await second.send(rest(first, started))
            again = await second.first(m.StreamStarted)
            end = await second.first(m.StreamEnd)
            assert again.chars == 0
            heard = np.concatenate([samples(first, started.stream), samples(second, again.stream)])
            assert np.array_equal(heard[: end.length], converted(sound, options=Options(rate=16_000)))


async def test_a_clip_that_was_not_sent_to_its_end_is_lost_with_its_connection():
    async with serving(engine__options={"rate": 16_000, "converts": True}) as server:
        async with peer(server.url, level=2) as first:
            started = await clip(first, conversion(voice="tone"))
            await cut(first)
        await lost(server)
        async with peer(server.url, level=2) as second:
            await second.send(attach(started))
            assert (await second.first(m.Error)).code == "resume_lost"
        assert server._admission.streams == 0
