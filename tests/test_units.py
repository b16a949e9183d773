"""Conversions between ticks, samples and seconds are exact where they must be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abr_tts import units

RATES = [8_000, 16_000, 22_050, 24_000, 44_100, 48_000]


@pytest.mark.parametrize(("rate", "samples"), [(22_050, 441), (16_000, 320), (24_000, 480), (48_000, 960)])
def test_a_frame_is_a_whole_number_of_samples(rate, samples):
    assert units.frame_samples(rate) == samples


@pytest.mark.parametrize("rate", [0, -50, 11_025, 22_051])
def test_a_rate_that_does_not_divide_into_frames_is_refused(rate):
    with pytest.raises(ValueError, match="20 ms frames"):
        units.frame_samples(rate)


@given(st.sampled_from(RATES), st.integers(0, 10**7))
def test_frame_boundaries_convert_exactly_both_ways(rate, frame):
    ticks = frame * units.FRAME_TICKS
    samples = frame * units.frame_samples(rate)
    assert units.ticks_to_samples(ticks, rate) == samples
    assert units.samples_to_ticks(samples, rate) == ticks


@given(st.sampled_from(RATES), st.sampled_from(RATES), st.integers(0, 10**9))
def test_a_converted_length_is_within_half_a_sample(rate, out_rate, samples):
    assert abs(units.convert_length(samples, rate, out_rate) - samples * out_rate / rate) <= 0.5


def test_seconds_and_kilobits():
    assert units.ticks_to_seconds(48_000) == 1.0
    assert units.seconds_to_ticks(0.02) == units.FRAME_TICKS
    assert units.ticks_to_ms(960) == 20.0
    assert units.bytes_to_kbps(1_000, 2.0) == 4.0
