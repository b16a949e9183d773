"""Samples as integers, floats and bytes: nothing wraps, nothing is lost, odd bytes are carried."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from abr_tts.audio import pcm

INT16 = arrays(np.int16, st.integers(0, 64))
EVERY_SAMPLE = np.arange(-32768, 32768).astype(np.int16)


def test_every_int16_survives_the_way_to_float_and_back():
    there = pcm.to_float(EVERY_SAMPLE)
    assert there.dtype == np.float32 and there.min() == -1.0
    assert np.array_equal(pcm.to_int16(there), EVERY_SAMPLE)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_samples_beyond_full_scale_are_clipped_and_never_wrap(dtype):
    loud = np.array([1.07, -1.07, 1.0, -1.0, 1e30, -1e30], dtype)
    assert pcm.to_int16(loud).tolist() == [32767, -32768, 32767, -32768, 32767, -32768]


def test_what_is_not_finite_becomes_silence_and_is_counted():
    bad = np.array([0.5, np.nan, np.inf, -np.inf, -0.5], np.float32)
    assert pcm.to_int16(bad).tolist() == [16384, 0, 0, 0, -16384]
    assert pcm.count_bad(bad) == 3


def test_floats_are_rounded_to_the_nearest_step():
    steps = np.array([0.4, 0.6, -0.4, -0.6, 100.49, -100.51], np.float32)
    assert pcm.to_int16(steps / np.float32(32768)).tolist() == [0, 1, 0, -1, 100, -101]


def test_the_input_is_left_alone():
    signal = np.array([2.0, np.nan], np.float32)
    pcm.to_int16(signal)
    assert signal[0] == 2.0 and np.isnan(signal[1])


def test_pcm16_is_little_endian_bytes():
    assert pcm.encode_pcm16(np.array([1, -2, 0x1234], np.int16)) == bytes.fromhex("0100feff3412")


@given(INT16)
def test_pcm16_bytes_come_back_as_the_same_samples(samples):
    back = pcm.decode_pcm16(pcm.encode_pcm16(samples))
    assert back.dtype == np.int16 and back.flags.writeable
    assert np.array_equal(back, samples)


def test_half_a_sample_is_refused_where_nothing_could_carry_it():
    with pytest.raises(ValueError, match="3 bytes"):
        pcm.decode_pcm16(b"abc")


@given(INT16, st.lists(st.integers(0, 5), max_size=40))
def test_samples_cut_at_any_byte_join_again(samples, cuts):
    data = pcm.encode_pcm16(samples) + b"\x7f"
    joiner, got = pcm.ByteJoiner(), []
    for size in [*cuts, len(data)]:
        got.append(joiner.push(data[:size]))
        data = data[size:]
    assert np.array_equal(np.concatenate(got), samples)
    assert joiner.rest == b"\x7f"


@pytest.mark.parametrize("function", [pcm.to_float, pcm.encode_pcm16, pcm.ulaw_encode])
def test_only_flat_int16_is_taken_for_int16(function):
    for wrong in (np.zeros(4, np.float32), np.zeros((2, 2), np.int16), np.zeros(4, np.int32)):
        with pytest.raises(ValueError, match="want int16"):
            function(wrong)


@pytest.mark.parametrize("function", [pcm.to_int16, pcm.count_bad])
def test_integers_are_not_taken_for_floats(function):
    for wrong in (np.zeros(4, np.int16), np.zeros((2, 2), np.float32)):
        with pytest.raises(ValueError, match="want float"):
            function(wrong)


@pytest.mark.parametrize("size", [0, 1])
def test_no_sample_and_one_sample_pass_everywhere(size):
    ones = np.full(size, 1000, np.int16)
    assert len(pcm.to_int16(pcm.to_float(ones))) == size
    assert len(pcm.decode_pcm16(pcm.encode_pcm16(ones))) == size
    assert len(pcm.ulaw_decode(pcm.ulaw_encode(ones))) == size


KNOWN_ULAW = {  # 16-bit sample: (code, what the code decodes to), from the tables of ITU-T G.711
    0: (0xFF, 0),
    3: (0xFF, 0),
    4: (0xFE, 8),
    -1: (0x7F, 0),
    -4: (0x7E, -8),
    123: (0xF0, 120),
    124: (0xEF, 132),
    1000: (0xCE, 988),
    -1000: (0x4E, -988),
    16000: (0x90, 15996),
    32635: (0x80, 32124),
    32767: (0x80, 32124),
    -32768: (0x00, -32124),
}


@pytest.mark.parametrize(("sample", "expected"), KNOWN_ULAW.items())
def test_ulaw_gives_the_codes_and_levels_of_g711(sample, expected):
    code = pcm.ulaw_encode(np.array([sample], np.int16))
    assert (code[0], int(pcm.ulaw_decode(code)[0])) == expected


def test_ulaw_has_the_segments_of_g711():
    """Eight segments of sixteen steps, each step twice as wide as in the one before (table 2a)."""
    levels = np.sort(pcm.ulaw_decode(bytes(range(128, 256))).astype(int))
    steps = np.diff(levels).reshape(-1)
    widths = [8 << segment for segment in range(8) for _ in range(16)]
    joints = {15 + 16 * k: (8 + 16) / 2 * 2**k for k in range(7)}
    expected = [joints.get(i, width) for i, width in enumerate(widths[:127])]
    assert steps.tolist() == expected


def test_every_ulaw_code_survives_decoding_and_encoding():
    codes = bytes(range(256))
    again = pcm.ulaw_encode(pcm.ulaw_decode(codes))
    minus_zero = 0x7F  # decodes to 0, which is coded as plus zero
    assert again == bytes(0xFF if code == minus_zero else code for code in codes)


def test_every_sample_falls_between_the_decision_values_of_g711():
    """Table 2a in its 14-bit scale: 1 and then steps of 2 up to 31, of 4 up to 95, … of 256 up to 8159."""
    decisions = np.array([1, *range(3, 32, 2)])
    for segment in range(1, 8):
        step = 2 << segment
        decisions = np.append(decisions, decisions[-1] + step * np.arange(1, 17))
    assert decisions[-1] == 8159
    magnitude = np.abs(EVERY_SAMPLE.astype(int))
    number = np.searchsorted(decisions[:-1] * 4, magnitude, side="right")
    expected = np.where(EVERY_SAMPLE < 0, 0x7F, 0xFF) - number
    assert np.array_equal(np.frombuffer(pcm.ulaw_encode(EVERY_SAMPLE), np.uint8), expected)
