"""How many workers there should be, with time as an argument."""

from abr_tts.engine.ray.scale import Bounds, Scale

BOUNDS = Bounds(least=2, most=6, queue_s=1.0, idle_s=60.0)


def test_a_short_burst_starts_nothing_and_a_queue_that_stays_does():
    scale = Scale(BOUNDS)
    assert scale.more(10.0, 3, 2, 0) == 0
    assert scale.more(10.99, 3, 2, 0) == 0
    assert scale.more(11.0, 3, 2, 0) == 3


def test_a_queue_that_was_empty_in_between_begins_anew():
    scale = Scale(BOUNDS)
    scale.more(10.0, 3, 2, 0)
    scale.more(10.5, 0, 2, 0)
    assert scale.more(11.2, 3, 2, 0) == 0 and scale.more(12.2, 3, 2, 0) == 3


def test_workers_on_their_way_count_and_the_most_is_never_passed():
    scale = Scale(BOUNDS)
    scale.more(0.0, 9, 2, 0)
    assert scale.more(1.0, 3, 4, 2) == 1
    assert scale.more(1.0, 2, 4, 2) == 0
    assert scale.more(1.0, 9, 4, 0) == 2, "up to the most"
    assert scale.more(1.0, 9, 6, 0) == 0 and scale.more(1.0, 9, 7, 0) == 0


def test_those_who_idle_long_go_down_to_the_least():
    scale = Scale(BOUNDS)
    assert scale.fewer(59.9, 4, [0.0, 0.0]) == 0
    assert scale.fewer(60.0, 4, [0.0, 0.0, 0.1]) == 2
    assert scale.fewer(60.0, 3, [0.0, 0.0]) == 1, "two stay"
    assert scale.fewer(999.0, 2, [0.0, 0.0]) == 0
    assert scale.fewer(999.0, 1, [0.0]) == 0


def test_equal_bounds_never_change_anything():
    scale = Scale(Bounds(2, 2, 0.0, 0.0))
    assert scale.more(0.0, 9, 2, 0) == 0 and scale.fewer(9.0, 2, [0.0, 0.0]) == 0
