"""What a listener heard of one utterance: its sound with and without the waits, and its record."""

import math

import numpy as np
import pytest
from versus.heard import Ear

from abr_tts.sim.score import qoe, stalled_s

RATE = 1_000


def heard(*frames: tuple[str, float], rate: int = RATE) -> Ear:
    """An ear that heard frames of 20 ms, numbered from 1: (rung, seconds stalled by then)."""
    ear = Ear(audio_s=len(frames) * 0.02, asked_at=10.0, rate=rate)
    stalls, before = 0, 0.0
    for number, (rung, stall_s) in enumerate(frames, 1):
        stalls += stall_s > before
        before = stall_s
        at = 10.5 + number * 0.02 + stall_s
        ear.frame(at, np.full(rate // 50, number, np.int16), rung, stalls, stall_s)
    ear.complete = True
    return ear


def test_a_wait_is_silence_in_what_was_heard_and_missing_in_the_speech():
    ear = heard(("opus24", 0.0), ("opus24", 0.1), ("opus24", 0.1))
    assert list(ear.speech()) == [1] * 20 + [2] * 20 + [3] * 20
    assert list(ear.as_heard()) == [1] * 20 + [0] * 100 + [2] * 20 + [3] * 20


def test_two_waits_stand_where_they_were():
    ear = heard(("opus24", 0.0), ("opus24", 0.02), ("opus24", 0.06))
    assert list(ear.as_heard()) == [1] * 20 + [0] * 20 + [2] * 20 + [0] * 40 + [3] * 20
    assert ear.silences == [(20, pytest.approx(0.02)), (40, pytest.approx(0.04))]


def test_without_a_wait_both_sounds_are_one():
    ear = heard(("opus24", 0.0), ("opus48", 0.0))
    assert np.array_equal(ear.speech(), ear.as_heard())


def test_nothing_heard_is_no_sound():
    ear = Ear(2.0, 10.0)
    assert len(ear.speech()) == len(ear.as_heard()) == 0


def test_neighbouring_frames_of_one_rung_are_one_run_and_invented_ones_earn_nothing():
    ear = heard(("opus24", 0.0), ("opus24", 0.0), ("", 0.0), ("opus24", 0.0), ("opus48", 0.0))
    assert ear.runs == [("opus24", pytest.approx(0.06)), ("opus48", pytest.approx(0.02))]
    assert ear.samples == 5 * 20


def test_the_record_has_the_times_of_the_plan():
    record = heard(("opus24", 0.0), ("opus24", 0.1)).utterance(zero=4.0, first_pcm_at=10.12)
    assert record.asked_at == 6.0
    assert record.startup_s == pytest.approx(0.52)
    assert record.delivery_s == pytest.approx(0.40)
    assert (record.stalls, record.stall_s, record.complete) == (1, pytest.approx(0.1), True)


def test_a_hole_too_long_to_be_made_up_counts_as_stalled():
    ear = heard(("opus24", 0.0))
    ear.hole_s = 0.3
    assert stalled_s(ear.utterance(0.0, 10.1)) == pytest.approx(0.3)


def test_an_utterance_that_never_began_is_as_bad_as_one_can_be():
    ear = Ear(2.0, 10.0, fault="ConnectFailed: no answer")
    ear.ended_at = 72.0
    record = ear.utterance(zero=4.0, first_pcm_at=None)
    assert record.startup_s == record.delivery_s == math.inf
    assert stalled_s(record) == 2.0
    assert qoe(record) == pytest.approx((-4 * 2.0 - 62.0) / 2.0)
