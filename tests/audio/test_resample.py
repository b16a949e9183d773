"""Resampling: chunked is whole bit for bit, lengths are exact, a window equals the stream."""

from itertools import permutations

import numpy as np
import pytest
import soxr
from hypothesis import given, settings
from hypothesis import strategies as st

from abr_tts.audio import pcm
from abr_tts.audio.opus import track_lookahead
from abr_tts.audio.resample import (
    LOOKAHEAD_S,
    QUALITY,
    StreamResampler,
    convert,
    fit,
    lag_frames,
    resample_window,
)
from abr_tts.units import convert_length, frame_samples
from tests.signals import speech_like, tone

RATES = (8_000, 16_000, 22_050, 24_000, 44_100, 48_000)
PAIRS = list(permutations(RATES, 2))
HOUSE_PAIRS = [(22_050, 24_000), (22_050, 16_000), (24_000, 16_000), (16_000, 24_000), (48_000, 22_050)]
"""Engine to rung, and Opus decoder to an engine's rate."""


def noise(samples: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(samples) * 0.1).astype(np.float32)


def pushed(signal: np.ndarray, in_rate: int, out_rate: int, sizes: list[int]) -> np.ndarray:
    stream, at, out = StreamResampler(in_rate, out_rate), 0, []
    for size in [*sizes, len(signal)]:
        out.append(stream.push(signal[at : at + size]))
        at += size
    return np.concatenate([*out, stream.finish()])


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(PAIRS + HOUSE_PAIRS * 4),
    st.integers(0, 6000),
    st.lists(st.integers(0, 1500), max_size=12),
)
def test_chunked_is_whole_bit_for_bit(pair, length, sizes):
    signal = noise(length)
    got = pushed(signal, *pair, sizes)
    assert got.dtype == np.float32
    assert len(got) == convert_length(length, *pair)
    whole = soxr.resample(signal, *pair, QUALITY) if length else signal
    assert np.array_equal(got, fit(whole, len(got)))
    assert np.array_equal(got, convert(signal, *pair))


def test_half_a_minute_in_uneven_chunks_is_still_one_shot():
    signal = pcm.to_float(speech_like(22_050, 30))
    sizes = np.random.default_rng(1).integers(1, 9000, 200).tolist()
    assert np.array_equal(
        pushed(signal, 22_050, 24_000, sizes), soxr.resample(signal, 22_050, 24_000, QUALITY)
    )


@pytest.mark.parametrize("pair", PAIRS)
def test_lengths_are_exact_and_round_half_up(pair):
    for length in (0, 1, 2, 3, 441, 1000):
        assert len(convert(np.zeros(length, np.float32), *pair)) == convert_length(length, *pair)


def test_where_soxr_rounds_a_half_down_the_length_is_still_the_promised_one():
    assert len(convert(np.zeros(27_060, np.float32), 12_000, 44_100)) == 99_446


def test_equal_rates_pass_samples_through():
    signal = noise(1000)
    assert np.array_equal(pushed(signal, 24_000, 24_000, [1, 0, 400]), signal)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(PAIRS + HOUSE_PAIRS * 4), st.lists(st.integers(1, 2500), min_size=1, max_size=30))
def test_an_output_frame_is_there_after_the_stated_lag(pair, sizes):
    in_rate, out_rate = pair
    stream, taken, given_out = StreamResampler(in_rate, out_rate), 0, 0
    for size in sizes:
        given_out += len(stream.push(np.zeros(size, np.float32)))
        taken += size
        frames = taken // frame_samples(in_rate) - lag_frames(in_rate, out_rate)
        if frames > 0:
            assert given_out >= frames * frame_samples(out_rate) + LOOKAHEAD_S * out_rate


@pytest.mark.parametrize("pair", HOUSE_PAIRS)
def test_the_lag_is_three_frames_between_the_rates_of_the_house(pair):
    assert lag_frames(*pair) == 3


def test_the_lag_covers_the_lookahead_of_every_opus_track():
    assert lag_frames(24_000, 24_000) == 1
    assert max(track_lookahead(kbps) for kbps in (24, 64)) <= LOOKAHEAD_S * 24_000 <= frame_samples(24_000)


@pytest.mark.parametrize("pair", HOUSE_PAIRS)
def test_a_window_of_three_frames_gives_the_streams_middle_frame(pair):
    size, out_size = (frame_samples(rate) for rate in pair)
    frames = noise(50 * size).reshape(50, size)
    whole = convert(frames.reshape(-1), *pair)
    for k in range(1, 49):
        got = resample_window(*frames[k - 1 : k + 2], *pair)
        worst = np.abs(got - whole[k * out_size : (k + 1) * out_size]).max()
        assert got.shape == (out_size,)
        assert worst < 0.1 * 10 ** (-97 / 20)


def test_silence_stands_in_for_a_neighbour_at_either_end():
    size, silence = frame_samples(48_000), np.zeros(frame_samples(48_000), np.float32)
    frames = noise(2 * size).reshape(2, size)
    whole = convert(frames.reshape(-1), 48_000, 22_050)
    first = resample_window(silence, frames[0], frames[1], 48_000, 22_050)
    last = resample_window(frames[0], frames[1], silence, 48_000, 22_050)
    assert np.abs(np.concatenate([first, last]) - whole).max() < 0.1 * 10 ** (-60 / 20)


def test_a_window_at_equal_rates_is_the_frame_itself():
    frames = noise(3 * 480).reshape(3, 480)
    assert np.array_equal(resample_window(*frames, 24_000, 24_000), frames[1])


@pytest.mark.parametrize("pair", HOUSE_PAIRS)
def test_pitch_and_place_stay_when_the_rate_changes(pair):
    got = convert(pcm.to_float(tone(pair[0], 1.0)), *pair)
    wanted = pcm.to_float(tone(pair[1], 1.0))
    middle = slice(pair[1] // 10, -pair[1] // 10)
    assert np.abs(got - wanted)[middle].max() < 1e-4


def test_nothing_may_follow_the_end_and_wrong_input_is_refused():
    stream = StreamResampler(22_050, 24_000)
    with pytest.raises(ValueError, match="float32"):
        stream.push(np.zeros(4, np.int16))
    stream.finish()
    with pytest.raises(ValueError, match="finished"):
        stream.push(noise(4))
    with pytest.raises(ValueError, match="three frames"):
        resample_window(noise(480), noise(480), noise(479), 24_000, 48_000)
    with pytest.raises(ValueError, match="20 ms"):
        resample_window(noise(480), noise(480), noise(480), 24_000, 11_025)


def test_a_strided_view_is_taken():
    signal = noise(2000)
    assert np.array_equal(convert(signal[::2], 22_050, 24_000), convert(signal[::2].copy(), 22_050, 24_000))
