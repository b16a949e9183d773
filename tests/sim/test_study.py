"""A study plays every contender with the same speech, and says of each what the others' keys say."""

import json
import pickle
from dataclasses import replace

import pytest

from abr_tts.control.policy_file import parse, preset
from abr_tts.errors import ConfigError
from abr_tts.sim import study as module
from abr_tts.sim.arms import adaptive, play
from abr_tts.sim.optimum import Optimum
from abr_tts.sim.run import World
from abr_tts.sim.scenario import Direction, Scenario, steady
from abr_tts.sim.score import stalled_s, summarise, waited_s
from abr_tts.sim.study import BOUND, Case, Contender, Outcome, Study, Task, figures, kinds, seed_of, worth

KEYS = [
    "qoe", "stall_pct", "stall_free_pct", "stalls_per_min", "switches_per_min", "startup_ms", "p10_qoe",
    "bytes_per_s", "played_seconds",
]  # fmt: skip


@pytest.fixture(autouse=True)
def short_sessions(monkeypatch):
    """Utterances begin within ten seconds, so that a session takes a moment."""
    monkeypatch.setattr(module, "LEAST_SESSION_S", 10.0)


def case(name: str, kbps: float, kind: str) -> Case:
    scenario = steady(kbps, jitter_ms=3, name=name)
    return Case(type(scenario)(name, 10.0, scenario.down, scenario.up), kind)


CASES = (case("slow", 60, "dsl"), case("quick", 2_000, "fibre"), case("quicker", 4_000, "fibre"))


def study_of(*names: str, bound: bool = False, repeats: int = 1, seed: int = 1) -> Study:
    default = preset("default")
    others = [Contender(name, default, name) for name in names]
    return Study((Contender("default", default), *others), CASES, World(), seed, repeats, bound)


def outcome_of(study: Study, order=lambda tasks: tasks) -> Outcome:
    outcome = Outcome(study)
    for task in order(study.tasks()):
        outcome.add(task, study.perform(task))
    return outcome


@pytest.fixture(scope="module")
def whole() -> Outcome:
    patch = pytest.MonkeyPatch()
    patch.setattr(module, "LEAST_SESSION_S", 10.0)
    yield outcome_of(study_of("fixed_opus24", "fixed_pcm22", bound=True))
    patch.undo()


# ---------------------------------------------------------------- what is played


def test_every_contender_meets_the_same_speech_and_another_one_on_each_network(whole):
    def speech(contender: int, index: int) -> list[float]:
        return [
            utterance.audio_s for result in whole.of(contender, index) for utterance in result.utterances
        ][:2]

    for index in range(len(CASES)):
        assert speech(0, index) == speech(1, index)
    assert speech(0, 1) != speech(0, 2)


def test_a_seed_is_of_the_network_and_not_of_its_place():
    assert seed_of("a", 1, 0) == seed_of("a", 1, 0)
    assert len({seed_of("a", 1, 0), seed_of("b", 1, 0), seed_of("a", 2, 0), seed_of("a", 1, 1)}) == 4


def test_tasks_in_another_order_give_the_same_report():
    study = study_of("rate_ewma", repeats=2)
    assert len(study.tasks()) == 2 * 3 * 2
    assert outcome_of(study).report() == outcome_of(study, lambda tasks: tasks[::-1]).report()


def test_another_seed_gives_other_figures():
    assert outcome_of(study_of(seed=1)).report() != outcome_of(study_of(seed=2)).report()


def test_a_study_and_what_comes_of_it_travel_between_processes():
    study = study_of("mpc")
    again = pickle.loads(pickle.dumps(study))
    task = Task(1, 0, 0)
    assert pickle.loads(pickle.dumps(again.perform(task))) == study.perform(task)


def test_a_short_recording_begins_anew_until_there_is_enough_of_it(monkeypatch):
    monkeypatch.setattr(module, "LEAST_SESSION_S", 60.0)
    assert CASES[0].session_s == 60.0
    monkeypatch.setattr(module, "LEAST_SESSION_S", 5.0)
    assert CASES[0].session_s == 10.0


def test_an_unknown_baseline_is_refused():
    with pytest.raises(ConfigError, match="did you mean mpc"):
        Contender("x", preset("default"), "mpcc").arm()


# ---------------------------------------------------------------- what is told


def test_the_report_has_the_keys_that_programs_read(whole):
    report = whole.report()
    assert list(report) == [*KEYS, "kinds", "baselines", "optimum"]
    assert list(report["startup_ms"]) == ["p50", "p95"]
    assert list(report["kinds"]) == ["dsl", "fibre"]
    assert list(report["kinds"]["dsl"]) == KEYS
    assert list(report["baselines"]) == ["fixed_opus24", "fixed_pcm22"]
    assert list(report["baselines"]["fixed_pcm22"]) == [*KEYS, "kinds"]
    assert list(report["optimum"]) == ["qoe", "stall_pct", "bound"]
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_without_baselines_and_bound_none_are_told():
    report = outcome_of(study_of()).report()
    assert report["baselines"] == {} and "optimum" not in report


def test_the_figures_are_those_of_the_summary_of_the_same_sessions(whole):
    summary = summarise(whole.of(1))
    told = whole.figures(1)
    assert told["qoe"] == pytest.approx(summary.qoe, abs=1e-6)
    assert told["p10_qoe"] == pytest.approx(summary.p10_qoe, abs=1e-6)
    assert told["stall_pct"] == pytest.approx(summary.stall_pct, abs=1e-6)
    fibre = summarise([*whole.of(1, 1), *whole.of(1, 2)])
    assert told["kinds"]["fibre"]["qoe"] == pytest.approx(fibre.qoe, abs=1e-6)


def test_pcm_on_a_link_of_60_kbit_stalls_and_opus_does_not(whole):
    kinds_of = whole.report()["baselines"]
    assert kinds_of["fixed_pcm22"]["kinds"]["dsl"]["stall_pct"] > 50
    assert kinds_of["fixed_pcm22"]["kinds"]["fibre"]["stall_pct"] == 0
    assert kinds_of["fixed_opus24"]["stall_pct"] == 0
    assert kinds_of["fixed_opus24"]["played_seconds"].keys() == {"opus24"}


def test_nobody_beats_the_optimum(whole):
    bound = whole.optimum()
    assert isinstance(bound, Optimum)
    report = whole.report()
    assert report["optimum"]["qoe"] >= max(
        report["qoe"], *(found["qoe"] for found in report["baselines"].values())
    )
    assert {task.contender for task in whole.optima} == {BOUND}
    assert whole.optimum("dsl").qoe < whole.optimum("fibre").qoe


def test_a_policy_cannot_praise_itself():
    proud = parse('name = "proud"\n[[rung]]\nname = "opus24"\nutility = 1.0\n', "proud")
    assert worth([proud])["opus24"] == pytest.approx(0.90)
    own = parse(
        'bank_rung = "opus20"\n[[rung]]\nname = "opus20"\ncodec = "opus"\nkbps = 20\nutility = 1.0\n', "own"
    )
    assert 0.82 < worth([own])["opus20"] < 0.90, "a rung that the house does not know is measured, too"


def test_what_was_not_measured_is_null_and_not_infinite(whole):
    (result,) = whole.of(0, 1)
    told = figures([result], {name: float("inf") for name in worth([preset("default")])})
    assert told["qoe"] is None
    json.dumps(told, allow_nan=False)


def test_kinds_are_told_once_and_in_order():
    assert kinds([*CASES, *CASES]) == ["dsl", "fibre"]


# ---------------------------------------------------------------- rests

FALLS_IN_A_REST = Direction(((0.0, 2_000.0), (9.0, 30.0)), 0.03)
"""The first of two speeches meets a rich link, the second one that has become thin meanwhile."""


def second_of_two(policy, probing):
    scenario = Scenario("falls", 120.0, FALLS_IN_A_REST, steady(1.0).up)
    talk = [(5.0, 6.0), (5.0, 2.0)]
    result = play(scenario, adaptive, policy, utterances=talk, seed=1, probing=probing)
    return result.utterances[1]


def test_a_link_that_falls_while_nobody_speaks_is_known_when_the_next_speech_begins():
    warned, surprised = (second_of_two(preset("default"), probing) for probing in (True, False))
    assert stalled_s(warned) + waited_s(warned) < stalled_s(surprised) + waited_s(surprised)
    assert warned.wire_bytes > surprised.wire_bytes + 1_200  # its rest is paid for too


def test_nobody_is_probed_where_the_policy_wants_none():
    silent = replace(preset("default"), idle_probe_bytes=0)
    assert second_of_two(silent, True) == second_of_two(preset("default"), False)


def test_who_is_compared_with_does_not_probe():
    network = case("slow", 60, "dsl")
    ours, theirs = Contender("default", preset("default")), Contender("rate", preset("default"), "rate_ewma")
    with_none = replace(preset("default"), idle_probe_bytes=0)
    study = Study((ours,), (network,), World())

    def same(contender):
        silent = replace(contender, policy=with_none)
        played = [study.play(network, one, one.arm(), 1) for one in (contender, silent)]
        return played[0] == played[1]

    assert not same(ours)
    assert same(theirs)
