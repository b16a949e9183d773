"""Upgrades by what they are worth, and the chance of a link."""

import math

import pytest

from abr_tts.control.acks import Sample
from abr_tts.control.belief import Belief
from abr_tts.control.chance import Chance
from abr_tts.control.controller import Reason
from abr_tts.control.ladder import FULL
from abr_tts.control.policy_file import preset
from abr_tts.control.worth import Stake, Worth

from .looks import link

POLICY = preset("default").for_listener(["opus", "pcm16"], 22_050)
NO_PERIL = Stake(FULL["opus24"], 0.0, 6.0, 0.0)


def chance(kbps: float, exact: bool = True, most_kbps: float = math.inf) -> Chance:
    belief = Belief(300.0)
    for number in range(6):
        belief.add(Sample(kbps, 0.2, exact), number / 10)
    return Chance(belief, link(min(belief.median, most_kbps), most_kbps=most_kbps))


def chosen(kbps: float, stake: Stake = NO_PERIL, worth: Worth | None = None) -> str | None:
    worth = worth or Worth(POLICY)
    worth.choose(chance(kbps), stake)
    return worth.rung.name if worth.rung else None


@pytest.mark.parametrize(("kbps", "rung"), [(2_000, "pcm22"), (150, "opus48"), (50, "opus32"), (12, None)])
def test_the_best_rung_that_the_link_likely_carries_is_worth_most(kbps, rung):
    assert chosen(kbps) == rung


def test_what_the_bank_needs_is_left_to_it():
    assert chosen(80, Stake(FULL["opus24"], 35.0, 6.0, 0.0)) == "opus32"


def test_a_change_that_is_heard_too_shortly_is_not_worth_it():
    assert chosen(2_000, Stake(FULL["opus24"], 0.0, 0.1, 0.0)) is None


def test_where_the_link_may_die_under_a_thin_bank_less_is_put_in_its_way():
    assert chosen(2_000, Stake(FULL["opus24"], 0.0, 3.0, 0.2)) != "pcm22"


def test_nothing_is_better_than_the_top():
    worth = Worth(POLICY)
    worth.choose(chance(2_000), Stake(FULL["pcm22"], 0.0, 6.0, 0.0))
    assert (worth.rung, worth.reason.code) == (None, "top")


def test_a_rung_above_is_taken_only_if_it_was_the_best_twice():
    worth = Worth(POLICY)
    assert chosen(150, worth=worth) == "opus48"
    assert chosen(2_000, worth=worth) == "opus48"
    assert chosen(2_000, worth=worth) == "pcm22"


def test_above_a_bank_that_is_better_than_usual_nothing_is_tried_without_an_even_chance():
    assert chosen(380, Stake(FULL["opus24"], 0.0, 6.0, 0.0)) is not None
    assert chance(380).carries(FULL["pcm22"].wire_kbps * POLICY.headroom) < 0.5
    assert chosen(380, Stake(FULL["opus48"], 0.0, 6.0, 0.0)) is None
    assert chosen(2_000, Stake(FULL["opus48"], 0.0, 6.0, 0.0)) == "pcm22"


def test_a_rung_below_is_taken_at_once():
    worth = Worth(POLICY)
    assert chosen(2_000, worth=worth) == "pcm22"
    assert chosen(100, worth=worth) == "opus48"


def test_a_closed_gate_gives_the_reason_in_its_place():
    worth = Worth(POLICY)
    chosen(2_000, worth=worth)
    worth.close(Reason("paused", "the listener has paused"))
    assert (worth.rung, worth.reason.code) == (None, "paused")


def test_the_reason_tells_need_and_chance():
    worth = Worth(POLICY)
    worth.choose(chance(12), NO_PERIL)
    assert worth.reason.code == "scarce"
    assert "kbit/s of opus32 with a chance of" in worth.reason.sentence


def test_silence_bounds_what_is_believed():
    assert chance(1_000).carries(500) > 0.9
    assert chance(1_000, most_kbps=100.0).carries(500) == 0.0
    assert chance(1_000, most_kbps=100.0).carries(50) > 0.9


def test_of_a_link_that_others_use_only_the_share_counts():
    belief = Belief(300.0)
    for number in range(6):
        belief.add(Sample(1_000.0, 0.2, True), number / 10)
    half = Chance(belief, link(belief.median / 2))
    assert half.carries(400) > 0.8
    assert half.carries(800) < 0.1


def test_what_nobody_has_seen_may_be_there():
    assert chance(400, exact=False).carries(800) > chance(400).carries(800)
