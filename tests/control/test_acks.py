"""One acknowledgement clock: what a report says of the rate, and what it does not."""

import math

import pytest

from abr_tts.control.acks import REPORTS, AckClock
from abr_tts.control.estimate import Estimate
from abr_tts.control.estimator import Estimator
from abr_tts.control.ladder import wire_bytes
from abr_tts.control.policy_file import preset

RTT_S = 0.06


def clock(*sizes: int, at: float = 0.0) -> AckClock:
    """A clock whose messages all went out at one time."""
    one = AckClock(REPORTS)
    for size in sizes:
        one.sent(size, size, at)
    return one


def test_what_takes_long_is_the_limit_that_it_shows():
    sample = clock(4_000, 4_000).acked(4_000, RTT_S, RTT_S, RTT_S + 0.4)
    assert sample.exact
    assert sample.kbps == pytest.approx(wire_bytes(4_000) * 8 / 400, rel=0.01)


def test_reports_that_were_held_up_and_come_at_once_count_as_one():
    late = clock(*[2_000] * 5)
    first = late.acked(2_000, RTT_S, RTT_S, 4.0)
    second = late.acked(4_000, RTT_S, RTT_S, 4.001)
    third = late.acked(8_000, RTT_S, RTT_S, 4.002)
    assert first.kbps < second.kbps < third.kbps < 20


def test_reports_in_their_own_time_count_each():
    busy = clock(*[2_000] * 5)
    busy.acked(2_000, RTT_S, RTT_S, 0.2)
    assert busy.acked(4_000, RTT_S, RTT_S, 0.3).kbps == pytest.approx(wire_bytes(2_000) * 8 / 100, rel=0.01)


def test_while_a_large_message_is_under_way_only_an_upper_bound_is_known():
    sample = clock(400, 4_400).acked(400, RTT_S, RTT_S, RTT_S + 2.0)
    assert (sample.kbps, sample.exact) == (0.0, False)
    assert sample.most_kbps == pytest.approx((wire_bytes(400) + wire_bytes(4_400)) * 8 / 2_000, rel=0.01)


def test_without_a_limit_there_is_no_upper_bound():
    sample = clock(4_000).acked(4_000, RTT_S, RTT_S, RTT_S + 0.05)
    assert (sample.exact, sample.most_kbps) == (False, math.inf)


def test_behind_a_proxy_the_way_to_the_listener_is_no_part_of_the_time_that_it_takes():
    estimator = Estimator(preset("default"))
    estimator.on_kernel(0, 0.1, 0.0)
    estimator.on_sent(200, True, 0.0)
    estimator.on_received(200, 60.0, 0.07)
    estimator.on_sent(5_000, True, 1.0)
    estimator.on_kernel(0, 0.1, 1.0)
    estimator.on_received(5_200, 60.0, 1.0 + RTT_S + 0.05)
    assert estimator.look(1.12).kbps == pytest.approx(wire_bytes(5_000) * 8 / 50, rel=0.1)


def test_a_remembered_lower_bound_is_raised_by_the_next_and_averaged_with_none():
    def after(firm: bool) -> float:
        estimator = Estimator(preset("default"), Estimate(300.0, RTT_S, 0.9, firm))
        estimator.on_sent(5_000, True, 1.0)
        estimator.on_received(5_000, 60.0, 1.0 + RTT_S + 0.02)
        return estimator.look(1.1).kbps

    assert after(firm=False) > 1_500 > 900 > after(firm=True)


def test_what_is_kept_says_whether_a_limit_was_seen():
    estimator = Estimator(preset("default"))
    estimator.on_sent(5_000, True, 1.0)
    estimator.on_received(5_000, 60.0, 1.0 + RTT_S + 0.02)
    assert estimator.estimate().firm is False
    estimator.on_sent(5_000, True, 2.0)
    estimator.on_sent(5_000, True, 2.0)
    estimator.on_received(10_000, 60.0, 2.5)
    assert estimator.estimate().firm is True
