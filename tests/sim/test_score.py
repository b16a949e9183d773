"""The quality of experience is what DESIGN's formula gives by hand."""

import math

import pytest

from abr_tts.errors import ConfigError
from abr_tts.sim.result import Result, Utterance
from abr_tts.sim.score import percentile, qoe, summarise


def utterance(runs, *, audio_s=10.0, delivery_s=0.1, stalls=0, stall_s=0.0, **more) -> Utterance:
    ended = 1 + audio_s + stall_s
    return Utterance(
        audio_s, asked_at=0.0, startup_s=delivery_s + 0.1, delivery_s=delivery_s, ended_at=ended,
        complete=more.pop("complete", True), stalls=stalls, stall_s=stall_s, runs=tuple(runs), **more,
    )  # fmt: skip


def session(*utterances: Utterance) -> Result:
    return Result("made up", utterances, 60.0, 0, 0, 0)


def test_an_utterance_by_hand():
    heard = utterance(
        [("opus24", 4.0), ("pcm22", 5.0), ("opus12", 1.0)], delivery_s=0.2, stalls=2, stall_s=0.5
    )
    # 4 x .90 + 5 x 1 + 1 x .70 = 9.3; stalls 4 x .5 + .25 x 2 = 2.5
    # changes (.25 x .1 + .02) + (.25 x .3 + .02) = .14; start .2; over 10 s
    assert qoe(heard) == pytest.approx((9.3 - 2.5 - 0.14 - 0.2) / 10)


def test_a_change_between_rungs_of_equal_utility_still_costs_its_event():
    assert qoe(utterance([("opus64", 10.0)])) - qoe(utterance([("opus64", 5.0), ("opus48", 5.0)])) == (
        pytest.approx(0.002)
    )


def test_a_policy_may_bring_its_own_utilities():
    heard = utterance([("pcm16k", 10.0)])
    assert qoe(heard, {"pcm16k": 0.95}) - qoe(heard) == pytest.approx(0.09)
    with pytest.raises(ConfigError, match="no utility for the rung 'pcm16k'; there are opus24"):
        qoe(heard, {"opus24": 0.9})


def test_speech_that_was_never_heard_counts_as_stalled():
    heard = utterance([("opus24", 4.0)], complete=False)
    assert qoe(heard) == pytest.approx((3.6 - 4 * 6 - 0.1) / 10)
    silent = utterance([], complete=False, delivery_s=math.inf)
    assert qoe(silent) == pytest.approx((-4 * 10 - 11) / 10)


def test_the_summary_of_two_sessions_by_hand():
    good = utterance([("pcm22", 30.0)], audio_s=30.0, wire_bytes=1_000_000)
    poor = utterance([("opus24", 5.0), ("opus12", 5.0)], stalls=1, stall_s=1.0, wire_bytes=50_000)
    summary = summarise([session(good), session(poor)])
    assert summary.qoe == pytest.approx((30 * qoe(good) + 10 * qoe(poor)) / 40)
    assert summary.stall_pct == pytest.approx(2.5)
    assert summary.stall_free_pct == 50
    assert summary.stalls_per_min == summary.switches_per_min == pytest.approx(1.5)
    assert summary.bytes_per_s == pytest.approx(1_050_000 / 40)
    assert summary.p10_qoe == pytest.approx(qoe(poor) + 0.1 * (qoe(good) - qoe(poor)))
    assert summary.startup_ms == {"p50": pytest.approx(100), "p95": pytest.approx(100)}
    assert summary.first_sound_ms["p50"] == pytest.approx(200)
    assert summary.played_seconds == {"pcm22": 30.0, "opus24": 5.0, "opus12": 5.0}
    assert (summary.utterances, summary.audio_s) == (2, 40)
    assert summary.as_json()["stall_free_pct"] == 50


def test_nothing_has_no_summary():
    with pytest.raises(ValueError, match="nothing was spoken"):
        summarise([session()])


@pytest.mark.parametrize(("share", "value"), [(0, 1), (10, 1.3), (50, 2.5), (100, 4)])
def test_percentiles_lie_between_neighbours(share, value):
    assert percentile([1, 2, 3, 4], share) == pytest.approx(value)
