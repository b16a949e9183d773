"""The rules that a policy must beat do what their papers say, and are at home in the product's core."""

import itertools

import pytest

from abr_tts.control.controller import BANK, Layer, Observation
from abr_tts.control.estimator import Link
from abr_tts.control.ladder import FULL
from abr_tts.control.policy_file import preset
from abr_tts.errors import ConfigError
from abr_tts.sim.arms import CODECS, adaptive, play
from abr_tts.sim.baselines import BASELINES, USUAL, ahead, baseline, bba, dynamic, mpc, rate
from abr_tts.sim.baselines.ahead import Moment, fitting
from abr_tts.sim.scenario import steady

from .scenarios import load

POLICY = preset("default").for_listener(CODECS, 22_050)
RULES = ("rate_ewma", "bba", "bola", "dynamic", "mpc")


def moment(kbps: float = 0.0, buffer_s: float = 0.0, rung: str | None = None, **more) -> Moment:
    """Over a link of `kbps`; 0: nothing is known of it."""
    link = Link(kbps > 0, kbps > 0, kbps or POLICY.start_kbps, 0.04)
    before = next((one for one in POLICY.rungs if one.name == rung), None)
    return Moment(link, buffer_s, buffer_s, more.get("outstanding", 0), 1.0, before, more.get("heard", True))


def chosen(rule: str, *moments: Moment) -> list[str]:
    controller = BASELINES[rule](POLICY)
    return [controller.choose(one)[0].name for one in moments]


# ---------------------------------------------------------------- the registry


def test_every_rung_of_the_ladder_is_a_baseline_and_so_is_every_rule():
    assert set(BASELINES) == {f"fixed_{rung.name}" for rung in FULL.rungs} | set(RULES)
    assert set(USUAL) <= set(BASELINES)


def test_an_unknown_baseline_is_named_with_its_neighbour():
    assert baseline("mpc") is BASELINES["mpc"]
    with pytest.raises(ConfigError, match=r"no baseline 'fixed_opus2'; did you mean fixed_opus\d+\?"):
        baseline("fixed_opus2")
    with pytest.raises(ConfigError, match="no baseline 'zzz'; there are fixed_pcm24, "):
        baseline("zzz")


# ---------------------------------------------------------------- in the core


@pytest.mark.parametrize("name", [*RULES, "fixed_opus24"])
@pytest.mark.parametrize("network", ["cell_edge_walk", "lossy_2pct"])
def test_each_is_heard_to_the_end_on_one_track_at_a_time(name, network):
    result = play(load(network), BASELINES[name], POLICY, until_s=30)
    assert len(result.utterances) >= 3
    for spoken in result.utterances:
        assert spoken.complete
        assert spoken.lost_frames == 0
        # Nothing is sent twice but pre-roll, and the frame over which a new track fades.
        again = sum(spoken.sent_s.values()) - spoken.audio_s
        assert -0.001 < again < 0.04 + 0.08 * (len(spoken.changes) + 1)


@pytest.mark.parametrize("name", RULES)
def test_each_takes_the_best_rung_that_a_wide_link_carries_and_the_cheapest_on_a_hopeless_one(name):
    wide = play(steady(5_000), BASELINES[name], POLICY, utterances=[(15.0, 1.0)] * 3).utterances[-1]
    poor = play(steady(16), BASELINES[name], POLICY, utterances=[(8.0, 1.0)] * 3).utterances[-1]
    assert wide.runs[-1][0] in ("pcm22", "opus48")  # BBA and BOLA need more speech for PCM
    least = "opus24" if name in ("bba", "bola") else "opus12"
    assert max(poor.played_s, key=poor.played_s.get) == least


def test_who_looks_at_the_rate_begins_with_what_the_last_utterance_learned():
    plan = [(6.0, 2.0), (6.0, 2.0)]
    first, second = play(steady(3_000), BASELINES["rate_ewma"], POLICY, utterances=plan).utterances
    assert (first.runs[0][0], second.runs[0][0]) == ("opus24", "pcm22")


def test_a_piece_is_sent_at_one_rung_whatever_the_link_does_meanwhile():
    controller = BASELINES["rate_ewma"](POLICY)
    first = controller.decide(seen(0))
    controller._piece_end += 1
    assert controller.decide(seen(controller._piece_end - 960)).rung == first.rung
    assert controller.decide(seen(96_000, ready=96_000)) is None


def seen(pts: int, ready: int = 960_000) -> Observation:
    return Observation(1.0, ready, False, 0, 0, (Layer(pts), Layer(0)))


def test_only_rungs_that_are_better_than_all_that_cost_less_are_chosen_from():
    names = [rung.name for rung in BASELINES["mpc"](POLICY).rungs]
    assert names == ["opus12", "opus16", "opus24", "opus32", "opus48", "pcm22"]  # opus64 is no better than 48
    rungs = ahead._worthwhile(POLICY)
    assert [fitting(rungs, kbps).name for kbps in (1, 34, 1_000)] == ["opus12", "opus24", "pcm22"]


def test_all_send_in_the_bank():
    for name in RULES:
        assert BASELINES[name](POLICY).decide(seen(0)).rank == BANK


# ---------------------------------------------------------------- by rate


def test_the_rate_rule_leaves_some_free_and_goes_down_only_when_it_must():
    need = FULL["pcm22"].wire_kbps
    up, stay = need / rate.UP_SHARE, need / rate.STAY_SHARE
    assert chosen("rate_ewma", moment(up + 1, rung="opus48"), moment(up - 1, rung="opus48")) == [
        "pcm22",
        "opus48",
    ]
    assert chosen("rate_ewma", moment(stay + 1, rung="pcm22"), moment(stay - 1, rung="pcm22")) == [
        "pcm22",
        "opus48",
    ]


def test_over_an_unknown_link_the_bank_is_sent():
    for rule in ("rate_ewma", "mpc", "dynamic"):
        assert chosen(rule, moment()) == [POLICY.bank_rung]


# ---------------------------------------------------------------- by the buffer


def test_bba_sends_the_cheapest_below_the_reservoir_and_the_best_above_the_cushion():
    full = bba.RESERVOIR_S + bba.CUSHION_S
    controller = BASELINES["bba"](POLICY)
    controller._starting = False
    levels = [(0.0, "opus48"), (bba.RESERVOIR_S, "opus48"), (full, "opus24"), (full + 5, "opus24")]
    rungs = [controller.choose(moment(buffer_s=level, rung=rung))[0].name for level, rung in levels]
    assert rungs == ["opus24", "opus24", "pcm22", "pcm22"]


def test_bba_keeps_its_rung_until_the_line_reaches_a_neighbour():
    controller = BASELINES["bba"](POLICY)
    controller._starting = False
    low, high = controller.upper[0].wire_kbps, controller.upper[-1].wire_kbps

    def level(kbps: float) -> float:
        return bba.RESERVOIR_S + bba.CUSHION_S * (kbps - low) / (high - low)

    between = level(FULL["opus32"].wire_kbps + 1)
    assert controller.choose(moment(buffer_s=between, rung="opus24"))[0].name == "opus32"
    assert controller.choose(moment(buffer_s=between, rung="opus48"))[0].name == "opus48"
    assert (
        controller.choose(moment(buffer_s=level(FULL["opus32"].wire_kbps), rung="opus48"))[0].name == "opus32"
    )


def test_bba_climbs_step_by_step_while_the_buffer_fills_quickly():
    growing = [moment(buffer_s=0.0)]
    for n, rung in enumerate(("opus24", "opus32"), 1):
        growing.append(moment(buffer_s=0.45 * n, rung=rung))
    assert chosen("bba", *growing) == ["opus24", "opus32", "opus48"]
    slow = [moment(buffer_s=0.0), moment(buffer_s=0.2, rung="opus24")]
    assert chosen("bba", *slow) == ["opus24", "opus24"]


def test_bola_knows_its_two_levels():
    controller = BASELINES["bola"](POLICY)
    low, high = controller.low_s, controller.high_s
    names = [controller.choose(moment(buffer_s=at))[0].name for at in (0, low - 0.01, low + 0.01, high)]
    assert names == ["opus24", "opus24", "opus32", "pcm22"]
    best = controller._worth[-1]
    assert controller._v * (best + controller._g) == pytest.approx(high)


def test_bola_asks_for_more_the_more_is_there():
    controller = BASELINES["bola"](POLICY)
    kbps = [controller.choose(moment(buffer_s=n / 10))[0].wire_kbps for n in range(130)]
    assert kbps == sorted(kbps)
    assert len(set(kbps)) == 4


def test_the_dynamic_rule_goes_by_rate_first_and_by_the_buffer_once_that_is_large():
    controller = BASELINES["dynamic"](POLICY)

    def choose(kbps, level):
        return controller.choose(moment(kbps, level, rung="opus24"))[0].name

    wanted = BASELINES["bola"](POLICY).choose(moment(buffer_s=4.0))[0]
    assert choose(5_000, 0.5) == "pcm22"  # by rate
    assert choose(wanted.wire_kbps, 4.0) == wanted.name  # BOLA asks for more than 0.6 of the rate allows
    assert choose(20, dynamic.SWITCH_S) != "opus12"  # still by the buffer
    assert choose(5_000, 0.1) == "pcm22"  # by rate again


# ---------------------------------------------------------------- by plan


@pytest.mark.parametrize("kbps", [20, 60, 130, 400, 900])
@pytest.mark.parametrize("level", [0.0, 0.7, 3.0])
@pytest.mark.parametrize("rung", [None, "opus24", "pcm22"])
def test_mpc_takes_the_first_step_of_the_best_of_all_plans(monkeypatch, kbps, level, rung):
    monkeypatch.setattr(mpc, "HORIZON", 3)
    controller = BASELINES["mpc"](POLICY)
    first = controller.choose(moment(kbps, level, rung))[0]
    best = {}
    for plan in itertools.product(controller.rungs, repeat=3):
        best[plan[0]] = max(best.get(plan[0], float("-inf")), worth(plan, kbps * mpc.SAFETY, level, rung))
    assert best[first] == pytest.approx(max(best.values()))


def worth(plan, kbps: float, level: float, rung: str | None) -> float:
    """4 a second of stall, 0.25 a stall, 0.25 a step and 0.02 a change; and what is left at the end."""
    value, before = 0.0, FULL[rung] if rung else None
    for one in plan:
        seconds = one.wire_kbps * mpc.PIECE_S / kbps
        late = max(0.0, seconds - level)
        level = max(0.0, level - seconds) + mpc.PIECE_S
        value += POLICY.utility(one) * mpc.PIECE_S - 4 * late - (0.25 if late else 0)
        if before is not None and one.name != before.name:
            value -= 0.25 * abs(POLICY.utility(one) - POLICY.utility(before)) + 0.02
        before = one
    return value - mpc.LEFT_PRICE * max(0.0, mpc.LEFT_S - level)


def test_mpc_grows_careful_when_it_was_wrong():
    controller = BASELINES["mpc"](POLICY)
    steps = [
        controller.choose(moment(kbps, 3.0, "opus48"))[1].values["kbps"] for kbps in (800, 800, 400, 400)
    ]
    assert steps == pytest.approx([share * mpc.SAFETY for share in (800, 800, 200, 200)])


def test_mpc_counts_what_is_on_its_way_and_waits_before_the_start_rather_than_stall():
    controller = BASELINES["mpc"](POLICY)
    free = controller.choose(moment(150, 1.0, "opus24"))[0]
    busy = controller.choose(moment(150, 1.0, "opus24", outstanding=20_000))[0]
    assert busy.wire_kbps < free.wire_kbps
    heard, before = (
        BASELINES["mpc"](POLICY).choose(moment(150, 0.0, None, heard=h))[0] for h in (True, False)
    )
    assert heard.wire_kbps < before.wire_kbps


# ---------------------------------------------------------------- arms


def test_equal_seeds_bring_every_arm_the_same_speech():
    sessions = [
        play(steady(800), BASELINES[name], POLICY, until_s=20, seed=3) for name in ("fixed_pcm22", "bba")
    ]
    lengths = [[round(spoken.audio_s, 6) for spoken in session.utterances][:3] for session in sessions]
    assert lengths[0] == lengths[1]


def test_the_policys_own_controller_is_the_one_of_a_server():
    result = play(steady(3_000), adaptive, preset("default"), utterances=[(8.0, 1.0)] * 2)
    assert {rung for spoken in result.utterances for rung in spoken.played_s} <= {"opus24", "opus48", "pcm22"}
    assert result.utterances[-1].played_s["pcm22"] > 6


def test_a_policy_that_remembers_nothing_begins_anew():
    from dataclasses import replace

    plan = [(6.0, 2.0), (6.0, 2.0)]
    forgetful = replace(preset("default"), memory_key="none")
    second = play(steady(3_000), BASELINES["rate_ewma"], forgetful, utterances=plan).utterances[1]
    assert second.runs[0][0] == "opus24"
