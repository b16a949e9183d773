"""The strong controller: what is sent next, by chances."""

from dataclasses import replace

import pytest

from abr_tts.control.adaptive import Adaptive
from abr_tts.control.belief import GRID, STEPS
from abr_tts.control.controller import BANK, UPGRADE, Learner
from abr_tts.control.estimate import Estimate
from abr_tts.control.policy_file import preset
from abr_tts.control.strong import BUNDLE, EVERY_S, LATE_LEAD_S, THIN_BUNDLE, Strong
from abr_tts.stream.terms import Terms

from .looks import seen

POLICY = preset("default").for_listener(["opus", "pcm16"], 22_050)
DECODERS = ("opus", "pcm16")


def test_the_policy_says_which_controller_it_is():
    assert type(Terms(DECODERS, 22_050, policy=preset("default")).controller()) is Strong
    v1 = replace(preset("default"), controller="v1")
    assert type(Terms(DECODERS, 22_050, policy=v1).controller()) is Adaptive


def test_it_learns():
    assert isinstance(Strong(POLICY), Learner)


def test_speech_is_banked_before_anything_is_upgraded():
    decision = Strong(POLICY, 1, Estimate(2_000, 0.05, 9.9)).decide(seen(ready=8.0))
    assert (decision.rank, decision.pts, decision.send) == (BANK, 0, True)


def test_messages_of_the_bank_may_hold_what_a_player_wants_to_start():
    known = Estimate(100, 0.05, 9.9)
    assert Strong(POLICY, 1, known).decide(seen(ready=8.0)).bundle == 10
    one_track = preset("default").for_listener(["opus"], 22_050, level=0)
    assert Strong(one_track, 0, known).decide(seen(ready=8.0)).bundle == 0
    assert Adaptive(POLICY, 1, known).decide(seen(ready=8.0)).bundle == 0


def test_a_link_that_does_not_carry_the_bank_gets_as_much_at_once_as_three_messages_hold():
    for step, frames in ((STEPS - 1, BUNDLE), (0, THIN_BUNDLE)):
        sure = tuple(float(step == one) for one in range(STEPS))
        controller = Strong(POLICY, 1, Estimate(GRID[step], 0.05, 9.9, chances=sure, usual=sure))
        assert controller.decide(seen(ready=8.0)).bundle == frames


def test_no_more_goes_out_than_has_arrived_in_this_utterance_or_half_an_opening_burst():
    controller = Strong(POLICY, 1, Estimate(2_000, 0.05, 9.9))
    half = POLICY.opening_bytes // 2
    assert controller.decide(seen(ready=8.0)).outstanding_bytes == half
    for arrived, cap in ((half, half), (half + 1, half + 1), (20_000, 20_000)):
        controller.on_sent(20_000, True, 10.0)
        controller.on_received(arrived, 50, 10.1)
        assert controller.decide(seen(now=10.1, ready=8.0)).outstanding_bytes == cap


def test_on_a_thin_link_upgrades_wait_until_an_outage_could_be_bridged():
    thin = {"ready": 20.0, "real_time_factor": 0.3}
    for banked_s, rank in ((4.0, BANK), (POLICY.outage_lead_s + 1, UPGRADE)):
        controller = Strong(POLICY, 1, Estimate(100, 0.05, 9.9))
        assert controller.decide(seen(bank=banked_s, **thin)).rank == rank


@pytest.mark.parametrize(
    ("kbps", "banked_s", "at", "code"),
    [
        (150, LATE_LEAD_S - 1, 10.4, "late"),
        (150, LATE_LEAD_S + 3, 10.4, "rate"),
        (4_000, LATE_LEAD_S + 3, 10.36, "rate"),
        (4_000, LATE_LEAD_S + 3, 10.4, "late"),
    ],
)
def test_what_is_late_breaks_off_what_is_heavy_and_what_has_little_beneath(kbps, banked_s, at, code):
    controller = Strong(POLICY, 1, Estimate(kbps, 0.05, 9.9))
    controller.on_sent(1_000, True, 9.92)
    controller.on_received(1_000, 50, 10.0)
    controller.decide(seen(now=10.0, bank=banked_s))
    controller.on_sent(3_000, True, 10.05)
    assert controller.decide(seen(now=at, bank=banked_s)).plan.upgrade_reason.code == code


def test_a_choice_stands_for_a_while():
    controller = Strong(POLICY, 1, Estimate(2_000, 0.05, 9.9))
    first = controller.decide(seen(now=10.0, bank=9.0)).plan
    controller.on_sent(100, True, 10.0)
    controller.on_received(100, 50, 10.05)
    soon = controller.decide(seen(now=10.0 + EVERY_S / 2, bank=9.0, ended=True)).plan
    assert soon.upgrade_reason is first.upgrade_reason


def test_a_remembered_lower_bound_is_not_taken_for_a_limit():
    what = {"bank": 9.0, "ended": True}
    bound = Strong(POLICY, 1, Estimate(300, 0.05, 9.9, firm=False)).decide(seen(**what)).plan
    limit = Strong(POLICY, 1, Estimate(300, 0.05, 9.9)).decide(seen(**what)).plan
    assert bound.upgrade.name == "pcm22"
    assert limit.upgrade.name == "opus48"


def test_what_it_learned_is_recalled_by_either_controller():
    controller = Strong(POLICY, 1, Estimate(2_000, 0.05, 9.9))
    controller.decide(seen(now=10.0))
    controller.on_sent(4_000, True, 10.0)
    controller.on_sent(4_000, True, 10.0)
    controller.on_received(4_000, 50, 10.2)
    kept = controller.estimate(10.3)
    assert len(kept.chances) == len(kept.usual) > 0
    for kind in (Strong, Adaptive):
        again = kind(POLICY, 1, kept)
        again.decide(seen(now=11.0))
        assert again.link.known
        assert again.link.kbps == pytest.approx(kept.kbps, rel=0.3)


def test_a_client_of_one_track_is_served_as_before():
    policy = preset("default").for_listener(["opus"], 22_050, level=0)
    decision = Strong(policy, 0, Estimate(100, 0.05, 9.9)).decide(seen(ready=9.0))
    assert (decision.rank, decision.plan.upgrade_reason.code) == (BANK, "once")


def test_a_paused_listener_is_not_upgraded_for():
    plan = Strong(POLICY, 1, Estimate(2_000, 0.05, 9.9)).decide(seen(bank=9.0, ended=True, paused=True)).plan
    assert plan.upgrade_reason.code == "paused"
