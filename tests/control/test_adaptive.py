"""The adaptive controller: what is sent next, how much may be on the way, and why."""

import pytest

from abr_tts.control.adaptive import Adaptive
from abr_tts.control.controller import BANK, UPGRADE, FixedRung, Learner
from abr_tts.control.estimator import Estimate
from abr_tts.control.ladder import FULL
from abr_tts.control.policy_file import preset

from .looks import frames, seen

POLICY = preset("default").for_listener(["opus", "pcm16"], 22_050)


def knowing(kbps: float, rtt_s: float = 0.05, policy=POLICY, **more) -> Adaptive:
    """A controller that was told of its link a moment ago."""
    return Adaptive(policy, remembered=Estimate(kbps, rtt_s, 9.9), **more)


def test_it_learns_and_a_fixed_rung_does_not():
    assert isinstance(knowing(100), Learner)
    assert not isinstance(FixedRung(FULL["opus24"]), Learner)


def test_speech_is_banked_before_anything_is_upgraded():
    decision = knowing(2_000).decide(seen(ready=8.0))
    assert (decision.rank, decision.rung.name, decision.pts, decision.send) == (BANK, "opus24", 0, True)


def test_on_a_rich_link_all_that_is_made_is_banked_first_and_on_a_poor_one_three_seconds():
    rich, poor = knowing(2_000), knowing(100)
    assert rich.decide(seen(bank=5.0, ready=9.0)).rank == BANK
    assert rich.decide(seen(bank=9.0)).rank == UPGRADE
    assert poor.decide(seen(bank=2.0, ready=9.0)).rank == BANK
    assert poor.decide(seen(bank=4.0, ready=9.0)).rank == UPGRADE


def test_what_is_upgraded_goes_on_before_the_bank_when_it_is_about_to_break_off():
    what = {"bank": 2.0, "ready": 9.0, "rung": "pcm22"}
    assert knowing(2_000).decide(seen(upgrade=1.8, **what)).rank == BANK
    assert knowing(2_000).decide(seen(upgrade=0.3, **what)).rank == UPGRADE


def test_the_bank_goes_as_far_ahead_as_the_policy_says_and_no_further():
    decision = knowing(100).decide(seen(head=5.0, bank=35.0, ready=40.0, upgrade=7.5, rung="opus48"))
    assert not decision.send
    assert decision.again_at > 10.0


def test_a_paused_listener_is_banked_for_and_not_upgraded():
    controller = knowing(2_000)
    banking = controller.decide(seen(bank=5.0, ready=9.0, paused=True))
    assert (banking.rank, banking.send) == (BANK, True)
    waiting = controller.decide(seen(bank=9.0, paused=True))
    assert (waiting.send, waiting.again_at) == (False, None)
    assert waiting.plan.upgrade_reason.code == "paused"
    assert controller.decide(seen(bank=9.0)).rank == UPGRADE


@pytest.mark.parametrize(("kbps", "least"), [(2_000, 0), (10, 3_000)])
def test_the_bank_may_have_a_round_trip_and_a_fifth_of_a_second_on_the_way(kbps, least):
    decision = knowing(kbps).decide(seen(ready=8.0))
    assert decision.outstanding_bytes == pytest.approx(max(least, kbps * 125 * 0.25), rel=0.01)


def test_an_upgrade_may_have_less_on_the_way_by_its_own_rate():
    decision = knowing(2_000).decide(seen(bank=9.0))
    assert decision.rung.name == "pcm22"
    assert decision.outstanding_bytes == pytest.approx(FULL["pcm22"].wire_kbps * 125 * 0.2, rel=0.01)
    assert knowing(2_000, 0.3).decide(seen(bank=9.0)).outstanding_bytes > decision.outstanding_bytes


def test_a_link_that_nothing_is_known_of_is_opened_with_a_small_burst():
    decision = Adaptive(POLICY).decide(seen(ready=8.0))
    assert decision.outstanding_bytes == POLICY.opening_bytes
    assert decision.plan.upgrade_reason.code == "unknown"


def test_what_was_learned_long_ago_opens_as_carefully():
    controller = Adaptive(POLICY, remembered=Estimate(2_000, 0.05, 1.0))
    decision = controller.decide(seen(bank=0.4, ready=8.0))
    assert (decision.rank, decision.outstanding_bytes) == (BANK, POLICY.opening_bytes)
    reason = decision.plan.upgrade_reason
    assert reason.sentence == "what is known of the link is 9 s old, and nothing confirms it yet"


def test_the_plan_tells_both_layers_and_why():
    plan = knowing(210, policy=preset("classic")).decide(seen(bank=9.0)).plan
    assert (plan.bank.name, plan.upgrade) == ("opus24", None)
    assert plan.bank_reason.sentence == "speech is banked first, at opus24"
    assert plan.upgrade_reason.sentence.startswith("the link carries 210 kbit/s; pcm16k needs ")


def test_the_same_rungs_for_the_same_kind_of_reason_are_no_news():
    controller = knowing(2_000)
    first, second = (controller.decide(seen(now=now, bank=9.0)).plan for now in (10.0, 10.3))
    assert not second.differs(first)
    assert controller.decide(seen(now=10.4, bank=9.0, paused=True)).plan.differs(second)


def test_a_client_of_one_track_follows_the_rate_with_a_short_lead():
    policy = preset("default").for_listener(["opus"], 22_050, level=0)
    controller = Adaptive(policy, 0, Estimate(100, 0.05, 9.9))
    assert controller.decide(seen(now=10.0, ready=9.0)).rung.name == "opus48"
    late = controller.decide(seen(now=12.0, head=1.0, bank=1.0 + policy.level0_lead_s, ready=9.0))
    assert (late.send, late.rank) == (False, BANK)


def test_a_listener_who_does_not_wait_gets_the_best_rung_at_once():
    decision = knowing(2_000).decide(seen(head=4.0, bank=4.0, ready=9.0, eager=True))
    assert (decision.rank, decision.rung.name) == (BANK, "pcm22")


def test_new_speech_is_upgraded_before_it_is_banked_where_both_go_with_ease():
    what = {"head": 4.9, "bank": 5.0, "upgrade": 5.0, "ready": 9.0, "rung": "pcm22"}
    decision = knowing(2_000).decide(seen(**what))
    assert (decision.rank, decision.pts, decision.until) == (UPGRADE, frames(5.0), frames(9.0))
    assert knowing(600).decide(seen(**what)).rank == BANK
    assert knowing(2_000).decide(seen(**(what | {"upgrade": 5.6}))).rank == BANK


def test_after_the_end_nothing_is_asked_again():
    decision = knowing(2_000).decide(seen(head=9.0, bank=9.0, upgrade=9.0, rung="pcm22", ended=True))
    assert (decision.send, decision.again_at) == (False, None)


def test_what_was_learned_can_be_kept():
    controller = knowing(2_000)
    controller.decide(seen(bank=9.0))
    assert controller.estimate(10.0) == Estimate(2_000, 0.05, 9.9)
    assert Adaptive(POLICY).estimate(10.0) is None
