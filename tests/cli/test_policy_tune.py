"""`abr-tts policy tune` searches on half of the networks and believes the other half alone."""

import json
import re
from dataclasses import fields, replace

import pytest

from abr_tts.cli import main
from abr_tts.cli.policy import tune as module
from abr_tts.cli.policy.edit import changes, edited
from abr_tts.cli.policy.paired import Interval
from abr_tts.cli.policy.search import Found, search, searchable, split
from abr_tts.control.policy import NUMBERS, Policy
from abr_tts.control.policy_file import PRESETS, parse, preset, preset_text, read
from abr_tts.errors import PolicyError
from abr_tts.sim.scenario import steady
from abr_tts.sim.study import Case

from ..test_cli import failed


def tune(capsys, *arguments: str) -> dict:
    assert main(["policy", "tune", *arguments, "--json", "--jobs", "1"]) == 0
    return json.loads(capsys.readouterr().out)


def cases(**count: int) -> list[Case]:
    return [
        Case(replace(steady(100), name=f"{kind}{number}"), kind)
        for kind, many in count.items()
        for number in range(many)
    ]


# ---------------------------------------------------------------- the command


def test_the_same_seed_finds_the_same_and_the_file_is_a_policy(networks, tmp_path, capsys):
    arguments = (
        "default",
        "--traces",
        str(networks),
        "--evaluations",
        "4",
        "--fields",
        "hold_up_s,safe_lead_s",
    )
    out = tmp_path / "tuned.toml"
    told = tune(capsys, *arguments, "-o", str(out))
    assert tune(capsys, *arguments) == told
    assert told["tried"] > 1 and set(told["changes"]) <= {"hold_up_s", "safe_lead_s"}
    assert told["searched"]["best"]["qoe"] >= told["searched"]["start"]["qoe"]
    assert (told["searched"]["networks"], told["held_out"]["networks"]) == (3, 3)
    assert main(["policy", "check", str(out)]) == 0
    assert not told["improved"], "three networks held out show nothing"
    assert replace(read(out), name="default") == preset("default"), "so the start is what is written"
    assert out.read_text().startswith("# Tuned from default with seed 1.")


def test_people_are_told_both_halves_what_changed_and_the_verdict(networks, tmp_path, capsys):
    out = tmp_path / "tuned.toml"
    arguments = ["--traces", str(networks), "--evaluations", "3", "--fields", "hold_up_s", "-o", str(out)]
    assert main(["policy", "tune", "default", *arguments]) == 0
    told = capsys.readouterr().out
    assert "policies tried on 3 networks, 3 held out" in told
    assert "searched: QoE" in told and "held out: QoE" in told
    assert f"{out}: default unchanged, under the name tuned" in told


def test_a_number_that_was_changed_is_told_from_what_to_what():
    told = told_of(Interval(0.01, 0.001, 0.02), replace(preset("default"), hold_up_s=1.57)).in_words(None)
    assert re.search(r"best found: hold_up_s [\d.]+ to 1\.57$", told, re.M)


def told_of(gain: Interval, best: Policy) -> module.Told:
    nothing = {"qoe": 0.9, "stall_pct": 0.0, "p10_qoe": 0.8}
    found = Found(best, 0.90, 0.95, 8)
    pair = (nothing, nothing)
    return module.Told(preset("default"), found, (9, 9), (pair, pair), gain, Interval(0, None, None))


@pytest.mark.parametrize(
    ("gain", "improved", "words"),
    [
        (Interval(0.01, 0.002, 0.02), True, "show the improvement"),
        (Interval(0.01, -0.001, 0.02), False, "do not show an improvement; none is claimed"),
        (Interval(-0.01, -0.02, -0.001), False, "do not show an improvement; none is claimed"),
        (Interval(0.05, None, None), False, "Too few networks"),
    ],
)
def test_only_the_held_out_half_can_show_an_improvement(gain, improved, words):
    best = replace(preset("default"), hold_up_s=3.0)
    told = told_of(gain, best)
    assert told.improved is improved and words in told.verdict()
    assert told.policy == (best if improved else preset("default"))
    assert told.changes == {"hold_up_s": (1.5, 3.0)}


def test_nothing_found_is_said():
    assert told_of(Interval(0.0, 0.0, 0.0), preset("default")).verdict() == (
        "Nothing better than the start was found."
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["default", "--fields", "hold_up"],
            "--fields: hold_up is no number of a policy; there are bank_lead_s,",
        ),
        (["default", "--fields", "bank_rung"], "--fields: bank_rung is no number of a policy"),
        (["nope"], "nope: there is no such policy file"),
    ],
)
def test_what_is_wrong_is_told_with_status_2(networks, capsys, arguments, sentence):
    assert failed(capsys, "policy", "tune", *arguments, "--traces", str(networks), status=2).startswith(
        sentence
    )


def test_one_network_is_too_few(networks, capsys):
    one = str(networks / "dsl_quick.csv")
    assert "needs two networks at least" in failed(
        capsys, "policy", "tune", "default", "--traces", one, status=2
    )


# ---------------------------------------------------------------- the search


def test_half_of_each_kind_is_held_out_and_the_same_half_for_the_same_seed():
    networks = cases(train=10, home=7, ship=1)
    inner, outer = split(networks, 1)
    assert sorted([*inner, *outer]) == list(range(18)) and abs(len(inner) - len(outer)) <= 2
    assert sum(networks[index].kind == "train" for index in inner) == 5
    assert sum(networks[index].kind == "home" for index in inner) in (3, 4)
    assert split(networks, 1) == (inner, outer) != split(networks, 2)


def test_one_of_two_networks_is_held_out():
    for networks in (cases(a=2), cases(a=1, b=1)):
        inner, outer = split(networks, 1)
        assert len(inner) == len(outer) == 1


def goodness(policy: Policy) -> float:
    """A hill with its top at safe_lead_s = 5, hold_up_s = 0.5."""
    return 1 - abs(policy.safe_lead_s - 5) / 10 - abs(policy.hold_up_s - 0.5) / 10


class Hill:
    """A judge who counts what he is asked, each policy on each network once."""

    def __init__(self) -> None:
        self.asked: set[tuple[Policy, int]] = set()

    def __call__(self, policies, which):
        self.asked |= {(policy, index) for policy in policies for index in which}
        return [goodness(policy) for policy in policies]


def test_a_search_climbs_and_costs_what_it_may():
    hill, start = Hill(), preset("default")
    found = search(start, ["safe_lead_s", "hold_up_s"], range(16), 40, 1, hill)
    assert found.start_qoe == pytest.approx(goodness(start))
    assert found.qoe == pytest.approx(goodness(found.policy)) and found.qoe > found.start_qoe + 0.1
    assert found.tried > 40, "halving tries more than it plays to the end"
    assert len(hill.asked) <= 46 * 16
    same = {
        item.name for item in fields(Policy) if getattr(start, item.name) == getattr(found.policy, item.name)
    }
    assert {item.name for item in fields(Policy)} - same <= {"safe_lead_s", "hold_up_s"}


def test_a_search_is_the_same_for_the_same_seed():
    names = list(NUMBERS)
    first, second, other = (
        search(preset("default"), names, range(8), 12, seed, Hill()) for seed in (3, 3, 4)
    )
    assert first == second != other


def test_what_is_drawn_keeps_the_rules_of_policies():
    hill = Hill()
    search(preset("thrifty"), list(NUMBERS), range(4), 30, 9, hill)
    drawn = {policy for policy, _ in hill.asked}
    assert len(drawn) > 30, "a policy that breaks a rule could not have been made"
    assert all(type(policy.opening_bytes) is int for policy in drawn)


def test_without_anything_better_the_start_stays():
    found = search(
        preset("default"), ["hold_up_s"], range(4), 6, 1, lambda policies, which: [0.5] * len(policies)
    )
    assert found.policy == preset("default") and found.qoe == found.start_qoe


def test_all_numbers_may_change_unless_some_are_named():
    policy = preset("default")
    assert searchable(policy, "") == list(NUMBERS)
    assert searchable(policy, "headroom, hold_up_s") == ["headroom", "hold_up_s"]
    with pytest.raises(PolicyError, match="hedroom is no number of a policy"):
        searchable(policy, "hedroom")


# ---------------------------------------------------------------- the file


def test_a_file_keeps_its_comments_and_changes_its_numbers_in_place():
    text = (
        '# Mine.\nextends = "classic"\nhold_up_s = 2 # by ear\n\n# The ladder.\n[[rung]]\nname = "opus24"\n'
    )
    policy = replace(parse(text, "x"), hold_up_s=0.7, probe_s=5.0)
    new = edited(text, policy, "better", "Tuned.\nTwice.")
    assert new == (
        "# Tuned.\n# Twice.\n\n"
        '# Mine.\nextends = "classic"\nhold_up_s = 0.7  # was 2\nname = "better"\nprobe_s = 5.0\n\n'
        '# The ladder.\n[[rung]]\nname = "opus24"\n'
    )
    assert parse(new, "x") == replace(policy, name="better")


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_changed_is_the_policy_that_was_meant(name):
    policy = replace(preset(name), headroom=1.7, opening_bytes=7_000)
    assert parse(edited(preset_text(name), policy, "mine", "Tuned."), "x") == replace(policy, name="mine")


def test_a_file_that_lines_cannot_change_is_written_anew():
    text = 'name = """\nodd"""\n'
    policy = replace(parse(text, "x"), headroom=1.3)
    assert parse(edited(text, policy, "mine", "Tuned."), "x") == replace(policy, name="mine")


def test_changes_are_the_numbers_that_differ():
    default = preset("default")
    assert changes(default, replace(default, name="x", late_s=0.2)) == {"late_s": 0.2}
