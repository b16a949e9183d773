"""Laws of a path for bytes: none lost or swapped, rate and delay kept, a full queue takes no more."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abr_tts.control.ladder import SEGMENT_BYTES
from abr_tts.demo.path import FULL_SEGMENT, Path, not_emulated
from abr_tts.errors import ConfigError
from abr_tts.sim.scenario import Bursts, Direction, Scenario

PERIOD_S = 60.0
STORY = ((0.0, 2000.0), (8.0, 350.0), (18.0, 40.0), (26.0, 0.0), (29.0, 2000.0))


def direction(rate=((0.0, 1000.0),), delay_s=0.0, **more) -> Direction:
    return Direction(tuple(rate), delay_s, **more)


def path(way: Direction, now: float = 0.0) -> Path:
    return Path(way, PERIOD_S, "seed", now)


def flood(one: Path, until: float, now: float = 0.0) -> list[tuple[float, int]]:
    """Keep the queue full until then; (arrival, bytes) of everything that came out by then."""
    arrived = []
    while now <= until:
        if room := one.room(now):
            one.push(bytes(room), now)
        if data := one.pull(now):
            arrived.append((now, len(data)))
        timer = one.get_timer(waiting=True)
        assert timer is not None and timer >= now
        now = timer
    return arrived


def carried(arrived: list[tuple[float, int]], begin: float, end: float) -> float:
    """Bytes on the link, headers with them, that arrived in (begin, end]."""
    return sum(size for at, size in arrived if begin < at <= end) * FULL_SEGMENT / SEGMENT_BYTES


@given(
    st.lists(st.binary(min_size=1, max_size=9000), max_size=30),
    st.integers(0, 1000),
    st.sampled_from([0.0, 0.01, 0.2]),
)
def test_every_byte_comes_out_once_and_in_order_whatever_the_jitter(pieces, seed, jitter_s):
    rng = random.Random(seed)
    one = Path(direction(STORY, 0.05, jitter_s=jitter_s), PERIOD_S, str(seed), 0.0)
    now, out, times = 0.0, b"", []
    for piece in pieces:
        now += rng.expovariate(2.0)
        out += one.pull(now)
        one.push(piece, now)
    while not one.empty:
        now = one.get_timer()
        times.append(now)
        out += one.pull(now)
    assert out == b"".join(pieces)
    assert times == sorted(times)
    assert one.get_timer() is None


@pytest.mark.parametrize(("begin", "end", "kbps"), [(0, 8, 2000), (8, 18, 350), (18, 26, 40), (29, 40, 2000)])
def test_each_step_of_the_story_carries_its_rate_within_one_percent(begin, end, kbps):
    arrived = flood(path(direction(STORY, 0.02)), 45.0)
    margin_s = 0.3  # a segment that straddles a step belongs to both
    seconds = end - begin - 2 * margin_s
    rate = carried(arrived, begin + margin_s, end - margin_s) * 8 / 1000 / seconds
    assert rate == pytest.approx(kbps, rel=0.01, abs=FULL_SEGMENT * 8 / 1000 / seconds)


def test_at_rate_0_nothing_comes_out_and_nothing_is_lost():
    one = path(direction(STORY))
    one.push(b"before", 25.9)
    assert one.pull(25.99) == b"before"
    one.push(b"held", 26.5)
    assert one.pull(28.999) == b""
    assert one.get_timer() == pytest.approx(29.0, abs=0.001)
    assert one.pull(29.001) == b"held"


def test_a_lone_segment_takes_its_delay_and_the_time_to_send_it_with_its_headers():
    one = path(direction(((0.0, 40.0),), 0.05))
    one.push(bytes(448), 1.0)  # 500 bytes with headers: 100 ms at 40 kbit/s
    assert one.get_timer() == pytest.approx(1.15)
    assert one.pull(1.149) == b""
    assert len(one.pull(1.151)) == 448


def test_a_full_queue_has_no_room_until_a_segment_has_left():
    one = path(direction(((0.0, 120.0),), 0.5, queue_bytes=4 * FULL_SEGMENT))
    assert one.room(0.0) == 4 * SEGMENT_BYTES
    one.push(bytes(4 * SEGMENT_BYTES), 0.0)
    assert one.room(0.05) == 0
    assert one.get_timer(waiting=True) == pytest.approx(0.1)
    assert one.get_timer() == pytest.approx(0.6)
    assert one.room(0.1001) == SEGMENT_BYTES
    assert one.pull(0.1001) == b""


def test_what_a_radio_would_drop_in_a_window_is_held_until_it_is_over():
    one = path(direction(drop_windows=((2.0, 5.0),)))
    one.push(b"spoken in the tunnel", 3.0)
    assert one.pull(4.99) == b""
    assert one.pull(5.01) == b"spoken in the tunnel"


def test_drop_windows_that_leave_no_time_are_refused():
    with pytest.raises(ConfigError, match="nothing would ever arrive"):
        path(direction(drop_windows=((0.0, PERIOD_S),)))


def test_restarting_begins_the_schedule_anew_and_keeps_what_is_under_way():
    one = path(direction(STORY, 0.5), now=100.0)
    one.push(b"old", 107.9)
    one.restart(108.0)
    one.push(b"new", 109.0)  # in the ninth second of the old schedule, the second of the new one
    assert one.get_timer() == pytest.approx(108.4, abs=0.01)
    assert one.pull(108.45) == b"old"
    assert one.get_timer() == pytest.approx(109.5, abs=0.001)
    assert one.pull(109.51) == b"new"


def test_a_path_that_was_cleared_is_no_obstacle_and_has_lost_nothing():
    one = path(direction(((0.0, 40.0), (1.0, 0.0), (50.0, 1.0)), 0.5))
    one.push(bytes(range(200)) * 50, 0.0)
    one.push(b"the end", 2.0)
    one.clear(3.0)
    assert one.pull(3.0) == bytes(range(200)) * 50 + b"the end"
    one.push(b"goodbye", 3.0)
    assert one.pull(3.001) == b"goodbye" and one.empty


def test_what_cannot_be_emulated_is_named():
    ideal, dropping = direction(), direction(drop_windows=((1.0, 2.0),))
    bursty = direction(bursts=Bursts(5, 1, 0, 0.5))
    assert not_emulated(Scenario("ideal", 9, ideal, ideal)) == []
    assert len(not_emulated(Scenario("tunnel", 9, dropping, ideal))) == 1
    assert len(not_emulated(Scenario("both", 9, dropping, bursty))) == 2
