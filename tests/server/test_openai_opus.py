"""Opus at the door adapts: one encoder follows the connection of a client that knows nothing of it."""

import asyncio
import json
import socket

import numpy as np
import pytest

from abr_tts.sim.replay import replay
from abr_tts.trace import read

from .doors.world import counted
from .harness import eventually
from .openai_world import SPEECH, asking, decoded, pages, said, wish

LONG = ". ".join(["This goes on and on, and has nothing to say"] * 90)[:4_096]
SIP_S = 0.05
"""Seconds between two sips of a slow reader."""


class Slow:
    """A client of HTTP that reads so many bits a second, with next to no buffer of its own."""

    def __init__(self, port: int, body: dict) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setblocking(False)
        data = json.dumps(body).encode()
        head = f"POST {SPEECH} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n"
        self.socket.sendall(head.encode() + data)
        self.raw = b""

    async def read(self, kbps: float, seconds: float) -> float:
        """For so long at this rate; the bitrate of the Opus that came, kbit/s."""
        loop, before = asyncio.get_running_loop(), len(self.opus())
        end, allowed = loop.time() + seconds, 0.0
        while loop.time() < end:
            allowed += kbps * 125 * SIP_S
            if allowed >= 1:
                sip = await loop.sock_recv(self.socket, int(allowed))
                allowed -= len(sip)
                self.raw += sip
            await asyncio.sleep(SIP_S)
        packets = self.opus()[before:]
        return sum(map(len, packets)) * 8 / 20 / len(packets)

    @property
    def body(self) -> bytes:
        """What is there of it, without its chunks."""
        _, _, raw = self.raw.partition(b"\r\n\r\n")
        whole = b""
        while b"\r\n" in raw:
            size, _, raw = raw.partition(b"\r\n")
            whole, raw = whole + raw[: int(size, 16)], raw[int(size, 16) + 2 :]
        return whole

    def opus(self) -> list[bytes]:
        return [packet for _, packets in pages(self.body)[2:] for packet in packets]


async def test_the_bitrate_falls_with_the_connection_and_rises_again():
    async with asking() as (server, _):
        client = Slow(server.port, wish(LONG, response_format="opus"))
        try:
            await client.read(150, 2.0)
            ample = await client.read(150, 2.0)
            await client.read(30, 4.0)
            scarce = await client.read(30, 4.0)
            await client.read(150, 3.0)
            again = await client.read(150, 2.0)
            told = client.body
        finally:
            client.socket.close()
        await eventually(lambda: server._admission.streams == 0)
        retunes = counted(server, "abr_tts_switches_total")
    assert scarce < 27 < 40 < min(ample, again), (ample, scarce, again)
    assert retunes >= 2
    assert told.count(b"OpusHead") == 1


async def test_sound_that_was_retuned_has_no_click():
    pytest.importorskip("av")
    async with asking() as (server, http):
        body = await said(http, LONG[:400], response_format="opus")
        assert counted(server, "abr_tts_switches_total") >= 1
    sound, _ = decoded(body, "ogg")
    tone = (
        0.5 * (2 * np.pi * 1_000 / 48_000) ** 2
    )  # the second difference of the tone, which no clause breaks
    assert np.abs(np.diff(sound[960:-960], 2)).max() < 1.25 * tone


async def test_what_was_decided_is_recorded_and_can_be_replayed(tmp_path):
    async with asking(record__dir=str(tmp_path)) as (_, http):
        await said(http, LONG[:300], response_format="opus")
        await said(http, response_format="pcm")
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    for path in files:
        trace = read(path.read_text("utf-8").splitlines(), path.name)
        assert trace.header["level"] == 0
        assert replay(trace).difference is None


async def test_the_policy_of_a_key_binds():
    key = "a-key-of-thirty-two-characters-or-so"
    settings = {"auth__keys": (f"anna:{key}",), "auth__policies": {"anna": "thrifty"}}
    bearer = {"Authorization": f"Bearer {key}"}
    async with asking(**settings) as (server, http):
        async with http.post(SPEECH, json=wish(LONG[:300], response_format="opus"), headers=bearer) as answer:
            await answer.read()
        sent = {rung for rung in ("opus24", "opus32", "opus48") if seconds_at(server, rung)}
    assert "opus32" in sent and "opus48" not in sent


async def test_what_was_learned_of_a_connection_serves_the_next_request():
    async with asking() as (server, http):
        await said(http, LONG[:300], response_format="opus")
        before = seconds_at(server, "opus24")
        await said(http, LONG[:300], response_format="opus")
        assert before > 0.5 > seconds_at(server, "opus24") - before


def seconds_at(server, rung: str) -> float:
    return counted(server, f'abr_tts_sent_audio_seconds_total{{rung="{rung}"}}')
