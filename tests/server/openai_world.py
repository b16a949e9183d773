"""What tests of the OpenAI door share: a server, requests as JSON, and bodies taken apart."""

import asyncio
import base64
import contextlib
import io
import json
import struct
from collections.abc import AsyncIterator

import aiohttp
import numpy as np

from abr_tts.server.app import Server

from .doors.world import SAYING
from .harness import WAIT_S, serving

SPEECH = "/v1/audio/speech"


@contextlib.asynccontextmanager
async def asking(**overrides) -> AsyncIterator[tuple[Server, aiohttp.ClientSession]]:
    """A new server, and a client of HTTP at it."""
    async with serving(**overrides) as server, aiohttp.ClientSession(server.http_url) as http:
        yield server, http


def wish(text: str = SAYING, **fields) -> dict:
    """The body of a request for speech."""
    return {"model": "tts-1", "input": text, "voice": "alloy", "response_format": "pcm"} | fields


async def said(http: aiohttp.ClientSession, text: str = SAYING, **fields) -> bytes:
    """The body of an answer with sound."""
    async with asyncio.timeout(WAIT_S), http.post(SPEECH, json=wish(text, **fields)) as answer:
        assert answer.status == 200, await answer.text()
        return await answer.read()


def pcm(data: bytes) -> np.ndarray:
    return np.frombuffer(data, "<i2")


def pages(body: bytes) -> list[tuple[int, list[bytes]]]:
    """Of an Ogg stream, by pages: granule position and packets; a page that is not whole yet is left out."""
    found = []
    while len(body) >= 27 and len(body) >= 27 + body[26]:
        lacing = body[27 : 27 + body[26]]
        size = 27 + len(lacing) + sum(lacing)
        if len(body) < size:
            break
        assert body[:4] == b"OggS"
        packets, at = [b""], 27 + len(lacing)
        for one in lacing:
            packets[-1] += body[at : at + one]
            at += one
            if one < 255:
                packets.append(b"")
        found.append((struct.unpack("<q", body[6:14])[0], packets[:-1]))
        body = body[size:]
    return found


def packets_of(body: bytes) -> list[bytes]:
    """The Opus packets of an Ogg stream."""
    return [packet for _, packets in pages(body)[2:] for packet in packets]


def events(body: bytes) -> list[dict]:
    """Server-sent events."""
    lines = [line for line in body.decode().split("\n\n") if line]
    assert all(line.startswith("data: ") for line in lines)
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def carried(told: list[dict]) -> bytes:
    """The sound of events."""
    return b"".join(base64.b64decode(one["audio"]) for one in told if one["type"] == "speech.audio.delta")


def decoded(body: bytes, form: str | None = None) -> tuple[np.ndarray, int]:
    """What another reader (FFmpeg's, by PyAV) makes of a body: float samples and their rate."""
    import av

    with av.open(io.BytesIO(body), format=form) as file:
        frames = list(file.decode(audio=0))
    whole = np.concatenate([frame.to_ndarray().reshape(-1) for frame in frames]).astype(np.float64)
    return whole / (32_768 if frames[0].format.name.startswith("s16") else 1.0), frames[0].sample_rate


def difference_db(one: np.ndarray, other: np.ndarray) -> float:
    """How loud the difference of two sounds of one length is, over the second."""
    assert len(one) == len(other)
    a, b = one.astype(np.float64), other.astype(np.float64)
    return 10 * np.log10(max(np.mean((a - b) ** 2), 1e-20) / np.mean(b**2))
