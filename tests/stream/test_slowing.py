"""Slower speech keeps its pitch and its level, has no clicks, and says what it did."""

import numpy as np
import pytest

from abr_tts.audio import seam
from abr_tts.audio.pcm import to_float, to_int16
from abr_tts.audio.resample import convert
from abr_tts.stream import slowing
from abr_tts.stream.slowing import SPEED, Slower

from ..signals import speech_like, sweep, tone
from .slowed import joins_of, slowed

RATE = 48_000
FRAME = 960
BOUNDS = seam.Bounds()


def speech(seed: int) -> np.ndarray:
    """Nothing of it lies above 11 kHz, so that a click is seen there."""
    return to_int16(convert(to_float(speech_like(22_050, 10.0, seed)), 22_050, RATE))


SOUNDS = {
    "a voice": speech(1),
    "another voice": speech(2),
    "a tone": tone(RATE, 3.0),
    "a low tone": tone(RATE, 3.0, 150.0),
    "a sweep": sweep(RATE, 3.0),
}


def clicks(pcm: np.ndarray) -> tuple[float, float]:
    """The worst joins: energy above 12.6 kHz in dB, and the sharpest bend."""
    joins = list(joins_of(pcm, RATE))
    assert len(joins) >= 20
    return (
        max(seam.high_energy_db(j.heard, j.tracks, j.at, RATE) for j in joins),
        max(seam.bend(j.heard, j.tracks, j.sent, j.at, RATE) for j in joins),
    )


@pytest.mark.parametrize("name", SOUNDS)
def test_no_join_can_be_heard_as_a_click(name):
    loud, sharp = clicks(SOUNDS[name])
    assert loud <= BOUNDS.hf_db_max
    assert sharp <= (BOUNDS.d2_sweep_max if name == "a sweep" else BOUNDS.d2_max)


def test_a_hard_cut_is_a_click(monkeypatch):
    monkeypatch.setattr(slowing, "_joined", lambda old, new, likeness: np.concatenate([old[:480], new[480:]]))
    loud, _ = clicks(SOUNDS["a voice"])
    assert loud > 10.0


@pytest.mark.parametrize("name", ["a voice", "another voice"])
def test_speech_stays_as_loud_over_a_join(name):
    joins = list(joins_of(SOUNDS[name], RATE))
    dips = [seam.gain_dip_db(j.heard, j.sent, j.tracks[0], j.at, RATE) for j in joins]
    assert min(dips) >= BOUNDS.gain_dip_db_min
    assert np.median(dips) > -0.1


def test_a_tone_keeps_its_level_over_a_join():
    for join in joins_of(SOUNDS["a tone"], RATE):
        assert seam.tone_deviation(join.heard, join.tracks, join.at, RATE, 1000.0) <= BOUNDS.tone_amp_dev_max


@pytest.mark.parametrize("hz", [110.0, 440.0, 1000.0])
def test_pitch_stays_and_time_grows_by_a_ninth(hz):
    pcm = tone(RATE, 4.0, hz)
    sound, _ = slowed(pcm, RATE)
    assert len(sound) / len(pcm) == pytest.approx(1 / SPEED, rel=0.005)
    spectrum = np.abs(np.fft.rfft(sound[: 3 * RATE] * np.hanning(3 * RATE)))
    assert np.argmax(spectrum) / 3 == pytest.approx(hz, abs=0.4)


@pytest.mark.parametrize("rate", [16_000, 22_050, 24_000, 48_000])
def test_speech_at_any_rate_takes_a_ninth_longer(rate):
    pcm = speech_like(rate, 10.0)
    sound, joins = slowed(pcm, rate)
    assert len(sound) == len(pcm) + sum(lag for *_, lag in joins)
    assert len(sound) / len(pcm) == pytest.approx(1 / SPEED, rel=0.005)
    assert all(0.0024 <= lag / rate <= 0.0151 for *_, lag in joins)


def test_what_is_not_slow_passes_bit_for_bit_and_at_once():
    pcm = speech(3)
    sound, joins = slowed(pcm, RATE, lambda number: False)
    assert np.array_equal(sound, pcm) and joins == []


def test_between_joins_every_sample_is_as_it_was():
    pcm = speech(3)
    sound, joins = slowed(pcm, RATE, lambda number: 100 <= number < 200)
    (first, given, _), (last, at, lag) = joins[0], joins[-1]
    assert first >= 100 * FRAME and np.array_equal(sound[:given], pcm[:first])
    assert np.array_equal(sound[at + FRAME :], pcm[last + FRAME - lag :])


def test_silence_between_is_never_joined_over():
    slower = Slower(RATE)
    for _ in range(50):
        slower.push(tone(RATE, 0.02), True)
    slower.cut()
    assert slower.push(tone(RATE, 0.02, 150.0), True) == 0


def test_the_short_last_frame_is_given_as_it_is():
    slower = Slower(RATE)
    for _ in range(50):
        slower.push(tone(RATE, 0.02), True)
    slower.take(slower.waiting)
    assert slower.push(np.ones(100, np.int16), True) == 0
    assert np.array_equal(slower.take(960), np.ones(100, np.int16))
