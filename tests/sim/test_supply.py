"""The integral of a direction's capacity, against adding up and against the link itself."""

import random

import pytest

from abr_tts.sim.link import Capacity
from abr_tts.sim.scenario import Direction
from abr_tts.sim.supply import Supply

STEPS = ((0.0, 8.0), (1.0, 16.0), (2.0, 0.0), (3.0, 80.0))  # 1, 2, 0, 10 kB/s; 13 kB a round of 4 s


def test_what_is_carried_by_a_second_adds_up_over_steps_and_rounds():
    supply = Supply(Direction(STEPS, 0.0), 4.0)
    seconds = (0.0, 0.5, 1.5, 2.5, 3.5, 4.0, 9.5)
    assert [supply.by(at) for at in seconds] == pytest.approx([0, 500, 2000, 3000, 8000, 13_000, 28_000])


def test_when_is_the_first_second_by_which_so_much_is_through():
    supply = Supply(Direction(STEPS, 0.0), 4.0)
    sizes = (500, 3000, 3001, 13_000, 13_500)
    assert [supply.when(size) for size in sizes] == pytest.approx([0.5, 2.0, 3.0001, 4.0, 4.5])


def test_in_a_drop_window_nothing_is_carried():
    supply = Supply(Direction(((0.0, 8.0),), 0.0, drop_windows=((1.0, 3.0),)), 10.0)
    assert [supply.by(at) for at in (1.0, 3.0, 4.0, 10.0)] == pytest.approx([1000, 1000, 2000, 8000])
    assert supply.when(1001) == pytest.approx(3.001)


def test_a_direction_that_never_carries_anything_is_refused():
    with pytest.raises(ValueError, match="never carries"):
        Supply(Direction(((0.0, 8.0),), 0.0, drop_windows=((0.0, 10.0),)), 10.0)


def test_it_is_the_links_own_capacity():
    rng = random.Random(1)
    supply, link, at = Supply(Direction(STEPS, 0.0), 4.0), Capacity(STEPS, 4.0), 0.0
    for _ in range(200):
        at += rng.expovariate(5)
        size = rng.randrange(1, 3000)
        done = link.serve(at, size)
        assert supply.when(supply.by(at) + size) == pytest.approx(done, abs=1e-6)
        at = done
