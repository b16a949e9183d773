"""
Faults of sound that users of streaming speech servers have reported, from a real engine process through a
real server and socket: odd chunks, rates that are relabelled, silence that pops, engines that die or come
late.
"""

import numpy as np
import pytest

from abr_tts.audio import libopus
from abr_tts.audio.opus import Decoder
from abr_tts.client import Client
from abr_tts.engine.tone import Options, expected
from abr_tts.wire import messages as m

from ..server.harness import peer, serving, serving_in_a_thread

RATE = 24_000
TEXT = "x" * 40


@pytest.fixture(scope="module")
def url():
    options = {"rate": RATE}
    with serving_in_a_thread(engine__options=options, engine__workers=2, engine__gap_s=1.0) as made:
        yield made.url


def tone(text: str, voice: str = "tone", rate: int = RATE) -> np.ndarray:
    return expected(text, voice, options=Options(rate=rate))


async def test_chunks_of_no_sample_one_sample_and_four_seconds_at_once_are_one_sound():
    chunks = {"rate": RATE, "chunks": [0, 1, 4 * RATE, 0, 3]}
    text = "x" * 75 + ". " + "y" * 150 + "."
    async with serving(engine__options=chunks) as server, peer(server.url) as client:
        started = await client.start(text, rung="pcm24")
        (session,) = server._front.sessions
        (utterance,) = session._utterances.values()
        heard = await client.whole_pcm(started.stream)
        assert np.array_equal(heard, np.concatenate([tone("x" * 75 + "."), tone("y" * 150 + ".")]))
        assert utterance.core.held_samples <= len(heard), "nothing is kept twice"


@pytest.mark.parametrize("rate", [16_000, 24_000, 44_100, 48_000])
async def test_an_engine_of_another_rate_is_resampled_and_not_relabelled(rate):
    async with serving(engine__options={"rate": rate}) as server, peer(server.url) as client:
        rung = "pcm16k" if rate <= 22_050 else "pcm22"
        started = await client.start("x" * 37, speed=1.1, rung=rung)
        end = await client.first(m.StreamEnd)
        assert (started.sample_rate, end.length) == (rate, round(37 * 0.06 * rate / 1.1))
        ours = client.of(m.Track)[0].sample_rate
        length = round(end.length * ours / rate)
        heard = client.pcm(started.stream).astype(np.float64)[:length]
        sine = 16_384 * np.sin(2 * np.pi * 1000 * np.arange(length) / ours)
        middle = slice(ours // 10, length - ours // 10)
        assert np.abs(heard - sine)[middle].max() < 164, "1 % off: a tenth of a sample late, or another pitch"
        assert np.abs(heard[-3:]).max() > 0 and not client.pcm(started.stream)[length + 40 :].any()


@pytest.mark.parametrize("rung", ["pcm24", "ulaw16k", "opus64", "opus24"])
@pytest.mark.parametrize("count", [1, 7])
async def test_a_last_frame_that_is_short_is_played_at_its_true_length(url, rung, count):
    async with Client(url) as client:
        heard = await client.speak("x" * count, rung=rung, speed=1.3).read()
    assert len(heard) == round(count * 0.06 * RATE / 1.3)
    assert np.abs(heard[-240:].astype(int)).max() > 8_000, "it sounds to its end"


async def test_samples_that_are_not_finite_are_counted_and_silent_at_every_rung(url):
    async with peer(url) as client:
        started = await client.start(TEXT, voice="tone-nan", rung="pcm24")
        assert np.array_equal(await client.whole_pcm(started.stream), tone(TEXT, "tone-nan"))
        coded = await client.start(TEXT, voice="tone-nan", rung="opus24")
        await client.first(m.StreamEnd, stream=coded.stream)
        heard = decoded(client, coded.stream)
        assert np.isfinite(heard).all() and 0.3 < np.abs(heard).max() < 0.8


async def test_an_engine_whose_process_freezes_costs_its_own_stream_alone(url):
    async with peer(url) as client, peer(url) as other:
        healthy = await other.start("A first clause. ", open=True, rung="pcm24")
        frozen = await client.start(TEXT, voice="tone-freeze", rung="pcm24")
        told = await client.first(m.Error, stream=frozen.stream)
        assert (told.code, told.scope) == ("engine_timeout", "stream")
        await other.send(m.Text(healthy.stream, "And a second."), m.TextEnd(healthy.stream))
        heard = await other.whole_pcm(healthy.stream)
        assert np.array_equal(heard, np.concatenate([tone("A first clause."), tone("And a second.")]))


async def test_a_late_engine_that_then_bursts_is_not_taken_for_a_bad_link():
    late = {"rate": RATE, "late_s": 1.0}
    told: list[object] = []
    async with serving(engine__options=late) as server, Client(server.url) as client:
        speech = client.speak(
            "x" * 30, voice="tone-late", policy="classic", realtime=True, events=told.append
        )
        heard = await speech.read()
    assert len(heard) == 30 * 1440
    ladder = ["opus12", "opus16", "opus24", "pcm16k", "pcm24"]
    begun = [track.rung for track in told if isinstance(track, m.Track)]
    assert begun[0] == "opus24" and begun == sorted(begun, key=ladder.index), "never down"
    moves = [(ladder.index(s.source), ladder.index(s.target)) for s in told if isinstance(s, m.Switch)]
    assert all(target > source for source, target in moves)


@pytest.mark.parametrize("rung", ["pcm24", "opus64", "opus24"])
async def test_ten_seconds_of_silence_inside_speech_stay_silent_and_shift_nothing(url, rung):
    async with Client(url) as client:
        heard = await client.speak(TEXT, voice="tone-silence", rung=rung).read()
    loud = np.abs(heard.astype(int))
    assert len(heard) == 40 * 1440 + 10 * RATE
    assert loud[round(1.26 * RATE) : round(11.19 * RATE)].max() <= 33, "no pop above -60 dBFS"
    onset = np.argmax(loud[2 * RATE :] > 4_000) + 2 * RATE
    assert abs(onset - 11.2 * RATE) < RATE // 500


def decoded(client, handle: int) -> np.ndarray:
    """The Opus packets of a stream, decoded in order."""
    decoder = Decoder(libopus.load())
    packets = [packet for audio in client.of(m.Audio, stream=handle) for packet in audio.packets]
    return np.concatenate([decoder.decode(packet) for packet in packets])
