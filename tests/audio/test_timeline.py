"""The timeline gives the same samples whatever chunks they came in, and holds no more than it must."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abr_tts.audio.timeline import BLOCK, Timeline

RATE = 22_050
FRAME = 441


def noise(samples: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-32768, 32768, samples).astype(np.int16)


def filled(samples: np.ndarray, rate: int = RATE) -> Timeline:
    timeline = Timeline(rate)
    timeline.append(samples)
    return timeline


@given(st.lists(st.integers(0, 3 * BLOCK), max_size=8), st.data())
def test_any_cut_of_the_input_reads_back_as_the_whole(sizes, data):
    whole = noise(sum(sizes))
    timeline, at = Timeline(RATE), 0
    for size in sizes:
        timeline.append(whole[at : at + size])
        at += size
    first = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(first, len(whole)))
    assert timeline.produced == len(whole)
    assert np.array_equal(timeline.read(first, stop), whole[first:stop])


@given(st.lists(st.tuples(st.integers(0, 9000), st.integers(0, 9000)), max_size=12))
def test_samples_keep_their_index_while_earlier_ones_are_released(steps):
    whole, timeline, at = noise(9000 * 12), Timeline(RATE), 0
    for size, released in steps:
        timeline.append(whole[at : at + size])
        at += size
        timeline.release(timeline.held_from + released)
        assert timeline.held_samples == at - timeline.held_from
        assert np.array_equal(timeline.read(timeline.held_from, at), whole[timeline.held_from : at])


def test_storage_never_exceeds_what_is_held_by_more_than_two_blocks():
    timeline, second = Timeline(RATE), noise(RATE)
    for _ in range(60):
        timeline.append(second)
        timeline.release(timeline.produced - RATE)
    stored = BLOCK * len(timeline._blocks)
    assert timeline.held_samples == RATE
    assert stored <= RATE + 2 * BLOCK


def test_everything_released_leaves_no_storage_and_appending_goes_on():
    timeline = filled(noise(BLOCK + 5))
    timeline.release(BLOCK + 5)
    more = noise(10, seed=1)
    timeline.append(more)
    assert np.array_equal(timeline.read(BLOCK + 5, BLOCK + 15), more)
    timeline.release(timeline.produced)
    assert len(timeline._blocks) <= 1


def test_reads_are_copies():
    timeline = filled(noise(10))
    timeline.read(0, 10)[:] = 7
    assert not np.array_equal(timeline.read(0, 10), np.full(10, 7))


def test_appended_arrays_may_be_reused_by_the_caller():
    buffer = noise(10)
    before = buffer.copy()
    timeline = filled(buffer)
    buffer[:] = 0
    assert np.array_equal(timeline.read(0, 10), before)


def test_zeros_stand_before_the_start_and_after_the_end():
    samples = noise(10)
    timeline = filled(samples)
    timeline.end()
    got = timeline.read(-3, 15)
    assert got.tolist() == [0, 0, 0, *samples.tolist(), 0, 0, 0, 0, 0]
    assert timeline.read(-8, -2).tolist() == [0] * 6
    assert timeline.read(100, 103).tolist() == [0] * 3


def test_what_is_not_produced_cannot_be_read_until_the_end_is_known():
    timeline = filled(noise(10))
    with pytest.raises(LookupError, match="not produced"):
        timeline.read(5, 11)
    timeline.end()
    assert timeline.read(9, 11)[1] == 0


def test_what_is_released_cannot_be_read():
    timeline = filled(noise(10))
    timeline.release(4)
    with pytest.raises(LookupError, match="released"):
        timeline.read(3, 10)
    assert len(timeline.read(4, 10)) == 6


def test_releasing_backwards_or_past_the_end_does_no_harm():
    timeline = filled(noise(10))
    timeline.release(6)
    timeline.release(2)
    assert timeline.held_from == 6
    timeline.release(1000)
    assert (timeline.held_from, timeline.held_samples) == (10, 0)


def test_whole_frames_are_ready_and_the_end_rounds_up():
    timeline = filled(noise(FRAME - 1))
    assert timeline.ready == 0
    timeline.append(noise(1))
    assert timeline.ready == 960
    timeline.append(noise(1))
    assert timeline.ready == 960
    timeline.end()
    assert timeline.ready == 1920


@pytest.mark.parametrize(("samples", "ticks"), [(0, 0), (1, 960), (FRAME, 960), (FRAME + 1, 1920)])
def test_an_ended_timeline_is_whole_frames_long(samples, ticks):
    timeline = filled(noise(samples))
    assert timeline.length is None
    timeline.end()
    assert (timeline.ready, timeline.length) == (ticks, samples)


def test_nothing_may_follow_the_end():
    timeline = Timeline(RATE)
    timeline.end()
    timeline.end()
    with pytest.raises(ValueError, match="after the end"):
        timeline.append(noise(1))


def test_faults_of_the_caller_are_refused():
    with pytest.raises(ValueError, match="20 ms"):
        Timeline(11_025)
    with pytest.raises(ValueError, match="int16"):
        Timeline(RATE).append(np.zeros(4, np.float32))
    with pytest.raises(ValueError, match="back"):
        Timeline(RATE).read(5, 4)
