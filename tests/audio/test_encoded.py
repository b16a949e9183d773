"""mp3, AAC and FLAC by FFmpeg's encoders, read back by its decoders: whole, in any pieces, in place."""

import builtins
import io

import numpy as np
import pytest

from abr_tts.audio import encoded
from abr_tts.audio.encoded import ADTS_RATES, MPEG_RATES, FrameEncoder, adts_header
from abr_tts.errors import MissingDependency, to_install

av = pytest.importorskip("av")

RATE = 24_000
DELAY = {"mp3": 1_105, "aac": 1_024, "flac": 0}
"""Samples before the sound, which the module states."""


def sound(seconds: float, rate: int = RATE) -> np.ndarray:
    """Two tones that swell, int16."""
    t = np.arange(round(seconds * rate)) / rate
    tones = np.sin(2 * np.pi * 440 * t) + 0.5 * np.sin(2 * np.pi * 1_300 * t)
    return (8_000 * np.minimum(1, 4 * t) * tones).astype(np.int16)


def coded(name: str, samples: np.ndarray, cuts: int, rate: int = RATE) -> bytes:
    encoder = FrameEncoder(name, rate)
    pieces = [encoder.push(samples[at : at + cuts]) for at in range(0, len(samples), cuts)]
    return b"".join([encoder.begin(), *pieces, encoder.finish()])


def heard(data: bytes, name: str) -> tuple[np.ndarray, int]:
    with av.open(io.BytesIO(data), format={"aac": "aac", "mp3": "mp3", "flac": "flac"}[name]) as file:
        frames = list(file.decode(audio=0))
    pcm = [frame.to_ndarray().reshape(-1) for frame in frames]
    whole = np.concatenate(pcm).astype(np.float64)
    return whole / (32_768 if frames[0].format.name.startswith("s16") else 1.0), frames[0].sample_rate


@pytest.mark.parametrize("name", ["mp3", "aac", "flac"])
def test_the_bytes_do_not_depend_on_the_pieces(name):
    samples = sound(1.5)
    whole = coded(name, samples, len(samples))
    assert coded(name, samples, 480) == coded(name, samples, 1_111)
    assert len(heard(whole, name)[0]) == len(heard(coded(name, samples, 480), name)[0])


@pytest.mark.parametrize("name", ["mp3", "aac", "flac"])
def test_another_reader_hears_all_of_it_and_where_it_belongs(name):
    samples = sound(1.5)
    pcm, rate = heard(coded(name, samples, 2_400), name)
    assert rate == RATE
    there, at = samples / 32_768, DELAY[name]
    found = pcm[at : at + len(there)]
    assert len(found) == len(there)
    error = np.sqrt(np.mean((found - there)[4_000:-4_000] ** 2)) / np.sqrt(np.mean(there**2))
    assert error == 0 if name == "flac" else error < 0.1  # a sample earlier or later: 0.19


@pytest.mark.parametrize("name", ["mp3", "aac", "flac"])
def test_frames_leave_within_a_tenth_of_a_second(name):
    encoder, samples, taken, given = FrameEncoder(name, RATE), sound(1.0), 0, None
    for at in range(0, len(samples), 240):
        taken += 240
        if encoder.push(samples[at : at + 240]):
            given = taken
            break
    assert given is not None and given / RATE <= 0.1


@pytest.mark.parametrize("name", ["mp3", "aac"])
@pytest.mark.parametrize("rate", MPEG_RATES)
def test_every_rate_of_mpeg_can_be_had(name, rate):
    assert heard(coded(name, sound(0.5, rate), 1_000, rate), name)[1] == rate


@pytest.mark.parametrize("name", ["mp3", "aac"])
@pytest.mark.parametrize("rate", [12_345, 96_000])
def test_a_rate_that_mpeg_lacks_is_refused(name, rate):
    with pytest.raises(ValueError, match=f"has no {rate} Hz"):
        FrameEncoder(name, rate)


@pytest.mark.parametrize("size", [1, 100, 8_184])
def test_an_adts_header_says_the_size_of_its_frame(size):
    head = adts_header(24_000, size)
    bits = int.from_bytes(head, "big")
    assert head[:2] == b"\xff\xf1"
    assert (bits >> 13) & 0x1FFF == size + 7
    assert ADTS_RATES[(bits >> 34) & 15] == 24_000 and (bits >> 30) & 7 == 1


def test_without_pyav_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "av":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependency, match=r"pip install '\.\[formats\]'"):
        FrameEncoder("mp3", RATE)
    assert encoded.NEEDS_AV.endswith(to_install("formats"))
