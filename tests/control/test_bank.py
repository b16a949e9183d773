"""The rung of the bank: one for the whole stream, unless the link cannot keep up."""

from abr_tts.control.bank import Bank
from abr_tts.control.policy_file import preset

from .looks import link

POLICY = preset("default")


def test_the_bank_keeps_its_rung_on_any_link_while_the_lead_is_long():
    bank = Bank(POLICY)
    for kbps in (2_000, 40, 5):
        assert bank.choose(link(kbps), 5.0, 0.0).name == "opus24"
    assert bank.reason.code == "bank"


def test_a_link_that_cannot_keep_up_lowers_the_bank_at_once_when_the_lead_runs_out():
    bank = Bank(POLICY)
    assert bank.choose(link(40), 1.0, 0.0).name == "opus16"
    assert bank.choose(link(10), 0.5, 0.1).name == "opus12"
    assert bank.reason.sentence == "the link carries 10 kbit/s and 0.5 s are left; opus24 needs 48"


def test_the_bank_goes_up_only_when_that_has_been_right_for_a_while():
    bank = Bank(POLICY)
    bank.choose(link(10), 0.5, 0.0)
    assert bank.choose(link(100), 0.5, 0.1).name == "opus12"
    assert bank.choose(link(10), 0.5, 1.0).name == "opus12"
    assert bank.choose(link(100), 0.5, 2.0).name == "opus12"
    assert bank.choose(link(100), 0.5, 2.0 + POLICY.hold_up_s).name == "opus24"


def test_nothing_known_of_the_link_is_no_reason_to_lower_the_bank():
    assert Bank(POLICY).choose(link(5, known=False), 0.0, 0.0).name == "opus24"


def test_speech_that_is_sent_once_goes_at_the_best_rung_that_fits():
    bank = Bank(POLICY)
    assert bank.by_rate(link(300, known=False), 0.0, held=True).name == "opus24"
    assert bank.by_rate(link(1_000), 0.0, held=True).name == "pcm22"
    assert bank.by_rate(link(100), 0.1, held=True).name == "opus48"
    assert bank.by_rate(link(1), 0.2, held=True).name == "opus12"
    assert bank.by_rate(link(1_000), 0.3, held=True).name == "opus12"
    assert bank.by_rate(link(1_000), 0.3 + POLICY.hold_up_s, held=True).name == "pcm22"


def test_a_rung_that_just_fits_is_kept_and_not_taken():
    bank = Bank(POLICY)
    bank.by_rate(link(1_000), 0.0, held=False)
    just = POLICY.ladder["pcm22"].wire_kbps * 1.02
    assert bank.by_rate(link(just), 1.0, held=True).name == "pcm22"
    assert Bank(POLICY).by_rate(link(just), 9.0, held=False).name == "opus48"
