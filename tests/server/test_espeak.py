"""Real speech through the whole server: the embedded engine, libopus, a real socket."""

import numpy as np
import pytest

from abr_tts.audio import libopus
from abr_tts.audio.opus import Decoder
from abr_tts.wire import messages as m

from .harness import peer, serving_in_a_thread

pytest.importorskip("espeakng_loader", reason="pip install '.[espeak]'")


@pytest.fixture(scope="module")
def url():
    with serving_in_a_thread(engine__kind="espeak", engine__options={}, engine__workers=2) as server:
        yield server.url


def loud_seconds(pcm: np.ndarray, rate: int) -> float:
    """Seconds of 20 ms frames above -40 dBFS."""
    frames = pcm[: len(pcm) // (rate // 50) * (rate // 50)].reshape(-1, rate // 50).astype(np.float64)
    return float((np.sqrt((frames**2).mean(axis=1)) > 328).sum()) / 50


@pytest.mark.parametrize(
    ("text", "least_s"),
    [
        ("Good morning, how are you today?", 1.0),
        ("你好，今天天气很好。", 1.0),
        ("3.14", 0.5),
        ("GPT-4o", 0.5),
    ],
)
async def test_english_mandarin_and_digits_are_spoken(url, text, least_s):
    async with peer(url) as client:
        started = await client.start(text, rung="pcm22")
        pcm = await client.whole_pcm(started.stream)
        assert loud_seconds(pcm, 22_050) >= least_s


async def test_opus_packets_decode_to_the_length_that_the_end_tells(url):
    async with peer(url) as client:
        started = await client.start("Hello from the other side.", rung="opus24")
        end = await client.first(m.StreamEnd)
        decoder = Decoder(libopus.load())
        packets = [packet for audio in client.of(m.Audio, stream=started.stream) for packet in audio.packets]
        pcm = np.concatenate([decoder.decode(packet) for packet in packets])[960:]  # the pre-roll
        assert 0 <= len(pcm) - end.length * 48_000 / 22_050 < 960
        assert loud_seconds(np.rint(pcm * 32767), 48_000) > 0.8


async def test_each_clause_of_a_mixed_text_gets_a_voice_for_its_script(url):
    async with peer(url) as client:
        started = await client.start("你好，world! Приветствую", rung="pcm22")
        pcm = await client.whole_pcm(started.stream)
        assert loud_seconds(pcm, 22_050) > 1.0
        assert client.of(m.Error) == []


async def test_a_script_that_the_engine_cannot_pronounce_is_a_warning_and_the_rest_is_spoken(url):
    async with peer(url) as client:
        started = await client.start("Hello there. ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ. Good bye.", rung="pcm22")
        pcm = await client.whole_pcm(started.stream)
        (told,) = client.of(m.Error)
        assert (told.code, told.scope, told.stream) == ("unknown_script", "nothing", started.stream)
        assert told.detail["scripts"]
        assert loud_seconds(pcm, 22_050) > 0.8


async def test_speed_changes_the_length(url):
    async with peer(url) as client:
        lengths = []
        for speed in (1.0, 2.0):
            started = await client.start(
                "How long does this sentence take to be spoken?", speed=speed, rung="pcm22"
            )
            lengths.append(len(await client.whole_pcm(started.stream)))
        assert lengths[1] < 0.7 * lengths[0]
