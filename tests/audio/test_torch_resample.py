"""torchaudio as a stream: the whole however it is cut, no delay, no later than soxr, as clean."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abr_tts.audio import pcm
from abr_tts.audio.resample import (
    LOOKAHEAD_S,
    StreamResampler,
    by_name,
    convert,
    lag_frames,
    resample_window,
)
from abr_tts.units import convert_length, frame_samples
from tests.signals import speech_like, tone
from tests.torch_here import torchaudio

RATES = (8_000, 16_000, 22_050, 24_000, 44_100, 48_000)
PAIRS = list(permutations(RATES, 2))
HOUSE_PAIRS = [(22_050, 24_000), (22_050, 16_000), (24_000, 16_000), (16_000, 24_000), (48_000, 22_050)]

ROUNDING = 1e-6
"""More than sums of some hundred float32 products of a signal of 0.5 differ by when they are ordered
otherwise: -126 dB of full scale, a thirtieth of a step of int16."""


@pytest.fixture(scope="module")
def by():
    return torchaudio()


def noise(samples: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(samples) * 0.1).astype(np.float32)


def pushed(by, signal: np.ndarray, in_rate: int, out_rate: int, sizes: list[int]) -> np.ndarray:
    stream, at, out = StreamResampler(in_rate, out_rate, by), 0, []
    for size in [*sizes, len(signal)]:
        out.append(stream.push(signal[at : at + size]))
        at += size
    return np.concatenate([*out, stream.finish()])


def worst(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one.astype(float) - other).max(initial=0.0))


def level_db(rate: int, out_rate: int, hz: float, by) -> float:
    """What is left of a tone, dB."""
    out = convert(pcm.to_float(tone(rate, 0.5, hz)), rate, out_rate, by)[out_rate // 20 : -out_rate // 20]
    return float(10 * np.log10(np.mean(out.astype(float) ** 2) / 0.125))


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(PAIRS + HOUSE_PAIRS * 4),
    st.integers(0, 6000),
    st.lists(st.integers(0, 1500), max_size=12),
)
def test_chunked_is_whole_to_within_float_rounding(by, pair, length, sizes):
    signal = noise(length)
    got = pushed(by, signal, *pair, sizes)
    assert got.dtype == np.float32
    assert len(got) == convert_length(length, *pair)
    assert worst(got, convert(signal, *pair, by)) <= ROUNDING


def test_half_a_minute_in_uneven_chunks_drifts_by_nothing(by):
    signal = pcm.to_float(speech_like(22_050, 30))
    sizes = np.random.default_rng(1).integers(1, 9000, 200).tolist()
    assert worst(pushed(by, signal, 22_050, 24_000, sizes), convert(signal, 22_050, 24_000, by)) <= ROUNDING


@pytest.mark.parametrize("pair", PAIRS)
def test_it_is_what_torchaudio_itself_makes_of_the_whole(by, pair):
    from torch import from_numpy
    from torchaudio.transforms import Resample

    signal = noise(pair[0] // 4)
    own = Resample(
        *pair, "sinc_interp_kaiser",
        lowpass_filter_width=64, rolloff=0.94, beta=14.769656459379492,
    )  # fmt: skip
    got = convert(signal, *pair, by)
    assert worst(got, own(from_numpy(signal)).numpy()[: len(got)]) <= ROUNDING


@pytest.mark.parametrize("pair", PAIRS)
def test_lengths_are_exact_and_round_half_up(by, pair):
    for length in (0, 1, 2, 3, 441, 1000):
        assert len(convert(np.zeros(length, np.float32), *pair, by)) == convert_length(length, *pair)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(PAIRS + HOUSE_PAIRS * 4), st.lists(st.integers(1, 2500), min_size=1, max_size=30))
def test_it_is_never_later_than_a_stream_is_paced_for(by, pair, sizes):
    in_rate, out_rate = pair
    stream, taken, given_out = StreamResampler(in_rate, out_rate, by), 0, 0
    for size in sizes:
        given_out += len(stream.push(np.zeros(size, np.float32)))
        taken += size
        frames = taken // frame_samples(in_rate) - lag_frames(in_rate, out_rate)
        if frames > 0:
            assert given_out >= frames * frame_samples(out_rate) + LOOKAHEAD_S * out_rate


@pytest.mark.parametrize("pair", PAIRS)
def test_a_window_of_three_frames_gives_the_streams_middle_frame(by, pair):
    size, out_size = (frame_samples(rate) for rate in pair)
    frames = noise(20 * size).reshape(20, size)
    whole = convert(frames.reshape(-1), *pair, by)
    for k in range(1, 19):
        got = resample_window(*frames[k - 1 : k + 2], *pair, by)
        assert worst(got, whole[k * out_size : (k + 1) * out_size]) <= ROUNDING


@pytest.mark.parametrize("pair", HOUSE_PAIRS)
def test_pitch_and_place_stay_when_the_rate_changes(by, pair):
    got = convert(pcm.to_float(tone(pair[0], 1.0)), *pair, by)
    wanted = pcm.to_float(tone(pair[1], 1.0))
    middle = slice(pair[1] // 10, -pair[1] // 10)
    assert worst(got[middle], wanted[middle]) < 1e-4


def test_it_passes_what_lies_below_0_88_of_nyquist_and_nothing_beyond_it(by):
    assert abs(level_db(22_050, 24_000, 0.88 * 11_025, by)) < 0.02
    assert abs(level_db(24_000, 16_000, 0.88 * 8_000, by)) < 0.02
    assert level_db(24_000, 16_000, 1.01 * 8_000, by) < -90, "int16 of the test tone, no more"


def test_where_both_pass_everything_soxr_says_the_same(by):
    signal = convert(pcm.to_float(speech_like(16_000, 2.0)), 16_000, 22_050)
    ours, theirs = (convert(signal, 22_050, 24_000, one)[2400:-2400] for one in (by, by_name("soxr")))
    assert worst(ours, theirs) < 10 ** (-90 / 20)


def test_streams_on_several_threads_do_not_disturb_each_other(by):
    signals = [noise(22_050, seed) for seed in range(8)]
    wanted = [pushed(by, signal, 22_050, 24_000, [441] * 50) for signal in signals]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda signal: pushed(by, signal, 22_050, 24_000, [441] * 50), signals))
    assert all(np.array_equal(got, want) for got, want in zip(found, wanted, strict=True))


def test_a_device_that_is_not_here_or_gives_nothing_back_is_refused(by):
    for device in ("cuda:7", "gpu", "meta", ""):
        with pytest.raises(ValueError, match="cannot use the device"):
            by_name("torchaudio", device)


def test_the_device_is_the_gpu_if_there_is_one(by):
    import torch

    assert by_name("torchaudio").device == ("cuda" if torch.cuda.is_available() else "cpu")
    assert by_name("torchaudio", "cpu") == by and hash(by_name("torchaudio", "cpu")) == hash(by)
    assert torch.get_num_threads() == 1


def test_samples_that_may_not_be_written_to_are_taken_without_a_word(by):
    signal = noise(2000)
    signal.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(convert(signal[::2], 22_050, 24_000, by)) == convert_length(1000, 22_050, 24_000)


def test_nothing_may_follow_the_end_and_wrong_input_is_refused(by):
    stream = StreamResampler(22_050, 24_000, by)
    with pytest.raises(ValueError, match="float32"):
        stream.push(np.zeros(4, np.int16))
    stream.finish()
    with pytest.raises(ValueError, match="finished"):
        stream.push(noise(4))
