"""Clips: what they may be, and that what comes out is what went in."""

import numpy as np
import pytest

from abr_tts.audio.clip import OUT_RATE, ClipDecoder, ClipEncoder, ClipFormat, mono
from abr_tts.audio.libopus import load
from abr_tts.audio.pcm import to_float
from abr_tts.errors import BadAudio, Unsupported

LIBRARY = load()


def sine(hz: float, seconds: float, rate: int) -> np.ndarray:
    return (0.5 * np.sin(2 * np.pi * hz * np.arange(round(seconds * rate)) / rate)).astype(np.float32)


def through(encoder: ClipEncoder, sound: np.ndarray, piece: int) -> np.ndarray:
    """Encoded piece by piece, decoded packet by packet."""
    packets = [one for at in range(0, len(sound), piece) for one in encoder.push(sound[at : at + piece])]
    packets += encoder.finish()
    decoder = ClipDecoder(encoder.form, LIBRARY)
    for packet in packets:
        encoder.form.check(packet)
        decoder.push([packet])
    return decoder.finish()


@pytest.mark.parametrize("piece", [1, 319, 320, 5_000])
def test_pcm_at_16_khz_comes_through_bit_for_bit_and_its_end_is_filled_up(piece):
    sound = np.arange(-1_000, 1_001, dtype=np.int16)
    heard = through(ClipEncoder("pcm16", 16_000, None), sound, piece)
    np.testing.assert_array_equal(heard, np.concatenate([sound, np.zeros(239, np.int16)]))


@pytest.mark.parametrize("rate", [8_000, 11_025, 22_050, 24_000, 44_100, 48_000, 96_000])
@pytest.mark.parametrize("codec", ["pcm16", "opus"])
def test_any_rate_comes_through_in_its_place(codec, rate):
    heard = to_float(through(ClipEncoder(codec, rate, LIBRARY), sine(500, 1.0, rate), rate))
    wanted = sine(500, 1.0, OUT_RATE)
    assert 0 <= len(heard) - len(wanted) <= 320
    inner = slice(800, -800)
    assert np.corrcoef(heard[: len(wanted)][inner], wanted[inner])[0, 1] > 0.98


def test_opus_loses_nothing_at_its_end():
    sound = np.concatenate([np.zeros(47_000, np.float32), sine(1_000, 1_000 / 48_000, 48_000)])
    heard = to_float(through(ClipEncoder("opus", 48_000, LIBRARY), sound, 48_000))
    assert np.abs(heard[15_667:16_000]).max() > 0.2


@pytest.mark.parametrize(
    ("codec", "rate", "channels", "wanted"),
    [
        ("mp3", 16_000, 1, Unsupported),
        ("opus", 44_100, 1, BadAudio),
        ("pcm16", 7_950, 1, BadAudio),
        ("pcm16", 48_050, 1, BadAudio),
        ("pcm16", 16_010, 1, BadAudio),
        ("pcm16", 16_000, 3, BadAudio),
    ],
)
def test_a_format_that_cannot_be_is_refused(codec, rate, channels, wanted):
    with pytest.raises(wanted):
        ClipFormat(codec, rate, channels)


def test_the_bounds_of_a_format_are_within_it():
    assert ClipFormat("pcm16", 8_000).packet_bytes == 320
    assert ClipFormat("pcm16", 48_000, 2).packet_bytes == 3_840
    assert ClipFormat("ulaw", 8_000).packet_bytes == 160
    assert ClipFormat("opus", 8_000).packet_bytes is None


def test_any_bytes_as_an_opus_packet_give_sound_or_a_typed_error():
    rng = np.random.default_rng(5)
    form = ClipFormat("opus", 48_000, 2)
    for _ in range(300):
        decoder = ClipDecoder(form, LIBRARY)
        packet = rng.bytes(int(rng.integers(1, 200)))
        try:
            form.check(packet)
            decoder.push([packet])
        except BadAudio:
            continue
        assert len(decoder.finish()) == round((960 - 312) / 3)


def test_samples_of_any_kind_become_mono_floats():
    ints = np.array([-32_768, 0, 16_384], np.int16)
    np.testing.assert_array_equal(mono(ints), np.array([-1, 0, 0.5], np.float32))
    np.testing.assert_array_equal(mono(np.stack([ints, ints * 0], axis=1)), mono(ints) / 2)
    np.testing.assert_array_equal(mono(np.array([np.nan, 0.5, np.inf])), np.array([0, 0.5, 0], np.float32))
    for bad in (np.zeros(4, np.int32), np.zeros((4, 3), np.int16), np.zeros((2, 2, 2), np.float32)):
        with pytest.raises(ValueError, match="want"):
            mono(bad)


def test_an_encoder_wants_a_codec_that_it_has():
    with pytest.raises(Unsupported):
        ClipEncoder("ulaw", 8_000, LIBRARY)
    with pytest.raises(ValueError, match="libopus"):
        ClipEncoder("opus", 48_000, None)
    with pytest.raises(ValueError, match="sample rate"):
        ClipEncoder("pcm16", 0, None)
