"""The terms of a stream: what they make, and that a trace's header brings back the very same."""

import json
from dataclasses import replace

import pytest

from abr_tts.control.adaptive import Adaptive
from abr_tts.control.controller import FixedRung
from abr_tts.control.estimator import Estimate
from abr_tts.control.ladder import FULL
from abr_tts.control.policy_file import PRESETS, parse, preset
from abr_tts.control.policy_text import as_text
from abr_tts.errors import NoCommonFormat
from abr_tts.stream.terms import Terms

ALL = ("opus", "pcm16", "ulaw")
ODD = """
name = 'ty"po\\grave'
headroom = 2
start_kbps = 123.456
late_s = 0.30000000000000004
bank_rung = "narrow"
[[rung]]
name = "pcm16k"
utility = 0.123
[[rung]]
name = "narrow"
codec = "opus"
kbps = 20
utility = 1
[[rung]]
name = "phone"
codec = "ulaw"
sample_rate = 8000
utility = 0.1
"""


@pytest.mark.parametrize("policy", [*map(preset, PRESETS), parse(ODD, "odd")], ids=[*PRESETS, "odd"])
def test_a_policy_as_text_is_whole_and_reads_back_as_the_very_same(policy):
    text = as_text(policy)
    again = parse(text, "policy")
    assert again == policy
    assert repr(again) == repr(policy), "2 stays 2 and 2.0 stays 2.0"
    assert as_text(again) == text


def through_json(terms: Terms) -> Terms:
    return Terms.from_header(json.loads(json.dumps(terms.as_header())))


def test_terms_come_back_from_a_header():
    learned = Estimate(812.3456789, 0.1 + 0.2, 1234.5)
    adaptive = Terms(ALL, 22_050, 0, preset("classic"), remembered=learned)
    fixed = Terms(("pcm16",), 16_000, 1, rung=FULL["pcm16k"])
    assert through_json(adaptive) == adaptive
    assert through_json(fixed) == fixed


def test_a_stream_has_either_a_policy_or_a_rung():
    with pytest.raises(ValueError, match="either a policy or a rung"):
        Terms(ALL, 22_050)
    with pytest.raises(ValueError, match="either a policy or a rung"):
        Terms(ALL, 22_050, policy=preset("default"), rung=FULL["opus24"])
    with pytest.raises(ValueError, match="neither a policy nor a rung"):
        Terms.from_header(Terms(ALL, 22_050, rung=FULL["opus24"]).as_header() | {"rung": None})


@pytest.mark.parametrize(
    ("codecs", "rate", "level", "name", "first", "best"),
    [
        (ALL, 22_050, 1, "default", "opus24", "pcm22"),
        (ALL, 24_000, 1, "default", "opus24", "pcm24"),
        (ALL, 16_000, 1, "default", "opus24", "opus48"),
        (ALL, 22_050, 0, "default", "opus24", "opus48"),
        (("pcm16",), 22_050, 1, "default", "pcm22", "pcm22"),
        (("pcm16",), 22_050, 1, "classic", "pcm16k", "pcm22"),
        (ALL, 22_050, 1, "thrifty", "opus16", "opus32"),
    ],
)
def test_a_stream_begins_at_the_banks_rung_and_its_best_is_what_the_listener_can_use(
    codecs, rate, level, name, first, best
):
    terms = Terms(codecs, rate, level, preset(name))
    assert (terms.first.name, terms.best.name) == (first, best)
    assert isinstance(terms.controller(), Adaptive)


def test_a_fixed_rung_is_first_and_best():
    terms = Terms(ALL, 22_050, rung=FULL["opus8"])
    assert terms.first == terms.best == FULL["opus8"]
    assert isinstance(terms.controller(), FixedRung)


def test_a_listener_who_decodes_nothing_of_the_ladder_is_refused():
    terms = Terms(("pcm16",), 22_050, 1, preset("opus"))
    for ask in (lambda: terms.first, lambda: terms.best, terms.controller):
        with pytest.raises(NoCommonFormat):
            ask()


def test_what_is_remembered_reaches_the_controller():
    terms = Terms(ALL, 22_050, 1, preset("default"), remembered=Estimate(900.0, 0.05, 100.0))
    fresh = replace(terms, remembered=None)
    assert fresh.controller().estimate(100.0) is None
    assert terms.controller().estimate(100.0) == terms.remembered
