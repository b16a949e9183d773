"""The strong controller's bank: what is gained at a better rung against what is risked."""

import pytest

from abr_tts.control.acks import Sample
from abr_tts.control.belief import Belief
from abr_tts.control.chance import Chance
from abr_tts.control.policy_file import preset
from abr_tts.control.prudence import AHEAD_S, EVERY_S, Prudence

from .looks import link, seen

POLICY = preset("default").for_listener(["opus", "pcm16"], 22_050)


def chance(kbps: float) -> Chance:
    belief = Belief(300.0)
    for number in range(8):
        belief.add(Sample(kbps, 0.2, True), number / 10)
    return Chance(belief, link(belief.median))


def laid(kbps: float, lead_s: float = 0.0, prudence: Prudence | None = None, policy=POLICY, **more) -> str:
    what = {"bank": lead_s, "ready": lead_s + 1.0, "real_time_factor": 0.3} | more
    return (prudence or Prudence(policy)).lay(chance(kbps), seen(**what), lead_s).name


@pytest.mark.parametrize(("kbps", "rung"), [(12, "opus12"), (45, "opus24"), (200, "opus24"), (250, "opus32")])
def test_speech_begins_at_what_the_link_likely_carries(kbps, rung):
    assert laid(kbps) == rung


@pytest.mark.parametrize(
    ("kbps", "begins", "goes_on"), [(120, "opus24", "opus48"), (250, "opus32", "opus48")]
)
def test_a_better_first_word_is_not_paid_for_with_a_late_one(kbps, begins, goes_on):
    assert laid(kbps) == begins
    assert laid(kbps, lead_s=0.5) == goes_on


def test_it_is_never_above_what_the_policy_allows():
    classic = preset("classic").for_listener(["opus", "pcm16"], 22_050)
    assert laid(250, policy=classic) == "opus24"
    assert laid(12, policy=classic) == "opus12"


def test_on_a_dying_link_the_lowest_rung_gets_furthest():
    assert laid(15, lead_s=1.0, bank_rung="opus48") == "opus12"


def test_on_a_dead_link_the_lowest_rung_waits_for_its_return_unless_much_is_banked():
    silent = Chance(chance(250)._belief, link(1.0, most_kbps=1.0))
    for lead_s, rung in ((AHEAD_S - 0.1, "opus12"), (AHEAD_S, "opus48")):
        there = seen(bank=lead_s, ready=lead_s + 1.0, real_time_factor=0.3)
        assert Prudence(POLICY).lay(silent, there, lead_s).name == rung


def test_what_is_on_the_way_counts_against_a_better_rung():
    clear, queued = (laid(250, lead_s=0.5, outstanding=size, bank_rung="opus48") for size in (0, 16_000))
    assert (clear, queued) == ("opus48", "opus24")


def test_a_better_rung_waits_until_it_has_been_the_best_for_a_while():
    prudence = Prudence(POLICY)
    assert laid(12, prudence=prudence, now=10.0) == "opus12"
    assert laid(250, 4.0, prudence, now=10.0 + EVERY_S) == "opus12"
    assert laid(250, 4.0, prudence, now=10.1 + EVERY_S + POLICY.hold_up_s) == "opus48"


def test_a_lower_rung_is_taken_at_once():
    prudence = Prudence(POLICY)
    assert laid(250, prudence=prudence, now=10.0) == "opus32"
    assert laid(12, 0.5, prudence, now=10.0 + EVERY_S) == "opus12"


def test_a_choice_stands_for_a_while():
    prudence = Prudence(POLICY)
    assert laid(250, prudence=prudence, now=10.0) == "opus32"
    assert laid(12, 0.5, prudence, now=10.0 + EVERY_S / 2) == "opus32"


def test_with_nothing_to_bank_nothing_changes():
    prudence = Prudence(POLICY)
    assert laid(250, prudence=prudence) == "opus32"
    assert laid(12, prudence=prudence, bank=2.0, ready=2.0, now=11.0) == "opus32"


def test_of_an_unknown_link_the_usual_rung_is_hoped():
    nothing = Chance(Belief(300.0), link(300.0, known=False))
    assert Prudence(POLICY).lay(nothing, seen(ready=1.0), 0.0).name == "opus24"


@pytest.mark.parametrize(
    ("kbps", "code", "words"),
    [(12, "scarce", "that opus24 needs with a chance of"), (250, "rich", "of opus32 with a chance of")],
)
def test_the_reason_tells_need_and_chance(kbps, code, words):
    prudence = Prudence(POLICY)
    laid(kbps, prudence=prudence)
    assert prudence.reason.code == code
    assert words in prudence.reason.sentence
