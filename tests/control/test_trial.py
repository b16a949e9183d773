"""The trial: a look at what a link carries when nothing else shows it."""

from itertools import pairwise

import pytest

from abr_tts.control.belief import GRID
from abr_tts.control.controller import UPGRADE
from abr_tts.control.estimate import Estimate
from abr_tts.control.ladder import FULL
from abr_tts.control.policy import Policy
from abr_tts.control.policy_file import preset
from abr_tts.control.strong import Strong
from abr_tts.control.trial import FULL_SLACK_S, Trial
from abr_tts.control.upgrades import PROBE_DOUBLINGS, Upgrades
from abr_tts.control.utility import measured_utility
from abr_tts.control.window import PROBE_FRAMES
from abr_tts.units import FRAME_TICKS

from .looks import link, seen

POLICY = preset("default").for_listener(["opus", "pcm16"], 22_050)
FULL_S = POLICY.bank_lead_s - FULL_SLACK_S
PATIENCE_S = POLICY.probe_s


def trial() -> Trial:
    return Trial(POLICY, Upgrades(POLICY))


def quiet(seconds=PATIENCE_S):
    return link(40, limit_s=seconds)


def test_a_full_bank_and_a_link_that_was_not_the_limit_for_a_while_are_a_time_to_try():
    assert trial().is_on(seen(), quiet(), FULL_S)


@pytest.mark.parametrize(
    ("limit_s", "lead_s"),
    [(PATIENCE_S - 0.01, FULL_S), (PATIENCE_S, FULL_S - 0.01)],
    ids=["news", "not full"],
)
def test_nothing_is_tried_before(limit_s, lead_s):
    assert not trial().is_on(seen(), quiet(limit_s), lead_s)


def test_it_ends_with_an_answer_or_when_none_comes():
    for at, limit_s, on in (
        (10.2, 3.2, True),
        (10.2, 0.1, False),
        (10.0 + PATIENCE_S, 6.0, True),
        (10.01 + PATIENCE_S, 6.0, False),
    ):
        one = trial()
        one.is_on(seen(now=10.0), quiet(), FULL_S)
        assert one.is_on(seen(now=at), quiet(limit_s), FULL_S) is on


def times(one: Trial, seconds: float) -> list[float]:
    """When trials begin, if each is answered at once by the link being the limit, and then nothing is."""
    begun, limit_at = [], 0.0
    for step in range(round(seconds * 10)):
        now = 10.0 + step / 10
        if one.is_on(seen(now=now), quiet(now - limit_at), FULL_S):
            begun.append(now)
            limit_at = now
            one.is_on(seen(now=now + 0.06), quiet(0.0), FULL_S)
    return begun


def test_each_that_finds_nothing_doubles_the_wait_for_the_next_one_up_to_a_bound():
    begun = times(trial(), 80)
    gaps = [round(after - before, 1) for before, after in pairwise(begun)]
    longest = PATIENCE_S * 2**PROBE_DOUBLINGS
    assert gaps[:3] == pytest.approx([2 * PATIENCE_S, longest, longest], abs=0.2)


def test_one_that_is_followed_by_an_upgrade_does_not_make_the_next_one_wait_longer():
    for found, on in ((True, True), (False, False)):
        one = trial()
        one.is_on(seen(now=10.0), quiet(), FULL_S)
        one.stop(found)
        assert one.is_on(seen(now=10.0 + PATIENCE_S), quiet(PATIENCE_S), FULL_S) is on


def thin(policy=POLICY) -> Strong:
    """It knows a link of 32 kbit/s, of four seconds ago, and never saw another."""
    sure = tuple(float(kbps == 32) for kbps in GRID)
    return Strong(policy, 1, Estimate(32, 0.05, 6.0, chances=sure, usual=sure))


def deciding(controller: Strong, bank: float, **more):
    controller.on_sent(1_200, True, 9.5)  # too little to tell a rate
    controller.on_received(1_200, 50, 9.56)
    return controller.decide(seen(bank=bank, **more))


def test_the_controller_sends_one_frame_less_than_a_player_takes():
    decision = deciding(thin(), POLICY.bank_lead_s, ready=40.0)
    assert decision.plan.upgrade_reason.code == "probe"
    assert (decision.rank, decision.rung.name) == (UPGRADE, "pcm22")
    assert decision.until - decision.pts == PROBE_FRAMES * FRAME_TICKS


def test_the_controller_tries_nothing_while_the_bank_has_room_or_is_the_best_there_is():
    assert deciding(thin(), 20.0, ready=40.0).plan.upgrade_reason.code != "probe"
    rungs = (FULL["opus24"], FULL["opus16"], FULL["opus12"])
    lone = Policy("lone", rungs, tuple(measured_utility(rung) for rung in rungs))
    assert deciding(thin(lone), POLICY.bank_lead_s, ready=40.0).plan.upgrade_reason.code == "top"
