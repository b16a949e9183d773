"""The estimator: each clock alone, both together, and what it must never believe."""

import math

import pytest

from abr_tts.control.acks import KERNEL, REPORTS, AckClock
from abr_tts.control.estimator import Estimate, Estimator
from abr_tts.control.ewma import Ewma, Rate
from abr_tts.control.policy_file import preset
from abr_tts.control.shares import Shares
from abr_tts.control.trip import LeastTrip

from .pipe import Pipe, saturate, trickle

POLICY = preset("default")
WAYS = {
    "reports alone": {"kernel": False},
    "kernel alone": {"reports": False},
    "both": {},
    "behind a proxy": {"proxied": True},
}


def steady(kbps):
    return lambda now: kbps


def falling(before, after, at, again=math.inf):
    return lambda now: after if at <= now < again else before


def pipe(kbps, remembered=None, **ways) -> Pipe:
    return Pipe(Estimator(POLICY, remembered), kbps, **ways)


# ---------------------------------------------------------------- the rate


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kbps", [15, 40, 150, 400, 2_000])
def test_a_busy_link_is_measured(way, kbps):
    line = pipe(steady(kbps), **WAYS[way])
    line.run(4.0, saturate(most=max(3_000, round(kbps * 125 * 0.4))))
    link = line.estimator.look(line.now)
    assert link.firm
    assert 0.75 * kbps <= link.kbps <= 1.2 * kbps


@pytest.mark.parametrize("way", WAYS)
def test_an_engine_that_is_the_limit_is_not_taken_for_the_network(way):
    line = pipe(steady(2_000), **WAYS[way])
    line.run(3.0, saturate(size=4_400, most=30_000))
    before = line.estimator.look(line.now).kbps
    line.run(9.0, trickle(330, 0.1))
    after = line.estimator.look(line.now)
    assert before > 1_000
    assert after.kbps >= 0.9 * before
    assert (after.late_s, after.outages) == (0.0, 0)


def test_a_burst_on_an_idle_link_gives_a_lower_bound():
    line = pipe(steady(2_000))
    line.run(0.3)
    line.send(4_400)
    line.run(0.8)
    link = line.estimator.look(line.now)
    assert link.known
    assert not link.firm
    assert 150 <= link.kbps <= 2_300


def test_what_is_known_of_nothing_is_the_policys_guess():
    link = Estimator(POLICY).look(0.0)
    assert (link.known, link.firm, link.kbps) == (False, False, POLICY.start_kbps)


def test_small_messages_say_little_upward():
    line = pipe(steady(2_000))
    line.run(2.0, trickle(200, 0.25))
    assert not line.estimator.look(line.now).known


# ---------------------------------------------------------------- trouble


@pytest.mark.parametrize(
    ("way", "within_s"), [("both", 0.35), ("kernel alone", 0.35), ("behind a proxy", 0.6)]
)
def test_a_fall_is_seen_in_time(way, within_s):
    for phase in range(8):
        fall = 2.0 + 0.0137 * phase
        line = pipe(falling(1_000, 40, fall), **WAYS[way])
        line.run(fall, saturate(size=4_400, most=9_000))
        while line.estimator.look(line.now).late_s <= POLICY.late_s:
            line.run(line.now + 0.005, saturate(size=4_400, most=9_000))
            assert line.now < fall + within_s, phase


@pytest.mark.parametrize("way", WAYS)
def test_after_a_fall_the_rate_is_that_of_the_fallen_link(way):
    line = pipe(falling(1_000, 40, 2.0), **WAYS[way])
    line.run(3.5, saturate(most=9_000))
    assert line.estimator.look(line.now).kbps < 130


@pytest.mark.parametrize("way", ["reports alone", "both", "behind a proxy"])
def test_a_link_that_carries_nothing_has_died_once_and_comes_back(way):
    line = pipe(falling(1_000, 0, 2.0, 6.0), **WAYS[way])
    line.run(2.9, saturate(most=9_000))
    assert not line.estimator.look(line.now).outage
    line.run(4.0, saturate(most=9_000))
    assert line.estimator.look(line.now).outage
    line.run(7.0, saturate(most=9_000))
    link = line.estimator.look(line.now)
    assert (link.outage, link.outages) == (False, 1)


def test_a_kernel_that_still_sends_keeps_a_slow_link_from_seeming_dead():
    """One message of 12 kB at 40 kbit/s takes 2.4 s, in which the listener has nothing whole."""
    alone = AckClock(REPORTS)
    alone.sent(12_000, 12_000, 0.0)
    assert alone.silent_s(0.06, 2.0) > 1.5
    kernel = AckClock(KERNEL)
    kernel.sent(12_000, 12_000, 0.0)
    for tenth in range(1, 21):
        kernel.acked(500 * tenth, 0.06, 0.06, tenth / 10)
    assert kernel.silent_s(0.06, 2.0) < 0.2


def test_a_listener_who_does_not_report_costs_bounded_memory():
    clock = AckClock(REPORTS)
    for number in range(5_000):
        clock.sent(100, 100, number / 100)
    assert clock.on_the_way <= 100 * 1_024


# ---------------------------------------------------------------- proxies, memory, others


def test_behind_a_proxy_the_kernels_speed_is_not_the_links():
    line = pipe(steady(150), proxied=True)
    line.run(3.0, saturate(size=4_400, most=8_000))
    assert line.estimator.look(line.now).kbps < 200


def test_what_is_remembered_is_believed_less_the_older_it_is():
    def kbps(age):
        return Estimator(POLICY, Estimate(1_000, 0.05, 100.0)).look(100.0 + age)

    assert kbps(1.0).kbps > 990
    assert 400 < kbps(240.0).kbps < 600
    assert kbps(1.0).firm
    assert kbps(1.0).min_rtt_s == 0.05
    assert not kbps(POLICY.memory_s + 1).known


def test_an_estimate_keeps_the_age_of_what_it_knows():
    fresh = pipe(steady(400))
    fresh.run(3.0, saturate())
    estimate = fresh.estimator.estimate()
    assert estimate is not None
    assert 2.5 < estimate.at <= 3.0
    silent = Estimator(POLICY, estimate)
    silent.look(60.0)
    assert silent.estimate() == estimate
    assert Estimator(POLICY).estimate() is None


def test_what_the_connection_carried_before_is_no_sample():
    estimator = Estimator(POLICY)
    estimator.on_sent(1_000_000, False, 5.0)
    estimator.on_received(990_000, 50.0, 5.0)
    estimator.on_sent(300, True, 5.01)
    estimator.on_received(1_000_300, 50.0, 5.1)
    link = estimator.look(5.1)
    assert not link.known
    assert link.heard_bytes == 300


def test_what_other_streams_take_is_not_there_for_this_one():
    shares = Shares()
    for tenth in range(50):
        shares.sent(2_000, False, tenth / 10)
        shares.sent(500, True, tenth / 10)
    assert 220 <= shares.available(400.0, 5.0) <= 260
    assert shares.available(100.0, 5.0) >= 25
    assert Shares().available(400.0, 5.0) == 400.0


def test_the_least_round_trip_is_forgotten_when_the_path_has_changed():
    trip = LeastTrip()
    trip.remember(0.02)
    assert trip.seconds == 0.02
    for second in range(20):
        trip.add(0.05, second)
    assert trip.seconds == 0.05
    for second in range(20, 60, 2):
        trip.add(0.3, second)
    assert trip.seconds == 0.3


# ---------------------------------------------------------------- averages


def test_the_first_sample_is_the_average_and_a_half_life_is_one():
    average = Ewma(2.0)
    assert average.value is None
    average.add(100.0, 0.1)
    assert average.value == pytest.approx(100.0)
    old = Ewma(2.0)
    old.start(100.0, 1e9)
    old.add(0.0, 2.0)
    assert old.value == pytest.approx(50.0)


def test_of_two_averages_the_smaller_rules():
    from abr_tts.control.acks import Sample

    rate = Rate(0.5, 3.0)
    rate.start(100.0, 3.0, True, 0.0)
    for tenth in range(1, 11):
        rate.add(Sample(1_000.0, 0.1, True), tenth / 10)
    slow = rate.kbps
    assert slow is not None
    assert 100 < slow < 500
    for tenth in range(11, 16):
        rate.add(Sample(50.0, 0.1, True), tenth / 10)
    assert rate.kbps is not None
    assert rate.kbps < 60


def test_a_lower_bound_only_raises():
    from abr_tts.control.acks import Sample

    rate = Rate(0.5, 3.0)
    rate.start(400.0, 3.0, True, 0.0)
    rate.add(Sample(100.0, 0.1, False), 1.0)
    assert rate.kbps == pytest.approx(400.0)
    rate.add(Sample(800.0, 0.1, False), 2.0)
    assert rate.kbps is not None
    assert rate.kbps > 450


def test_the_answer_to_a_probe_is_believed():
    from abr_tts.control.acks import Sample

    rate = Rate(0.5, 3.0)
    rate.start(40.0, 30.0, True, 0.0)
    rate.probed = True
    rate.add(Sample(900.0, 0.1, False), 5.0)
    assert rate.kbps == pytest.approx(900.0)
