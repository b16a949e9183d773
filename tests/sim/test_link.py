"""Laws of a link: bytes conserved and in order, capacity and queue kept, delay never undercut."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abr_tts.sim.link import Capacity, Link
from abr_tts.sim.scenario import Bursts, Direction

ROUND_S = 30.0
steps = st.lists(st.tuples(st.floats(0.05, 29), st.sampled_from([0, 10, 64, 400, 2000])), max_size=8)
rates = steps.map(lambda more: ((0.0, 300.0), *sorted({at: (at, float(k)) for at, k in more}.values())))


def offer(link: Link, rng: random.Random, count: int, gap_s: float) -> list[tuple[float, int, float | None]]:
    """(sent at, size, arrival) of `count` packets."""
    now, sent = 0.0, []
    for _ in range(count):
        now += rng.expovariate(1 / gap_s)
        size = rng.randrange(52, 1501)
        sent.append((now, size, link.send(size, now)))
    return sent


@given(rates, st.integers(0, 10_000), st.floats(0, 0.05))
def test_what_is_not_dropped_arrives_in_order_and_not_before_the_delay(rate, seed, jitter_s):
    link = Link(Direction(rate, 0.05, jitter_s, queue_bytes=20_000), ROUND_S, str(seed))
    sent = offer(link, random.Random(seed), 300, 0.02)
    arrivals = [arrival for _, _, arrival in sent if arrival is not None]
    assert arrivals == sorted(arrivals)
    assert len(arrivals) + link.dropped == link.sent_packets == 300
    assert all(arrival - at >= 0.05 - jitter_s - 1e-9 for at, _, arrival in sent if arrival is not None)
    assert link.sent_bytes == sum(size for _, size, _ in sent)


@given(rates, st.integers(0, 10_000))
def test_no_window_of_time_carries_more_than_its_capacity(rate, seed):
    link = Link(Direction(rate, 0.0, queue_bytes=10**9), ROUND_S, str(seed))
    sent = offer(link, random.Random(seed), 200, 0.005)
    direction = Direction(rate, 0.0)
    served = 0
    for _, size, arrival in sent:
        served += size
        assert served <= capacity(direction, arrival) + 1e-6


def capacity(direction: Direction, until: float) -> float:
    """Bytes that the direction can carry from 0 to `until`, by adding up its steps."""
    total, start = 0.0, 0.0
    while start < until:
        for index, (at, kbps) in enumerate(direction.rate):
            following = direction.rate[index + 1][0] if index + 1 < len(direction.rate) else ROUND_S
            end = min(until, start + following)
            total += max(0.0, end - start - at) * kbps * 125
        start += ROUND_S
    return total


@pytest.mark.parametrize("kbps", [40, 400, 2000])
def test_a_full_link_carries_its_capacity_within_one_percent(kbps):
    link = Link(Direction(((0.0, float(kbps)),), 0.02, queue_bytes=10**9), ROUND_S, "full")
    last = [link.send(1500, 0.0) for _ in range(500)][-1]
    assert 500 * 1500 * 8 / 1000 / (last - 0.02) == pytest.approx(kbps, rel=0.01)


def test_service_is_exact_across_changes_of_the_rate_and_rounds():
    line = Capacity(((0.0, 8.0), (1.0, 16.0), (2.0, 0.0), (3.0, 80.0)), 4.0)  # 1, 2, 0, 10 kB/s
    assert line.serve(0.0, 500) == 0.5
    assert line.serve(0.5, 1500) == 1.5
    assert line.serve(1.5, 2000) == pytest.approx(3.1)
    assert line.serve(3.1, 9000) == pytest.approx(4.0)
    assert line.serve(4.0, 1000) == pytest.approx(5.0)
    assert line.serve(13.5, 1) == pytest.approx(13.5005)


def test_a_rate_of_zero_holds_packets_and_loses_none():
    link = Link(Direction(((0.0, 100.0), (1.0, 0.0), (6.0, 100.0)), 0.01), ROUND_S, "hold")
    assert link.send(1250, 2.0) == pytest.approx(6.11)
    assert (link.lost, link.dropped) == (0, 0)


def test_the_queue_never_holds_more_than_its_bound():
    link = Link(Direction(((0.0, 80.0),), 0.0, queue_bytes=5_000), ROUND_S, "queue")
    for index in range(2_000):
        now = index * 0.01
        link.send(700, now)
        assert link.queued_bytes(now) <= 5_000
    assert link.dropped > 500
    assert link.queued_bytes(1_000.0) == 0


def test_drop_windows_lose_exactly_what_leaves_the_queue_within_them_each_round():
    link = Link(Direction(((0.0, 8000.0),), 0.0, drop_windows=((2.0, 3.0),)), ROUND_S, "windows")
    arrived = [second for second in range(60) if link.send(100, second + 0.5) is not None]
    assert sorted(set(range(60)) - set(arrived)) == [2, 32]
    assert link.lost == 2


def test_loss_takes_its_share():
    link = Link(Direction(((0.0, 8e6),), 0.0, loss=0.1), ROUND_S, "loss")
    for index in range(20_000):
        link.send(100, index * 0.001)
    assert link.lost / 20_000 == pytest.approx(0.1, abs=0.01)


def test_bursts_come_in_time_whatever_is_sent():
    def lost_at(gap_s: float) -> list[float]:
        link = Link(Direction(((0.0, 8e6),), 0.0, bursts=Bursts(2.0, 0.5, 0.0, 1.0)), ROUND_S, "bursts")
        times = [index * gap_s for index in range(int(200 / gap_s))]
        return [time for time in times if link.send(100, time) is None]

    fine, coarse = lost_at(0.01), lost_at(0.1)
    assert len(fine) / 20_000 == pytest.approx(0.2, abs=0.05)
    assert {round(time, 1) for time in coarse} <= {round(time, 1) for time in fine}
    spells = sum(after - before > 0.015 for before, after in itertools.pairwise(fine))
    assert spells < 120


def test_the_same_seed_gives_the_same_arrivals_and_another_gives_others():
    direction = Direction(((0.0, 500.0),), 0.03, 0.01, loss=0.05)
    runs = [offer(Link(direction, ROUND_S, seed), random.Random(1), 500, 0.01) for seed in ("a", "a", "b")]
    assert runs[0] == runs[1] != runs[2]
