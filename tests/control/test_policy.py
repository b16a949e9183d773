"""Policies: what they refuse, and what is left of them for one listener and one engine."""

from dataclasses import FrozenInstanceError, fields, replace

import pytest

from abr_tts.control.ladder import FULL, opus, pcm
from abr_tts.control.policy import NUMBERS, RELATIONS, Policy
from abr_tts.control.policy_file import PRESETS, preset
from abr_tts.control.utility import measured_utility
from abr_tts.errors import NoCommonFormat, PolicyError

DEFAULT = preset("default")


def names(policy: Policy) -> list[str]:
    return [rung.name for rung in policy.rungs]


def test_a_policy_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        DEFAULT.headroom = 2.0  # type: ignore[misc]


def test_every_field_says_what_it_is_for_and_every_number_has_bounds():
    for item in fields(Policy):
        assert item.metadata["sentence"].endswith("."), item.name
    assert {"upgrade_lead_s", "headroom", "probe_s"} <= set(NUMBERS)


@pytest.mark.parametrize("key", NUMBERS)
def test_a_number_out_of_its_bounds_is_refused_by_name(key):
    bounds = next(item.metadata for item in fields(Policy) if item.name == key)
    for value in (bounds["low"] - 1, bounds["high"] + 1, float("nan"), float("inf"), True, "1"):
        with pytest.raises(PolicyError, match=f"^{key} ") as error:
            replace(DEFAULT, **{key: value})
        assert error.value.keys[0] == key


MISFITS = {
    ("safe_lead_s", "bank_lead_s"): (31.0, 30.0),
    ("safe_lead_s", "outage_lead_s"): (9.0, 8.0),
    ("low_lead_s", "bank_lead_s"): (11.0, 10.0),
    ("upgrade_lead_s", "bank_lead_s"): (11.0, 10.0),
    ("keep_headroom", "headroom"): (1.3, 1.2),
    ("fast_half_life_s", "slow_half_life_s"): (2.0, 1.0),
    ("least_outstanding_bytes", "most_outstanding_bytes"): (20_000, 10_000),
    ("opening_bytes", "most_outstanding_bytes"): (20_000, 10_000),
}


def test_every_relation_is_tried_below():
    assert set(MISFITS) == set(RELATIONS)


@pytest.mark.parametrize(("smaller", "larger"), MISFITS)
def test_numbers_that_do_not_fit_together_are_refused_with_both_names(smaller, larger):
    low, high = MISFITS[smaller, larger]
    with pytest.raises(PolicyError, match=f"{smaller} is {low:g}, but must not be above {larger}") as error:
        replace(DEFAULT, **{smaller: low, larger: high})
    assert error.value.keys == (smaller, larger)


def test_a_ladder_without_rungs_with_one_twice_or_without_the_bank_is_refused():
    with pytest.raises(PolicyError, match="no rung"):
        replace(DEFAULT, rungs=(), utilities=())
    with pytest.raises(PolicyError, match="opus24 stands in the ladder twice"):
        replace(DEFAULT, rungs=(opus(24), opus(24)), utilities=(0.9, 0.9))
    with pytest.raises(PolicyError, match="bank_rung is 'opus24', which is not in the ladder: opus12"):
        replace(DEFAULT, rungs=(opus(12),), utilities=(0.7,))
    with pytest.raises(PolicyError, match=r"utility of opus24 is 1\.5"):
        replace(DEFAULT, rungs=(opus(24),), utilities=(1.5,))


def test_the_presets_are_as_designed():
    ladders = {name: names(preset(name)) for name in PRESETS}
    assert ladders["default"] == ["pcm22", "opus64", "opus48", "opus32", "opus24", "opus16", "opus12"]
    assert ladders["classic"] == ["pcm22", "pcm16k", "opus24", "opus16", "opus12"]
    assert all(name.startswith("opus") for name in ladders["opus"])
    assert max(rung.kbps for rung in preset("thrifty").rungs) == 32
    assert (DEFAULT.upgrade_lead_s, preset("classic").upgrade_lead_s) == (6.0, 2.0)
    assert DEFAULT.bank == opus(24)
    assert preset("classic").utility(FULL["pcm16k"]) == 0.95
    assert preset("thrifty").bank_lead_s < DEFAULT.bank_lead_s
    assert [preset(name).name for name in PRESETS] == list(PRESETS)


def test_utilities_are_the_measured_ones_unless_the_policy_says_otherwise():
    assert [DEFAULT.utility(rung) for rung in DEFAULT.rungs] == [1.0, 0.95, 0.95, 0.92, 0.90, 0.82, 0.70]
    assert measured_utility(opus(8)) == 0.43
    assert 0.90 < measured_utility(opus(28)) < 0.92
    assert measured_utility(opus(6)) == 0.43
    assert measured_utility(pcm("pcm48k", 48_000)) == 1.0
    assert measured_utility(FULL["ulaw16k"]) == 0.72


def test_of_rungs_worth_the_same_the_cheaper_comes_first():
    assert [rung.name for rung in DEFAULT.by_utility][:3] == ["pcm22", "opus48", "opus64"]


def test_an_engine_of_24_khz_gets_pcm24_in_the_place_of_pcm22():
    ours = preset("classic").for_listener(["opus", "pcm16"], 24_000)
    assert names(ours)[:2] == ["pcm24", "pcm16k"]
    assert ours.utility(ours.rungs[0]) == 1.0
    assert ours.utility(ours.rungs[1]) == 0.95


def test_pcm_faster_than_the_engine_falls_out():
    assert names(DEFAULT.for_listener(["opus", "pcm16"], 16_000))[0] == "opus64"


def test_without_opus_the_bank_is_the_lowest_pcm_rung():
    ours = preset("classic").for_listener(["pcm16"], 22_050)
    assert (names(ours), ours.bank_rung) == (["pcm22", "pcm16k"], "pcm16k")


def test_a_listener_who_decodes_none_of_the_ladder_is_refused():
    with pytest.raises(NoCommonFormat):
        preset("opus").for_listener(["pcm16"], 22_050)


def test_a_client_of_one_track_gets_one_family():
    assert names(DEFAULT.for_listener(["opus", "pcm16"], 22_050, 0)) == [
        "opus48", "opus32", "opus24", "opus16", "opus12",
    ]  # fmt: skip
    assert names(preset("classic").for_listener(["pcm16"], 22_050, 0)) == ["pcm16k"]
