"""The strong controller's bank: as fast as speech is made, at what the link very likely carries."""

import pytest

from abr_tts.control.acks import Sample
from abr_tts.control.belief import Belief
from abr_tts.control.chance import Chance
from abr_tts.control.policy_file import preset
from abr_tts.control.prudence import Prudence

from .looks import link, seen

POLICY = preset("default").for_listener(["opus", "pcm16"], 22_050)


def chance(kbps: float) -> Chance:
    belief = Belief(300.0)
    for number in range(8):
        belief.add(Sample(kbps, 0.2, True), number / 10)
    return Chance(belief, link(belief.median))


def laid(kbps: float, lead_s: float = 0.0, prudence: Prudence | None = None, policy=POLICY, **more) -> str:
    what = {"bank": lead_s, "ready": lead_s + 1.0, "real_time_factor": 0.3} | more
    return (prudence or Prudence(policy, True)).lay(chance(kbps), seen(**what), lead_s).name


@pytest.mark.parametrize(("kbps", "rung"), [(25, "opus12"), (75, "opus12"), (95, "opus16"), (180, "opus24")])
def test_with_nothing_banked_the_rung_keeps_up_with_the_engine(kbps, rung):
    assert laid(kbps, bank=1.0, ready=2.0) == rung


def test_the_first_speech_goes_better_where_that_is_no_burden():
    assert laid(2_000) == "opus48"
    assert laid(2_000, lead_s=1.0) == "opus24"


def test_a_listener_who_is_new_gets_the_first_speech_at_the_usual_rung():
    assert laid(2_000, prudence=Prudence(POLICY, False)) == "opus24"


def test_a_policy_may_have_it_at_the_usual_rung():
    assert laid(2_000, policy=preset("classic").for_listener(["opus", "pcm16"], 22_050)) == "opus24"


def test_an_engine_as_slow_as_speech_asks_for_less():
    assert laid(75, bank=1.0, ready=2.0, real_time_factor=1.0) == "opus24"


def test_with_enough_banked_the_usual_rung_comes_back_after_a_while():
    prudence = Prudence(POLICY, True)
    assert laid(30, prudence=prudence, bank=1.0, ready=2.0, now=10.0) == "opus12"
    assert laid(30, POLICY.low_lead_s, prudence, now=10.1) == "opus12"
    assert laid(30, POLICY.low_lead_s, prudence, now=10.2 + POLICY.hold_up_s) == "opus24"


def test_with_nothing_to_bank_nothing_changes():
    prudence = Prudence(POLICY, True)
    assert laid(2_000, prudence=prudence, bank=1.0, ready=2.0) == "opus24"
    assert laid(20, prudence=prudence, bank=2.0, ready=2.0) == "opus24"


def test_of_an_unknown_link_the_usual_rung_is_hoped():
    nothing = Chance(Belief(300.0), link(300.0, known=False))
    assert Prudence(POLICY, True).lay(nothing, seen(ready=1.0), 0.0).name == "opus24"


def test_the_reason_says_what_lacks():
    prudence = Prudence(POLICY, True)
    laid(30, prudence=prudence, bank=1.0, ready=2.0)
    assert prudence.reason.code == "scarce"
    assert "kbit/s that opus24 needs with a chance of" in prudence.reason.sentence
