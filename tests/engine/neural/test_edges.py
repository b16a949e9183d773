"""The silence around speech: cut to what the mark asks for, and never a step or a sample of speech lost."""

import numpy as np
import pytest

from abr_tts.engine.neural.edges import (
    CLAUSE_S,
    FADE_S,
    LEAD_S,
    QUIET,
    SENTENCE_S,
    WORD_S,
    pause_after,
    trimmed,
)

RATE = 24_000


def spoken(lead_s, sound_s, tail_s, floor=0.0):
    """Sound between silences with a noise of amplitude `floor`."""
    sound = 0.3 * np.sin(2 * np.pi * 200 * np.arange(round(sound_s * RATE)) / RATE) + 0.01
    noise = floor * np.random.default_rng(1).uniform(-1, 1, round((lead_s + sound_s + tail_s) * RATE))
    noise[round(lead_s * RATE) :][: len(sound)] += sound
    return noise.astype(np.float32)


@pytest.mark.parametrize(
    ("text", "pause"),
    [
        ("Yes.", SENTENCE_S), ("好。", SENTENCE_S), ("Really?!", SENTENCE_S), ("He said “no.”", SENTENCE_S),
        ("Well,", CLAUSE_S), ("好，", CLAUSE_S), ("first: ", CLAUSE_S), ("(so)", WORD_S), ("half", WORD_S),
        ("", WORD_S), ("  ", WORD_S),
    ],
)  # fmt: skip
def test_the_pause_is_that_of_the_mark(text, pause):
    assert pause_after(text) == pause


def test_what_is_kept_is_the_speech_with_a_little_silence():
    audio = spoken(0.3, 1.0, 0.5, floor=QUIET / 2)
    cut = trimmed(audio, RATE, 0.2)
    assert len(cut) / RATE == pytest.approx(LEAD_S + 1.0 + 0.2, abs=0.001)
    begin = round((0.3 - LEAD_S) * RATE)
    speech = slice(round(LEAD_S * RATE), round((LEAD_S + 1.0) * RATE))
    assert np.array_equal(cut[speech], audio[begin:][speech])


def test_a_cut_is_faded_and_an_end_that_was_there_is_not():
    audio = spoken(0.3, 0.5, 0.5, floor=QUIET / 2)
    cut = trimmed(audio, RATE, 0.2)
    assert cut[0] == 0 and abs(cut[-1]) < QUIET / 50
    assert np.abs(cut[: round(FADE_S * RATE)]).max() > 0
    short = spoken(0.01, 0.5, 0.1, floor=QUIET / 2)
    assert np.array_equal(trimmed(short, RATE, 0.2), short), "nothing to cut, nothing to fade"


def test_sound_up_to_the_very_ends_is_kept_whole():
    audio = spoken(0.0, 0.5, 0.0)
    assert np.array_equal(trimmed(audio, RATE, 0.4), audio)


def test_silence_is_nothing():
    assert not trimmed(np.zeros(RATE, np.float32), RATE, 0.4).size
    assert not trimmed(np.zeros(0, np.float32), RATE, 0.4).size


def test_a_peak_beyond_full_scale_is_left_for_the_worker_to_clip():
    audio = 4 * spoken(0.3, 0.5, 0.5)
    assert trimmed(audio, RATE, 0.2).max() == audio.max() > 1
