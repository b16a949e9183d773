"""What the link may carry, as chances: samples, bounds, time, and what is usual."""

import math

import pytest

from abr_tts.control.acks import Sample
from abr_tts.control.belief import GRID, STEPS, Belief
from abr_tts.control.estimate import Estimate

START_KBPS = 300.0


def after(*samples: Sample, apart_s: float = 0.1) -> Belief:
    belief = Belief(START_KBPS)
    for number, sample in enumerate(samples):
        belief.add(sample, number * apart_s)
    return belief


def seen(kbps: float, times: int = 5) -> Belief:
    """A link that was the limit for a while."""
    return after(*[Sample(kbps, 0.2, True)] * times)


def at_least(kbps: float) -> Sample:
    return Sample(kbps, 0.1, False)


def test_before_any_sample_nothing_is_known_and_the_guess_is_the_middle():
    belief = Belief(START_KBPS)
    assert belief.kbps is None
    assert belief.quantile(0.5) == pytest.approx(START_KBPS, rel=0.15)
    assert belief.keep(0.05) is None


def test_chances_always_sum_to_one():
    belief = seen(500)
    belief.add(Sample(0.0, 1.0, False, 20.0), 3.0)
    belief.pass_time(60.0)
    assert len(belief.chances) == STEPS
    assert math.fsum(belief.chances) == pytest.approx(1.0)
    assert math.fsum(belief.usual) == pytest.approx(1.0)


@pytest.mark.parametrize("kbps", [20, 150, 500, 2_000])
def test_a_link_that_is_the_limit_is_believed_within_a_tenth(kbps):
    belief = seen(kbps)
    assert belief.kbps == pytest.approx(kbps, rel=0.12)
    assert belief.carries(kbps / 2) > 0.95
    assert belief.carries(kbps * 2) < 0.05


def test_a_lower_bound_rules_out_what_is_below_and_says_nothing_of_what_is_above():
    belief = after(*[at_least(400)] * 5)
    assert belief.carries(300) > 0.95
    assert belief.carries(1_000) > 0.3
    before, again = belief.chances, after(*[at_least(400)] * 6)
    assert again.chances[-1] / again.chances[-2] == pytest.approx(before[-1] / before[-2], rel=0.05)
    assert not belief.firm


def test_an_upper_bound_rules_out_what_is_above():
    belief = after(Sample(0.0, 1.0, False, 50.0), Sample(0.0, 1.0, False, 50.0))
    assert belief.carries(100) < 0.05
    assert belief.carries(20) > 0.3


@pytest.mark.parametrize("sample", [Sample(0.0, 1.0, False, 2.0), Sample(2.0, 1.0, True)])
def test_less_than_the_lowest_step_is_the_lowest_step(sample):
    belief = seen(1_000)
    for at in (1.5, 2.5):
        belief.add(sample, at)
    assert belief.median < 12


def test_two_long_samples_are_enough_to_believe_a_fall():
    belief = seen(2_000)
    for now in (1.0, 1.5):
        belief.add(Sample(20.0, 0.5, True), now)
    assert belief.kbps < 40


def test_what_was_known_spreads_with_time():
    belief = seen(500)
    now = belief.carries(400)
    belief.pass_time(3.0)
    soon = belief.carries(400)
    belief.pass_time(60.0)
    assert now > soon > belief.carries(400)


def test_time_brings_back_what_is_usual_for_the_listener():
    belief = Belief(START_KBPS)
    for number in range(600):
        belief.add(Sample(2_000.0, 0.2, True), number / 10)
    belief.add(Sample(30.0, 0.5, True), 60.5)
    belief.add(Sample(30.0, 0.5, True), 61.0)
    assert belief.carries(1_000) < 0.1
    belief.pass_time(90.0)
    assert belief.carries(1_000) > 0.4


def test_a_remembered_lower_bound_stays_one():
    bound = Belief(START_KBPS)
    bound.recall(Estimate(400.0, 0.05, 10.0, firm=False), 12.0)
    limit = Belief(START_KBPS)
    limit.recall(Estimate(400.0, 0.05, 10.0), 12.0)
    assert bound.carries(1_000) > 0.25 > limit.carries(1_000)
    assert (bound.firm, limit.firm) == (False, True)


def test_what_is_kept_is_what_is_recalled():
    belief = seen(500)
    kept = belief.keep(0.05)
    again = Belief(START_KBPS)
    again.recall(kept, 1.0)
    assert (again.chances, again.usual, again.told_at) == (belief.chances, belief.usual, belief.told_at)
    assert kept.min_rtt_s == 0.05


def test_chances_of_another_grid_are_not_taken():
    belief = Belief(START_KBPS)
    belief.recall(Estimate(400.0, 0.05, 10.0, True, (0.5, 0.5), (0.5, 0.5)), 10.0)
    assert len(belief.chances) == STEPS
    assert belief.kbps == pytest.approx(400, rel=0.5)


@pytest.mark.parametrize("kbps", [1e-9, GRID[0] / 100, GRID[-1] * 100, 1e12])
def test_rates_beyond_the_grid_are_its_ends(kbps):
    belief = after(Sample(kbps, 0.2, True), Sample(kbps, 0.2, True))
    assert GRID[0] / 2 <= belief.kbps <= GRID[-1] * 2
    assert belief.carries(1.0) == pytest.approx(1.0)
    assert belief.carries(1e12) == 0.0


def test_a_link_may_die_in_a_moment_as_often_as_it_usually_has():
    calm, failing = Belief(START_KBPS), Belief(START_KBPS)
    for number in range(600):
        calm.add(Sample(1_000.0, 0.2, True), number / 10)
        failing.add(Sample(10.0 if number % 60 > 40 else 1_000.0, 0.2, True), number / 10)
    assert calm.carries(20.0, 1.0) > failing.carries(20.0, 1.0)


def test_it_seldom_wanders_to_where_the_link_never_is():
    steady, swinging = Belief(START_KBPS), Belief(START_KBPS)
    for number in range(600):
        steady.add(Sample(150.0, 0.2, True), number / 10)
        swinging.add(Sample(40.0 if number % 60 > 40 else 150.0, 0.2, True), number / 10)
    for belief in (steady, swinging):
        for number in range(600, 620):
            belief.add(Sample(150.0, 0.2, True), number / 10)

    def falls(belief: Belief, in_s: float) -> float:
        return math.fsum(one for kbps, one in zip(GRID, belief.soon(in_s), strict=True) if kbps < 57)

    assert falls(steady, 5.0) < falls(swinging, 5.0) / 2
    assert falls(steady, 0.0) < falls(steady, 5.0)


def test_looking_ahead_changes_nothing_and_is_a_chance_still():
    belief = seen(500)
    before = belief.chances
    assert math.fsum(belief.soon(5.0)) == pytest.approx(1.0)
    assert belief.soon(0.0) == pytest.approx(before)
    assert belief.chances == before


def test_left_alone_it_is_where_it_usually_is():
    belief = seen(1_000, 50)
    for number in range(400):
        belief.pass_time(6.0 + number)
    assert belief.chances == pytest.approx(belief.usual, abs=0.02)
