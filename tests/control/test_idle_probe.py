"""Probes of an idle link: when, and what their answers and their silence say."""

import dataclasses

import pytest

from abr_tts.control.belief import Belief
from abr_tts.control.estimate import Estimate
from abr_tts.control.ewma import Rate
from abr_tts.control.idle_probe import EVERY_S, FIRST_S, LAST_S, IdleProbe
from abr_tts.control.ladder import wire_bytes
from abr_tts.control.policy_file import preset

POLICY = preset("default")
SIZE, RTT_S, WENT = 1_230, 0.06, 100.0


def remembered(kbps: float = 300.0, rtt_s: float = RTT_S, controller: str = "strong") -> Estimate:
    capacity = Belief(kbps) if controller == "strong" else Rate(0.5, 3.0)
    capacity.recall(Estimate(kbps, rtt_s, WENT), WENT)
    return capacity.keep(rtt_s)


def took(kbps: float, rtt_s: float = RTT_S) -> float:
    """Seconds until the pong of a probe comes over a link of this rate."""
    return rtt_s + wire_bytes(SIZE) * 8 / 1000 / kbps


def learned(seconds: float | None, known: Estimate, policy=POLICY) -> Estimate:
    """What is kept after a probe that was answered after `seconds`; None: not within two."""
    probe = IdleProbe(policy, known, WENT)
    at = WENT + FIRST_S
    assert probe.is_due(at)
    probe.sent(7, SIZE, at)
    if seconds is not None:
        probe.answered(7, at + seconds)
    return probe.estimate(at + (seconds or 2.0))


def test_a_rest_has_few_probes_and_they_end():
    probe, at = IdleProbe(POLICY, remembered(), WENT), []
    while (due := probe.get_timer()) is not None:
        assert not probe.is_due(due - 0.001)
        assert probe.is_due(due)
        at.append(due - WENT)
    assert at == [FIRST_S + EVERY_S * number for number in range(6)]
    assert at[-1] <= LAST_S < at[-1] + EVERY_S


def test_while_one_is_on_its_way_no_other_goes_out():
    probe = IdleProbe(POLICY, remembered(), WENT)
    for number, due in enumerate((True, False, False, True)):
        at = WENT + FIRST_S + number * EVERY_S
        assert probe.is_due(at) == due
        if number == 0:
            probe.sent(1, SIZE, at)
        if number == 2:
            probe.answered(1, at)


@pytest.mark.parametrize("kbps", [20, 60, 150, 300])
@pytest.mark.parametrize(("controller", "most"), [("strong", 1.5), ("v1", 3.0)])
def test_an_answer_tells_what_a_thin_link_carries(kbps, controller, most):
    policy = dataclasses.replace(POLICY, controller=controller)
    found = learned(took(kbps), remembered(controller=controller), policy)
    assert found.at == WENT + FIRST_S + took(kbps)
    assert 0.9 * kbps < found.kbps < most * kbps


def test_a_quick_answer_is_a_lower_bound():
    assert learned(took(5_000), remembered(100.0)).kbps > 140
    assert learned(took(5_000), remembered(3_000.0)).kbps > 2_500


def test_where_the_round_trip_is_not_known_an_answer_is_a_lower_bound_only():
    assert learned(took(300, 0.4), remembered(2_000.0, 0.0)).kbps > 1_900


def test_silence_bounds_what_the_link_carries():
    found = learned(None, remembered(1_000.0))
    assert found.kbps < 20
    assert found.at > WENT + FIRST_S


def test_an_answer_that_is_not_overdue_yet_says_nothing():
    known = remembered()
    probe = IdleProbe(POLICY, known, WENT)
    probe.sent(7, SIZE, WENT + FIRST_S)
    assert probe.estimate(WENT + FIRST_S + 0.1) is known


def test_a_pong_of_another_value_says_nothing():
    known = remembered()
    probe = IdleProbe(POLICY, known, WENT)
    probe.answered(7, WENT + FIRST_S)
    probe.sent(7, SIZE, WENT + FIRST_S)
    probe.answered(8, WENT + FIRST_S + 0.1)
    assert probe.estimate(WENT + FIRST_S + 0.1) is known


def test_there_is_none_where_the_policy_wants_none_or_nothing_is_known():
    assert IdleProbe.begin(preset("thrifty"), remembered(), WENT) is None
    assert IdleProbe.begin(POLICY, None, WENT) is None
    probe = IdleProbe.begin(POLICY, remembered(), WENT)
    assert probe is not None and probe.padding == POLICY.idle_probe_bytes > 0
