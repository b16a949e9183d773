"""Clips for tests of the uplink: their sound, their packets, and how a raw client sends them."""

import uuid

import numpy as np

from abr_tts.audio.clip import ClipEncoder
from abr_tts.audio.libopus import load
from abr_tts.audio.pcm import encode_pcm16, to_int16
from abr_tts.engine.tone import Options
from abr_tts.wire import messages as m

from .harness import Peer

PACKETS = 10

OPTIONS = {"rate": 16_000, "converts": True, "instructs": True}
"""Of a tone engine that takes clips."""

TONE = Options(**OPTIONS)

TEXT = "A voice that was made."


def sine(hz: float, seconds: float, rate: int = 16_000) -> np.ndarray:
    """float32, half of full scale."""
    return (0.5 * np.sin(2 * np.pi * hz * np.arange(round(seconds * rate)) / rate)).astype(np.float32)


def noise(frames: int, seed: int = 1) -> np.ndarray:
    """int16 at 16 kHz of which every sample is known and no two frames are alike."""
    return np.random.default_rng(seed).integers(-32_768, 32_768, frames * 320, dtype=np.int16)


def pcm_packets(samples: np.ndarray, rate: int) -> list[bytes]:
    """int16, shape (n,) or (n, 2), in packets of 20 ms; the last one filled up."""
    frame = rate // 50
    missing = -len(samples) % frame
    padded = np.concatenate([samples, np.zeros((missing, *samples.shape[1:]), np.int16)])
    return [encode_pcm16(padded[at : at + frame].reshape(-1)) for at in range(0, len(padded), frame)]


def packets(codec: str, sound: np.ndarray, rate: int) -> list[bytes]:
    """Mono float32 as the codec's packets, at this very rate."""
    if codec == "pcm16":
        return pcm_packets(to_int16(sound), rate)
    encoder = ClipEncoder(codec, rate, load())
    assert encoder.form.rate == rate
    return encoder.push(sound) + encoder.finish()


def messages(handle: int, clip: list[bytes], first: int = 0) -> list[m.UplinkAudio]:
    """The clip from packet `first` on."""
    return [
        m.UplinkAudio(handle, at * 960, tuple(clip[at : at + PACKETS]))
        for at in range(first, len(clip), PACKETS)
    ]


def reference(voice: str | None = "anna", **fields) -> m.AudioStart:
    """A request to make a voice of 16 kHz PCM."""
    given = {"codec": "pcm16", "sample_rate": 16_000, "consent": True} | fields
    return m.AudioStart(str(uuid.uuid4()), voice=voice, **given)


def conversion(**fields) -> m.AudioStart:
    """A request to convert 16 kHz PCM."""
    given = {"codec": "pcm16", "sample_rate": 16_000, "purpose": "conversion"} | fields
    return m.AudioStart(str(uuid.uuid4()), **given)


async def begin(client: Peer, request: m.AudioStart) -> m.StreamStarted:
    """Ask; the server takes it."""
    await client.send(request)
    return await client.first(m.StreamStarted, stream_id=request.stream_id)


async def refused(client: Peer, request: m.AudioStart) -> m.Error:
    """Ask; the server does not take it, and has said so before any sound was sent."""
    await client.send(request)
    told = await client.first(m.Error, stream_id=request.stream_id)
    assert told.scope == "stream"
    assert not client.of(m.StreamStarted, stream_id=request.stream_id)
    return told


async def upload(client: Peer, request: m.AudioStart, clip: list[bytes]) -> m.StreamEnd:
    """Send a whole reference; what the server says in the end."""
    started = await begin(client, request)
    await client.send(*messages(started.stream, clip), m.TextEnd(started.stream))
    return await client.first(m.StreamEnd, stream=started.stream)


async def still_works(client) -> bool:
    """The connection goes on."""
    await client.send(m.Ping(77))
    return bool(await client.first(m.Pong, value=77))
