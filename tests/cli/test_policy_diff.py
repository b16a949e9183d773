"""`abr-tts policy diff` says where one policy is better than another, why, and whether it is chance."""

import json
import re
from dataclasses import replace

import pytest

from abr_tts.cli import main
from abr_tts.cli.policy.diff import Told, Why, parting
from abr_tts.cli.policy.paired import (
    LEAST_NETWORKS,
    Interval,
    Pair,
    Parts,
    interval,
    pairs,
    parts,
    qoe_gain,
    stall_gain,
)
from abr_tts.cli.policy.watch import Choice, Notes, watched
from abr_tts.control.policy_file import preset
from abr_tts.sim.arms import adaptive
from abr_tts.sim.baselines import baseline
from abr_tts.sim.run import World
from abr_tts.sim.scenario import steady
from abr_tts.sim.score import UTILITY, qoe, summarise
from abr_tts.sim.study import Case, Contender, Outcome, Study

from ..test_cli import failed


def diff(capsys, *arguments: str) -> dict:
    assert main(["policy", "diff", *arguments, "--json", "--jobs", "1"]) == 0
    return json.loads(capsys.readouterr().out)


# ---------------------------------------------------------------- told


def test_a_policy_does_the_same_as_itself(networks, capsys):
    told = diff(capsys, "default", "default", "--traces", str(networks))
    assert (told["better"], told["worse"], told["same"]) == (0, 0, 6)
    assert told["qoe_gain"] == {"value": 0.0, "low": 0.0, "high": 0.0}
    assert told["verdict"] == "default does the same as default on every network."
    assert told["why"] == []


def test_a_policy_without_good_rungs_is_worse_and_the_reason_is_told(networks, tmp_path, capsys):
    poor = tmp_path / "poor.toml"
    poor.write_text('bank_rung = "opus12"\n[[rung]]\nname = "opus12"\n')
    told = diff(capsys, "default", str(poor), "--traces", str(networks), "--show", "2")
    assert told["verdict"].startswith("poor is worse than default")
    assert told["qoe_gain"]["high"] < 0 and told["worse"] == 6
    gains = [network["gain"] for network in told["networks"]]
    assert gains == sorted(gains)
    assert [why["name"] for why in told["why"]] == [network["name"] for network in told["networks"][:2]]
    first = told["why"][0]
    assert first["utterance"] == 1 and first["at_s"] < 1
    assert [choice["bank"] for choice in first["choices"]] == ["opus24", "opus12"]
    worst = told["networks"][0]
    assert next(iter(worst["parts"])) == "quality"
    assert sum(worst["parts"].values()) == pytest.approx(worst["gain"])
    assert list(first["played_seconds"][1]) == ["opus12"]


def test_the_other_way_round_it_is_better(networks, tmp_path, capsys):
    poor = tmp_path / "poor.toml"
    poor.write_text('bank_rung = "opus12"\n[[rung]]\nname = "opus12"\n')
    assert main(["policy", "diff", str(poor), "default", "--traces", str(networks), "--show", "1"]) == 0
    told = capsys.readouterr().out
    assert "default is better on 6, worse on 0, the same on 0" in told
    assert "default is better than poor" in told
    assert re.search(r"^\w+: QoE [\d.]+ to [\d.]+ \(\+", told, re.M), "what is, and what shall be"
    assert re.search(r"^QoE \+\S+ \(95 %: .+; stalled share \S+ percentage points", told, re.M)
    assert "they part in utterance 1" in told and "heard of poor: opus12" in told


def test_few_networks_give_figures_and_no_verdict(networks, capsys):
    two = [str(networks / name) for name in ("dsl_quick.csv", "radio_good.csv")]
    told = diff(capsys, "default", "thrifty", "--traces", *two)
    assert told["verdict"].startswith("Too few networks") and told["qoe_gain"]["low"] is None


def test_a_policy_that_is_none_has_status_2(networks, capsys):
    sentence = failed(capsys, "policy", "diff", "default", "nope", "--traces", str(networks), status=2)
    assert sentence.startswith("nope: there is no such policy file; presets are")


@pytest.mark.parametrize(
    ("gain", "stalls", "words"),
    [
        (0, 0, "No difference of the two is shown."),
        (1, 0, "b is better than a in QoE."),
        (1, -1, "b is better than a in QoE, and stalls less."),
        (1, 1, "b is better than a in QoE, though it stalls more."),
        (-1, -1, "b is worse than a in QoE, though it stalls less."),
        (-1, 1, "b is worse than a in QoE, and stalls more."),
        (0, 1, "b stalls more than a, but in QoE no difference is shown."),
    ],
)
def test_the_verdict_is_one_sentence(gain, stalls, words):
    both = tuple(Contender(name, preset("default")) for name in "ab")
    outcome = Outcome(Study(both, (), World()))
    sure = {sign: Interval(sign, sign - 0.5, sign + 0.5) for sign in (-1, 0, 1)}
    some = [Pair(0, "n", "k", Parts(1, 0, 0, 0, 1), Parts(2, 0, 0, 0, 1), (0, 0))]
    assert Told(outcome, some, sure[gain], sure[stalls], []).verdict() == words


def test_a_difference_is_told_with_as_many_digits_as_show_it():
    both = tuple(Contender(name, preset("default")) for name in "ab")
    outcome, none = Outcome(Study(both, (), World())), Interval(0.0, None, None)
    for less, words in ((4e-4, "QoE 0.6096 to 0.6092 (-0.0004:"), (2e-3, "QoE 0.610 to 0.608 (-0.002:")):
        pair = Pair(0, "n", "k", Parts(0.6096, 0, 0, 0, 1), Parts(0.6096 - less, 0, 0, 0, 1), (0, 0))
        late = (Choice(1.0, "opus24", "", "it fits"), None)
        why = Why(pair, 1.0, 1, late, ({}, {}), (0, 0))
        told = Told(outcome, [pair], none, none, [why])._because(why)
        assert words in told[0]
        assert told[3] == "    b: has made no decision yet"


# ---------------------------------------------------------------- watching


@pytest.mark.parametrize("arm", [adaptive, baseline("fixed_opus24"), baseline("rate_ewma"), baseline("mpc")])
def test_being_watched_changes_nothing(arm):
    scenario = replace(steady(300, jitter_ms=3), duration_s=20.0)
    study = Study((Contender("x", preset("default")),), (Case(scenario, "k"),), World())
    notes = Notes()
    plain = study.play(study.cases[0], study.contenders[0], arm, 7)
    assert study.play(study.cases[0], study.contenders[0], watched(arm, notes), 7) == plain
    assert len(notes.choices) == len(plain.utterances) and all(notes.choices)


def test_what_was_sent_is_told_frame_by_frame():
    scenario = replace(steady(300, jitter_ms=3), duration_s=5.0)
    study = Study((Contender("x", preset("default")),), (Case(scenario, "k"),), World())
    notes = Notes()
    (utterance, *_) = study.play(study.cases[0], study.contenders[0], watched(adaptive, notes), 3).utterances
    ours = [piece for piece in notes.pieces if piece.at <= utterance.ended_at]
    banked = [piece for piece in ours if piece.rank == 0]
    assert [piece.pts for piece in banked[1:]] == [piece.end for piece in banked[:-1]]
    assert sum(piece.frames for piece in banked) * 0.02 == pytest.approx(utterance.audio_s, abs=0.3)
    assert {piece.rung for piece in ours if piece.rank == 1} <= set(utterance.sent_s)


def test_two_runs_part_at_the_first_choice_that_differs():
    same = [Choice(1.0, "opus24", "", "a"), Choice(2.0, "opus24", "opus48", "b")]
    late = [same[0], Choice(2.5, "opus24", "opus48", "c")]
    assert parting([same, same], [same, late]) == (2.0, 2, (same[1], late[0]))
    assert parting([same], [same[:1]]) == (2.0, 1, (same[1], same[0]))
    assert parting([same], [same]) == (None, 0, (None, None))


# ---------------------------------------------------------------- statistics


def test_an_interval_holds_the_mean_and_shrinks_with_more_networks():
    values = [0.01, -0.02, 0.03, 0.0, 0.02, -0.01]
    few = interval([(value, 1.0) for value in values], 1)
    many = interval([(value, 1.0) for value in values * 8], 1)
    assert few.low < few.value < few.high and few.sure == 0
    assert many.value == pytest.approx(few.value)
    assert many.high - many.low < 0.5 * (few.high - few.low)


def test_an_interval_weighs_by_the_seconds_of_speech():
    assert interval([(1.0, 3.0), (0.0, 1.0)] * 3, 1).value == pytest.approx(0.75)


def test_an_interval_of_clear_differences_is_sure_of_their_sign():
    better = [(0.02 + 0.001 * index, 1.0) for index in range(LEAST_NETWORKS)]
    assert interval(better, 1).sure == 1
    assert interval([(-value, weight) for value, weight in better], 1).sure == -1
    assert interval(better[:-1], 1).low is None, "one network fewer, and nothing is said"


def test_the_interval_is_as_wide_as_it_says():
    """Of many small samples of noise about 5 % must claim a difference that is not there."""
    from random import Random

    rng = Random(5)
    wrong = 0
    for trial in range(60):
        wrong += interval([(rng.gauss(0, 0.02), 1.0) for _ in range(25)], trial).sure != 0
    assert wrong <= 9


def test_the_parts_add_up_to_the_qoe(monkeypatch):
    monkeypatch.setattr("abr_tts.sim.study.LEAST_SESSION_S", 10.0)
    cases = tuple(
        Case(replace(steady(kbps, jitter_ms=3, name=f"n{kbps}"), duration_s=10.0), "k")
        for kbps in (40, 90, 900)
    )
    both = tuple(Contender(name, preset(name)) for name in ("default", "thrifty"))
    outcome = Outcome(Study(both, cases, World()))
    for task in outcome.study.tasks():
        outcome.add(task, outcome.study.perform(task))
    for contender in (0, 1):
        results = outcome.of(contender)
        found = parts(results, UTILITY.__getitem__)
        assert found.qoe == pytest.approx(summarise(results).qoe)
        one = results[0].utterances[0]
        assert parts([replace(results[0], utterances=(one,))], UTILITY.__getitem__).qoe == pytest.approx(
            qoe(one)
        )
    found = pairs(outcome, 0, 1)
    gain = qoe_gain(found, 1).value
    assert gain == pytest.approx(summarise(outcome.of(1)).qoe - summarise(outcome.of(0)).qoe)
    stalled = stall_gain(found, 1).value
    assert stalled == pytest.approx(summarise(outcome.of(1)).stall_pct - summarise(outcome.of(0)).stall_pct)
