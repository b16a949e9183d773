"""
The gRPC door as an outsider finds it: stubs from the .proto alone, and a real server, on loopback.
"""

import asyncio
import contextlib
import uuid

import pytest

from abr_tts.demo.relay import Relay
from abr_tts.errors import ConfigError
from abr_tts.sim.scenario import steady
from abr_tts.units import FRAME_TICKS
from abr_tts.wire import messages as m

from .grpc.outsider import calling, grpc, serving_grpc
from .harness import eventually, peer, serving

TEXT = "one two three four five six seven eight nine ten eleven twelve. "
LONG = "x" * 100
"""Six seconds in one clause."""
SETTINGS = {"engine__clause_chars": 200, "engine__first_clause_chars": 200}
STATUS = grpc.StatusCode


def native_packets(client, handle: int) -> dict[tuple[int, int], bytes]:
    return {
        (audio.track, audio.pts + number * FRAME_TICKS): packet
        for audio in client.of(m.Audio, stream=handle)
        for number, packet in enumerate(audio.packets)
    }


def link(kbps: float):
    """A link that carries so much, 20 ms away."""
    return steady(kbps, delay_ms=10)


@contextlib.asynccontextmanager
async def relayed(server, kbps: float):
    """A link of so many kbit/s before the door, and where it begins."""
    relay = Relay(link(kbps), "127.0.0.1", int(server.grpc_target.rpartition(":")[2]))
    await relay.start()
    try:
        yield relay, f"127.0.0.1:{relay.port}"
    finally:
        relay.clear()
        await relay.stop()


# ---------------------------------------------------------------- speech


@pytest.mark.parametrize("rung", ["pcm22", "pcm16k", "opus24", "opus64"])
async def test_at_a_fixed_rung_every_packet_is_that_of_the_native_stream(rung):
    async with serving_grpc() as server:
        async with peer(server.url) as native:
            there = await native.start(TEXT, rung=rung)
            its_end = await native.first(m.StreamEnd, stream=there.stream)
        async with calling(server.grpc_target) as call:
            here = await call.start(TEXT, rung=rung)
            end = await call.first("stream_end", stream=here.stream)
    assert (here.rung, here.codec, here.sample_rate) == (rung, there.codec, there.sample_rate)
    assert (end.length, end.reason, end.codec) == (its_end.length, "done", its_end.codec)
    assert call.packets(here.stream) == native_packets(native, there.stream)
    told = native.of(m.Track, stream=there.stream)
    assert [(t.track, t.rank, t.rung, t.start, t.preroll) for t in told] == [
        (t[0], t[1], t[2], t[5], t[6]) for t in call.tracks(here.stream)
    ]


async def test_marks_and_text_in_pieces_come_as_on_the_web_socket():
    async with serving_grpc() as server, calling(server.grpc_target) as call:
        started = await call.start("One two. ", open=True, rung="pcm22")
        await call.send(text={"stream": started.stream, "text": "Three four. "})
        await call.send(text={"stream_id": started.stream_id, "text": "Füñf."}, text_end={"stream": 1})
        end = await call.first("stream_end")
        marks = [(mark.begin, mark.end) for mark in call.of("mark")]
    assert marks[0][0] == 0 and marks[-1][1] == len("One two. Three four. Füñf.")
    assert end.length == 22_050 * 60 * len("One two.Three four.Füñf.") // 1000


LOW = ("opus24", "opus16", "opus12")


async def test_a_link_that_falls_is_seen_by_reports_alone_and_the_switch_is_told_in_time_with_its_reason():
    options = {"rate": 22_050, "rtf": 0.3}
    async with (
        serving_grpc(engine__options=options) as server,
        relayed(server, 2000.0) as (relay, target),
        calling(target, level=0) as call,
    ):
        call.paced, call.rtt_ms = True, 20.0
        loop = asyncio.get_running_loop()
        await call.start(TEXT * 6)
        await call.until(lambda: [one for one in call.of("switch") if one.target not in LOW])
        up = call.of("switch")
        relay.steer(link(40.0))
        fell = loop.time()
        down = await call.until(lambda: [one for one in call.of("switch")[len(up) :] if one.target in LOW])
        took = loop.time() - fell
    assert took < 5.0, "what is on the way then is the cap, 2 s of a link that fell to a fiftieth"
    assert all(one.reason and one.at % FRAME_TICKS == 0 for one in [*up, *down])
    assert len(call.of("track")) == 1, "it is retuned in place"


async def test_without_reports_little_is_sent_and_the_engine_waits():
    async with (
        serving_grpc(stream__max_ahead_s=2) as server,
        calling(server.grpc_target, hints=False) as call,
    ):
        started = await call.start(TEXT * 20)
        await call.first("audio")
        await eventually(lambda: server.pool.stats.busy == 0)
        assert not call.of("stream_end")
        sound = sum(len(packet) for packet in call.packets(started.stream).values())
        assert sound < 60_000, "what a link is measured by, and a message or two"
        await call.send(cancel={"stream": started.stream})
        end = await call.first("stream_end")
    assert end.reason == "cancelled"


async def test_cancel_ends_the_stream_and_the_next_one_speaks_without_waiting_for_a_report():
    async with serving_grpc() as server, calling(server.grpc_target, hints=False) as call:
        first = await call.start(TEXT * 20)
        await call.first("audio")
        await call.send(cancel={"stream": first.stream})
        await call.first("stream_end", stream=first.stream, reason="cancelled")
        last = len(call.messages)
        second = await call.start("Another one.")
        await call.first("audio", stream=second.stream)
        assert not [one for one in call.messages[last:] if one.audio.stream == first.stream]
        await eventually(lambda: server.pool.stats.busy == 0)


async def test_pause_and_resume_and_ping_are_answered():
    async with serving_grpc() as server, calling(server.grpc_target) as call:
        started = await call.start(TEXT)
        await call.send(pause={"stream": started.stream}, resume={"stream": started.stream})
        await call.send(ping={"value": 2**53 - 1})
        await call.first("pong", value=2**53 - 1)
        await call.first("stream_end")
        assert not call.of("error")


# ---------------------------------------------------------------- resume


async def test_after_a_killed_call_another_gets_the_same_tracks_and_the_same_packets():
    async with serving_grpc(**SETTINGS) as server:
        async with calling(server.grpc_target, level=2) as whole:
            await whole.start(LONG, rung="opus64")
            end = await whole.first("stream_end")
        async with calling(server.grpc_target, level=2) as first:
            started = await first.start(LONG, rung="opus64")
            await first.until(lambda: len(first.packets(started.stream)) > 40)
            first.call.cancel()
            await asyncio.wait([first.task])
        await eventually(lambda: not server.door.sessions)
        held = first.packets(started.stream)
        ((track, at),) = {(max(t for t, _ in held), max(pts for _, pts in held) + FRAME_TICKS)}
        async with calling(server.grpc_target, level=2) as second:
            await second.send(
                attach={
                    "stream_id": started.stream_id, "token": started.token, "played": at,
                    "tracks": [{"track": track, "pts": at}],
                }
            )  # fmt: skip
            again = await second.first("stream_started")
            its_end = await second.first("stream_end")
        assert (again.token, again.chars) == (started.token, len(LONG))
        assert second.tracks(again.stream) == first.tracks(started.stream) == whole.tracks(1)
        rest = second.packets(again.stream)
        assert not held.keys() & rest.keys() and min(rest) == (track, at)
        assert held | rest == whole.packets(1)
        assert its_end.length == end.length


async def test_a_lost_line_is_resumed_as_a_cancelled_call_is():
    async with serving_grpc(**SETTINGS) as server:
        async with relayed(server, 2000.0) as (relay, target), calling(target, level=2) as first:
            started = await first.start(LONG, rung="pcm22")
            await first.first("audio")
            await relay.stop()
            await asyncio.wait([first.task])
        await eventually(lambda: not server.door.sessions)
        async with calling(server.grpc_target, level=2) as second:
            await second.send(attach={"stream_id": started.stream_id, "token": started.token})
            again = await second.first("stream_started")
            await second.first("stream_end")
            assert len(second.packets(again.stream)) == 300


async def test_a_client_that_half_closes_is_done_and_nothing_is_kept():
    async with serving_grpc(**SETTINGS) as server:
        # No reports: a write that loses to the status hides it.
        async with calling(server.grpc_target, level=2, hints=False) as call:
            started = await call.start(LONG, rung="pcm22")
            await call.call.done_writing()
            assert await call.ended() == (STATUS.OK, "")
        async with calling(server.grpc_target, level=2) as second:
            await second.send(attach={"stream_id": started.stream_id, "token": started.token})
            assert (await second.first("error")).code == "resume_lost"
        await eventually(lambda: server.pool.stats.busy == 0)


async def test_a_stream_may_begin_on_a_web_socket_and_go_on_over_grpc():
    async with serving_grpc(**SETTINGS) as server:
        async with peer(server.url, level=2) as native:
            started = await native.start(LONG, rung="pcm22")
            await native.until(lambda: native.of(m.Audio))
            native.socket._response.connection.transport.abort()
            await asyncio.wait([native.task])
        await eventually(lambda: not server.door.sessions)
        held = native_packets(native, started.stream)
        at = max(pts for _, pts in held) + FRAME_TICKS
        async with calling(server.grpc_target, level=2) as call:
            tracks = [{"track": 0, "pts": at}]
            await call.send(attach={"stream_id": started.stream_id, "token": started.token, "tracks": tracks})
            again = await call.first("stream_started")
            await call.first("stream_end")
    assert len(held) + len(call.packets(again.stream)) == 300


# ---------------------------------------------------------------- clips


async def test_a_clip_is_sent_up_and_said_again():
    options = {"rate": 16_000, "converts": True}
    async with serving_grpc(engine__options=options) as server, calling(server.grpc_target) as call:
        stream_id = str(uuid.uuid4())
        wish = {"stream_id": stream_id, "codec": "pcm16", "sample_rate": 16_000, "purpose": "conversion"}
        await call.send(audio_start=wish | {"rung": "pcm16k"})
        started = await call.first("stream_started", stream_id=stream_id)
        for number in range(10):
            packets = [bytes([number, 1] * 320)] * 5
            await call.send(uplink_audio={"stream": started.stream, "pts": number * 4800, "packets": packets})
        await call.send(text_end={"stream": started.stream})
        end = await call.first("stream_end")
        assert end.length == 16_000
        assert len(call.packets(started.stream)) == 50


# ---------------------------------------------------------------- what is configured


async def test_without_the_setting_nothing_listens():
    async with serving() as server:
        assert server.grpc_target is None


async def test_a_port_that_is_taken_is_refused_in_words():
    async with serving_grpc() as server:
        port = int(server.grpc_target.rpartition(":")[2])
        with pytest.raises(ConfigError, match=f"grpc.port: cannot listen on 127.0.0.1:{port}"):
            async with serving(grpc__enabled=True, grpc__port=port):
                pass
