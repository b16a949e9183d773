"""How sure a difference between two arms is: resampled in pairs, by visit."""

import pytest
from versus.paired import Interval, difference, resamples


def mean(values):
    return sum(values) / len(values)


def test_a_difference_that_is_the_same_everywhere_is_certain_however_much_the_visits_differ():
    theirs = [0.1, 5.0, -3.0, 0.7]
    found = difference([value + 0.25 for value in theirs], theirs, mean)
    assert found == Interval(pytest.approx(0.25), pytest.approx(0.25), pytest.approx(0.25))


def test_the_interval_holds_the_difference_and_widens_with_its_spread():
    even = difference([1.0, 1.1] * 10, [0.0] * 20, mean)
    uneven = difference([0.0, 2.1] * 10, [0.0] * 20, mean)
    assert even.low < even.value < even.high
    assert uneven.high - uneven.low > 5 * (even.high - even.low)


def test_the_interval_is_that_of_the_theory():
    ours = [float(n % 10) for n in range(200)]
    found = difference(ours, [0.0] * 200, mean, rounds=4_000)
    half = 1.96 * 2.872 / 200**0.5
    assert found.low == pytest.approx(4.5 - half, abs=0.05)
    assert found.high == pytest.approx(4.5 + half, abs=0.05)


def test_a_visit_is_drawn_whole():
    visits = [[1.0] * 3, [0.0] * 3]
    drawn = {round(mean([mean(visits[i]) for i in chosen]), 2) for chosen in resamples(2, rounds=50)}
    assert drawn == {0.0, 0.5, 1.0}


def test_the_same_seed_draws_the_same_and_another_one_does_not():
    assert resamples(9, 20, seed=7) == resamples(9, 20, seed=7) != resamples(9, 20, seed=8)


def test_what_is_not_paired_is_refused():
    with pytest.raises(ValueError, match="2 visits beside 1"):
        difference([1.0, 2.0], [1.0], mean)
    with pytest.raises(ValueError):
        difference([], [], mean)
