"""An engine of 24 kHz from end to end: Opus takes its samples as they are, and `pcm24` is the top rung."""

import numpy as np
import pytest

from abr_tts.audio import libopus, resample
from abr_tts.audio.opus import Encoder, track_lookahead
from abr_tts.audio.pcm import to_float
from abr_tts.client import Client
from abr_tts.engine.tone import Options, expected
from abr_tts.wire import messages as m

from .harness import peer, serving, serving_in_a_thread

RATE, FRAME = 24_000, 480
TEXT = "one two three four five six seven eight nine ten. " * 3
CLAUSE = "x" * 75
"""Spoken in one piece."""


@pytest.fixture(scope="module")
def url():
    with serving_in_a_thread(engine__options={"rate": RATE}) as made:
        yield made.url


@pytest.fixture
def resampled(monkeypatch) -> list[tuple[int, int]]:
    """The pairs of rates for which a stream was resampled since the test began."""
    asked: list[tuple[int, int]] = []
    stream = resample.Soxr.stream

    def watched(self, in_rate, out_rate):
        asked.append((in_rate, out_rate))
        return stream(self, in_rate, out_rate)

    monkeypatch.setattr(resample.Soxr, "stream", watched)
    return asked


def spoken(text: str) -> np.ndarray:
    return expected(text, "tone", options=Options(rate=RATE))


def packets_of(client, handle: int) -> list[bytes]:
    return [packet for audio in client.of(m.Audio, stream=handle) for packet in audio.packets]


@pytest.mark.parametrize("kbps", [64, 24])
async def test_opus_gets_the_engines_samples_as_they_are(url, kbps):
    text = "x" * 20
    async with peer(url) as client:
        started = await client.start(text, rung=f"opus{kbps}")
        await client.first(m.StreamEnd, stream=started.stream)
        (track,) = client.of(m.Track, stream=started.stream)
        packets = packets_of(client, started.stream)
    pcm = to_float(spoken(text))
    ahead = track_lookahead(kbps)
    frames = -(-len(pcm) // FRAME) + track.preroll
    fed = np.concatenate(
        [np.zeros(track.preroll * FRAME, np.float32), pcm, np.zeros(FRAME + ahead, np.float32)]
    )
    encoder = Encoder(libopus.load(), kbps=kbps)
    cut = fed[ahead : ahead + frames * FRAME].reshape(frames, FRAME)
    assert (started.sample_rate, track.sample_rate, track.preroll) == (RATE, RATE, 1)
    assert packets == [encoder.encode(frame) for frame in cut]


@pytest.mark.parametrize("rung", ["opus64", "opus24", "opus12", "pcm24", None])
async def test_nothing_is_resampled_for_opus_or_pcm24_nor_by_the_default_policy(resampled, rung):
    async with serving(engine__options={"rate": RATE}) as server, peer(server.url) as client:
        resampled.clear()  # what was got ready before the first stream
        started = await client.start(TEXT, **({"rung": rung} if rung else {}))
        await client.first(m.StreamEnd, stream=started.stream)
        rungs = {track.rung for track in client.of(m.Track)}
    assert resampled == []
    assert rungs <= ({rung} if rung else {"pcm24", "opus64", "opus48", "opus32", "opus24"})


async def test_a_rung_of_another_rate_is_resampled_and_nothing_else(resampled):
    async with serving(engine__options={"rate": RATE}) as server, peer(server.url) as client:
        resampled.clear()
        started = await client.start("x" * 20, rung="pcm16k")
        await client.first(m.StreamEnd, stream=started.stream)
    assert set(resampled) == {(24_000, 16_000)}


async def test_on_a_fast_link_the_default_policy_climbs_to_pcm24_and_names_no_pcm22(url):
    async with peer(url) as client:
        client.rtt_ms = 1.0
        started = await client.start(TEXT)
        await client.first(m.StreamEnd, stream=started.stream)
        tracks = [track.rung for track in client.of(m.Track, stream=started.stream)]
        told = {switch.target for switch in client.of(m.Switch, stream=started.stream)} | set(tracks)
    assert "pcm24" in tracks, tracks
    assert not told & {"pcm22", "pcm16k"}, told


async def test_the_client_hears_the_engines_own_samples_at_pcm24(url):
    async with Client(url) as client:
        heard = await client.speak(CLAUSE, rung="pcm24").read()
    assert np.array_equal(heard, spoken(CLAUSE))


async def test_the_client_hears_all_of_it_by_the_default_policy(url):
    async with Client(url) as client:
        heard = await client.speak(CLAUSE).read()
    wanted = spoken(CLAUSE).astype(float)
    assert len(heard) == len(wanted)
    assert np.sqrt(np.mean(heard.astype(float) ** 2)) == pytest.approx(np.sqrt(np.mean(wanted**2)), rel=0.02)
