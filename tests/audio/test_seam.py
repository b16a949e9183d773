"""Each measure of a join sees the fault it is for, and lets a clean fade pass."""

from dataclasses import replace

import numpy as np
import pytest

from abr_tts.audio import seam
from abr_tts.audio.pcm import to_float, to_int16
from abr_tts.audio.resample import convert
from tests.signals import speech_like, tone

RATE, FRAME, AT = 48_000, 960, 24_000
RISE = 0.5 - 0.5 * np.cos(np.pi * (np.arange(FRAME) + 0.5) / FRAME)
RNG = np.random.default_rng(4)
CLEAN = seam.Row(41, -2.0, 1.0, 1.0, -1.0, -1.0, 0.01, 0)


def speech(seed: int = 1) -> np.ndarray:
    return convert(to_float(speech_like(22_050, 1.0, seed)), 22_050, RATE).astype(float)


def sine(hz: float = 997.0) -> np.ndarray:
    return tone(RATE, 1.0, hz) / 32768


def rough(sound: np.ndarray, level: float = 0.005) -> np.ndarray:
    """What a codec makes of it: smooth noise of its own."""
    noise = np.convolve(RNG.standard_normal(len(sound)), np.hanning(33) / 8, "same")
    return sound + level * noise


def late(sound: np.ndarray, samples: float) -> np.ndarray:
    turned = np.fft.rfft(sound) * np.exp(-2j * np.pi * np.fft.rfftfreq(len(sound)) * samples)
    return np.fft.irfft(turned, len(sound))


def faded(old: np.ndarray, new: np.ndarray, at: int = AT) -> np.ndarray:
    """As a player joins them, rounded as it rounds."""
    fade = old[at : at + FRAME] * (1 - RISE) + new[at : at + FRAME] * RISE
    return rounded(np.concatenate([old[:at], fade, new[at + FRAME :]]))


def cut(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    return rounded(np.concatenate([old[: AT + FRAME // 2], new[AT + FRAME // 2 :]]))


def rounded(sound: np.ndarray) -> np.ndarray:
    return to_int16(sound) / 32768


def as_sent(old: np.ndarray, new: np.ndarray, at: int = AT) -> tuple[np.ndarray, np.ndarray]:
    return old[at - FRAME : at + FRAME], new[at : at + 2 * FRAME]


@pytest.mark.parametrize("sound", [speech(), sine(), np.zeros(RATE)])
def test_a_fade_adds_no_high_energy_and_no_bend_and_a_cut_does(sound):
    away = 0.2 * np.sin(2 * np.pi * 300 * (np.arange(RATE) - AT) / RATE + np.pi / 2)
    tracks = [rounded(sound + away), rounded(sound)]
    smooth, click = faded(*tracks), cut(*tracks)
    assert seam.high_energy_db(smooth, tracks, AT, RATE) <= 0.5
    assert seam.bend(smooth, tracks, as_sent(*tracks), AT, RATE) <= 1.05
    assert seam.high_energy_db(click, tracks, AT, RATE) > 30
    assert seam.bend(click, tracks, as_sent(*tracks), AT, RATE) > 1.1


def test_rounding_alone_is_no_click():
    quiet = [rounded(2e-5 * RNG.standard_normal(RATE)) for _ in range(3)]
    assert seam.high_energy_db(quiet[0], quiet[1:], AT, RATE) <= 1.0
    assert seam.bend(quiet[0], quiet[1:], as_sent(*quiet[1:]), AT, RATE) <= 1.1
    nothing = np.zeros(RATE)
    assert seam.high_energy_db(nothing, [nothing], AT, RATE) < -100
    assert seam.bend(nothing, [nothing], as_sent(nothing, nothing), AT, RATE) == 0


def test_high_energy_needs_a_rate_that_can_hold_it():
    with pytest.raises(ValueError, match="22050 Hz holds nothing"):
        seam.high_energy_db(np.zeros(22_050), [np.zeros(22_050)], 9_000, 22_050)


def test_a_click_outside_the_fade_is_high_energy_but_no_bend_of_the_fade():
    sound = rounded(sine())
    clicked = sound.copy()
    clicked[AT + FRAME + 200] += 0.1
    assert seam.high_energy_db(clicked, [sound], AT, RATE) > 20
    assert seam.bend(clicked, [sound], as_sent(sound, sound), AT, RATE) <= 1


def test_a_new_track_that_has_not_settled_bends_where_the_old_one_is_the_louder():
    old, new = sine(), sine()
    new[AT + 200 : AT + 230] += 0.3
    bend = seam.bend(faded(old, new), [old, sine()], as_sent(old, new), AT, RATE)
    assert bend > 1.5
    new = sine()
    new[AT + 700 : AT + 730] += 0.3
    assert seam.bend(faded(old, new), [old, sine()], as_sent(old, new), AT, RATE) <= 1


def test_the_residual_of_a_fade_is_below_the_worse_track():
    source = speech()
    worse, better = rough(source, 0.02), rough(source, 0.002)
    for pair in ((worse, better), (better, worse)):
        assert seam.residual_db(faded(*pair), pair, source, AT, RATE) < 0
    unsettled = better.copy()
    unsettled[AT : AT + 2 * FRAME] *= 0.5
    assert seam.residual_db(faded(worse, unsettled), (worse, better), source, AT, RATE) > 3


def test_tracks_half_a_period_apart_cancel_a_tone_and_no_meter_of_clicks_sees_it():
    old, new = sine(), late(sine(1000.0), 312 % 48)
    spliced = faded(sine(1000.0), new)
    assert seam.tone_deviation(spliced, [sine(1000.0), new], AT, RATE, 1000.0) > 0.5
    assert seam.gain_dip_db(spliced, as_sent(sine(1000.0), new), sine(1000.0), AT, RATE) < -6
    assert seam.high_energy_db(spliced, [sine(1000.0), new], AT, RATE) <= 1
    assert seam.bend(spliced, [sine(1000.0), new], as_sent(sine(1000.0), new), AT, RATE) <= 1.1
    aligned = faded(old, 0.99 * old)
    assert seam.tone_deviation(aligned, [old, 0.99 * old], AT, RATE, 997.0) < 0.001


def test_a_tone_that_swells_leaves_the_tracks_too():
    sound = sine()
    swollen = sound.copy()
    swollen[AT : AT + FRAME] *= 1 + 0.1 * np.sin(np.pi * np.arange(FRAME) / FRAME)
    assert seam.tone_deviation(swollen, [sound], AT, RATE, 997.0) == pytest.approx(0.1, abs=0.02)


def test_a_dip_counts_only_where_there_is_something_to_hear():
    loud = speech()
    noises = [0.003 * np.sign(RNG.standard_normal(RATE)) for _ in range(2)]
    hole = rounded(noises[0] * 0.1)
    assert seam.gain_dip_db(hole, as_sent(*noises, 12_000), loud, 12_000, RATE) <= 0
    assert seam.gain_dip_db(0.001 * loud, as_sent(0.002 * loud, 0.002 * loud), loud, AT, RATE) == 0
    assert seam.gain_dip_db(hole, as_sent(*noises), np.zeros(RATE), AT, RATE) == 0


@pytest.mark.parametrize("rate", [48_000, 22_050])
@pytest.mark.parametrize("samples", [0.0, 0.25, -2.5, 155.0, 310.0])
def test_lag_is_found_to_a_fraction_of_a_sample_at_48_khz(samples, rate):
    sound = to_float(speech_like(rate, 3.0, 2)).astype(float)
    delayed = late(sound, samples * rate / 48_000)
    assert seam.lag(sound, delayed, rate) == pytest.approx(samples, abs=0.05)


@pytest.mark.parametrize("lost", [0, 1, -1, 37, 960, -960])
def test_samples_lost_or_repeated_are_counted(lost):
    sound = speech(3)
    track = rough(sound)[5_000:20_000]
    heard = sound[5_000 + lost : 20_000 + lost]
    assert seam.shift(track, heard, 1_200) == -lost


def test_silence_is_not_displaced():
    assert seam.shift(1e-4 * speech()[:9_000], 1e-4 * speech(2)[:9_000], 1_200) == 0


def test_a_row_within_all_bounds_has_no_faults():
    assert seam.Bounds().faults(CLEAN) == []
    edge = replace(CLEAN, n=40, hf_db_max=1.0, d2_max=1.1, residual_db_median=0.0, gain_dip_db_min=-3.0)
    assert seam.Bounds().faults(edge) == []


@pytest.mark.parametrize(("name", "value"), [
    ("n", 39), ("hf_db_max", 1.01), ("d2_max", 1.11), ("d2_sweep_max", 1.51), ("residual_db_median", 0.01),
    ("gain_dip_db_min", -3.01), ("tone_amp_dev_max", 0.021), ("lost_samples", 1), ("hf_db_max", float("nan")),
])  # fmt: skip
def test_each_bound_is_named_when_it_is_missed(name, value):
    assert seam.Bounds().faults(replace(CLEAN, **{name: value})) == [name]


def test_a_hybrid_track_may_lie_two_samples_early():
    assert seam.lag_bound("opus-hybrid") == 2.5
    assert seam.lag_bound("opus-celt") == seam.lag_bound("pcm22") == 0.5
