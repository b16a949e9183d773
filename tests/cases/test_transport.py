"""
Faults of WebSocket stacks and streaming servers that their users have reported, against a real server on a
real socket: frames that no client should send, reports that lie, clocks that jump, listeners who never
answer.
"""

import asyncio
import base64
import contextlib
import math
import os
import struct
import time
import zlib

import msgpack
import numpy as np
import pytest

from abr_tts.client import Client
from abr_tts.engine.tone import Options, expected
from abr_tts.wire import messages as m

from ..server.harness import eventually, peer, serving, serving_in_a_thread

RATE = 22_050
TEXT = "x" * 60


@pytest.fixture(scope="module")
def server():
    with serving_in_a_thread(engine__workers=2) as made:
        yield made


@pytest.fixture
def url(server):
    return server.url


def tone(text: str) -> np.ndarray:
    return expected(text, options=Options(rate=RATE))


# ---- bytes that no WebSocket client should send


def frame(payload: bytes, *, first: int = 0x82, masked: bool = True) -> bytes:
    """A WebSocket frame (RFC 6455, 5.2) of less than 126 bytes; the mask is 0."""
    return bytes([first, (0x80 if masked else 0) | len(payload)]) + bytes(4 if masked else 0) + payload


@contextlib.asynccontextmanager
async def raw(port: int, *headers: str):
    """A bare TCP connection that has upgraded and said hello: reader, writer, the response's head."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [
        "GET /v1/stream HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket", "Connection: Upgrade",
        f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Protocol: abr-tts.v1", *headers, "", "",
    ]  # fmt: skip
    writer.write("\r\n".join(lines).encode())
    head = await reader.readuntil(b"\r\n\r\n")
    writer.write(frame(msgpack.packb({"type": "hello"})))
    try:
        yield reader, writer, head
    finally:
        writer.close()


async def answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The next frame: its first byte, its payload."""
    first, size = await reader.readexactly(2)
    if size == 126:
        size = struct.unpack("!H", await reader.readexactly(2))[0]
    return first, await reader.readexactly(size)


PING = msgpack.packb({"type": "ping", "value": 7})


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (frame(PING, first=0xC2), 1002),
        (frame(PING, first=0x92), 1002),
        (frame(PING, first=0x83), 1002),
        (frame(PING, first=0x80), 1002),
        (frame(PING, first=0x09), 1002),
        (frame(struct.pack("!H", 999), first=0x88), 1002),
        (b"\x82\xff" + struct.pack("!Q", 2**62) + bytes(4), 1009),
        (b"GET / HTTP/1.1\r\n\r\n", 1002),
    ],
    ids=["compressed", "reserved", "opcode 3", "nothing to go on", "cut ping", "close 999", "2^62", "http"],
)
async def test_a_frame_that_breaks_the_websocket_is_closed_and_others_speak_on(server, data, code):
    async with raw(server.port) as (reader, writer, _), peer(server.url) as other:
        assert (await answer(reader))[0] == 0x82  # welcome
        writer.write(data)
        first, payload = await answer(reader)
        assert (first, struct.unpack("!H", payload[:2])[0]) == (0x88, code)
        started = await other.start("still here", rung="pcm22")
        assert np.array_equal(await other.whole_pcm(started.stream), tone("still here"))


@pytest.mark.parametrize(
    "offer",
    [
        "permessage-deflate; client_max_window_bits",
        "x-webkit-deflate-frame, permessage-deflate; server_no_context_takeover; server_max_window_bits=8",
    ],
)
async def test_deflate_is_refused_and_a_frame_that_uses_it_anyway_is_closed(server, offer):
    squeeze = zlib.compressobj(wbits=-15)
    squeezed = squeeze.compress(PING) + squeeze.flush(zlib.Z_SYNC_FLUSH)
    async with raw(server.port, f"Sec-WebSocket-Extensions: {offer}") as (reader, writer, head):
        assert b"101" in head and b"extensions" not in head.lower()
        first, _ = await answer(reader)
        assert first == 0x82, "sent as it is"
        writer.write(frame(squeezed[:-4], first=0xC2))
        first, payload = await answer(reader)
        assert (first, payload[:2]) == (0x88, struct.pack("!H", 1002))


async def test_fragments_that_never_end_are_cut_off_at_the_limit(server):
    piece = b"\x00\xfe" + struct.pack("!H", 60_000) + bytes(4 + 60_000)
    async with raw(server.port) as (reader, writer, _):
        await answer(reader)
        writer.write(b"\x02" + piece[1:])
        with contextlib.suppress(ConnectionError):  # it is cut off in the middle
            for _ in range(40):
                writer.write(piece)
                await writer.drain()
        with contextlib.suppress(ConnectionError):
            assert (await answer(reader))[1][:2] == struct.pack("!H", 1009)
        await eventually(lambda: not server._front.sessions)


# ---- reports that lie, and none at all


LIES = {
    "a rate that cannot be": (0, [], 5, math.inf, math.nan, 7.0),
    "no time at all": (0, [], 0, 1e9, 0, 0),
    "an hour of round trip": (0, [], 3_600_000, 0, 1e300, -7),
    "an endless buffer": (10**12, [[65_535, 2**32 - 1]] * 16, -1, -1, -1, 0, 2**63, 2**63, True, True),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
async def test_a_stream_that_adapts_comes_whole_whatever_the_listener_claims(url, lie):
    async with peer(url) as client:
        for claim in (lambda: (client.received, 0), lambda: (2**53, 2**32 - 1), lambda: (0, 0)):
            started = await client.start(TEXT)

            async def lie_at_every_message(started=started, claim=claim):
                seen = 0
                while not client.of(m.StreamEnd, stream=started.stream):
                    seen = await client.until(
                        lambda seen=seen: len(client.messages) > seen and len(client.messages)
                    )
                    await client.socket.send_bytes(msgpack.packb([2, started.stream, *claim(), *lie]))

            await lie_at_every_message()
            end = client.of(m.StreamEnd, stream=started.stream)[0]
            assert (end.reason, end.length) == ("done", len(tone(TEXT)))
            assert bank_frames(client, started.stream) == set(range(math.ceil(end.length / 441)))
        assert client.of(m.Error) == []
        started = await client.start("and now the truth", rung="pcm22")
        assert np.array_equal(await client.whole_pcm(started.stream), tone("and now the truth"))


def bank_frames(client, handle: int) -> set[int]:
    """The frames of rank 0 that came; pre-roll left out. Two tracks of it share the frame of their fade."""
    bank = {track.track for track in client.of(m.Track, stream=handle) if track.rank == 0}
    firsts = [
        (audio.pts // 960, len(audio.packets))
        for audio in client.of(m.Audio, stream=handle)
        if audio.track in bank
    ]
    return {at + n for at, count in firsts for n in range(count) if at + n >= 0}


async def test_a_listener_who_never_reports_costs_a_bounded_memory_and_one_place():
    limits = {"stream__max_ahead_s": 5.0, "stream__linger_s": 0.1}
    async with serving(**limits) as server, peer(server.url, hints=False) as client:
        await client.start("one two three four five six seven. " * 20)
        (session,) = server._front.sessions
        (utterance,) = session._utterances.values()
        await eventually(lambda: utterance.core.produced >= 5 * RATE and server.pool.stats.busy == 0)
        assert not await client.closed_within(0.3)
        assert utterance.core.held_samples < 20 * RATE
        assert sum(len(packet) for held in utterance.core.retained for packet in held.packets) < 200_000
        async with peer(server.url) as other:
            started = await other.start("not held up", rung="pcm22")
            assert np.array_equal(await other.whole_pcm(started.stream), tone("not held up"))


# ---- clocks


async def test_nothing_depends_on_the_wall_clock(url, monkeypatch):
    jump = iter(range(10**9))
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 3600 * (-1) ** next(jump))
    async with Client(url) as client:
        speech = client.speak("x" * 10, rung="pcm22", realtime=True)
        assert np.array_equal(await speech.read(), tone("x" * 10))
        assert speech.stats.stalls == 0
        assert np.array_equal(await client.speak(TEXT, rung="pcm22").read(), tone(TEXT))


# ---- cancelled and paused at every stage


@pytest.mark.parametrize("rung", ["pcm22", "opus24", None])
async def test_a_stream_may_be_cancelled_at_every_message_of_its_life(server, rung):
    async with peer(server.url) as client:
        for after in range(1, 12):
            before = len(client.messages)
            request = m.StreamStart(f"00000000-0000-4000-8000-{os.urandom(6).hex()}", TEXT, rung=rung)
            await client.send(request)
            await client.until(lambda before=before, after=after: len(client.messages) >= before + after)
            await client.send(m.Cancel(request.stream_id), m.Cancel(request.stream_id), m.Ping(after))
            await client.first(m.Pong, value=after)
            handle = client.of(m.StreamStarted, stream_id=request.stream_id)[0].stream
            told = [item for item in client.messages[before:] if getattr(item, "stream", None) == handle]
            ends = [at for at, item in enumerate(told) if isinstance(item, m.StreamEnd)]
            assert len(ends) == 1 and all(isinstance(item, m.Error) for item in told[ends[0] + 1 :])
            assert all(error.scope == "nothing" for error in client.of(m.Error))
        await eventually(lambda: server.pool.stats.busy == 0)
        await eventually(lambda: not any(session._utterances for session in server._front.sessions))


async def test_a_cancel_in_the_same_breath_as_the_start_leaves_nothing(server):
    async with peer(server.url) as client:
        for number in range(20):
            request = m.StreamStart(f"00000000-0000-4000-8000-{number:012}", TEXT)
            await client.send(request, m.Cancel(request.stream_id))
        await client.send(m.Ping(1))
        await client.first(m.Pong, value=1)
        await eventually(lambda: server.pool.stats.busy == 0)
        await eventually(lambda: not any(session._utterances for session in server._front.sessions))
        await eventually(lambda: server._admission.streams == 0)


async def test_a_listener_who_pauses_for_ever_is_banked_for_up_to_the_limit_and_hears_on():
    limits = {"stream__max_ahead_s": 3.0, "stream__max_lead_s": 5.0}
    async with serving(**limits) as server, Client(server.url) as client:
        speech = client.speak("x" * 79 + ". " + ("y" * 99 + ". ") * 4, rung="opus24", realtime=True)
        frames = speech.__aiter__()
        for _ in range(10):
            await anext(frames)
        speech.pause()
        (session,) = server._front.sessions
        (utterance,) = session._utterances.values()
        await eventually(lambda: utterance.core.lead >= 4 * 48_000)
        assert utterance.core.lead <= 6 * 48_000
        assert utterance.core.produced < 20 * RATE
        speech.resume()
        for _ in range(5):
            assert len(await anext(frames)) == 441
        assert speech.stats.stalls == 0
        await frames.aclose()
