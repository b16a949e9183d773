"""The offline optimum: what can be solved by hand, all plans one by one, and no arm above it."""

import dataclasses
import itertools
import random

import numpy as np
import pytest

from abr_tts.control.ladder import FULL
from abr_tts.control.policy_file import preset
from abr_tts.errors import ConfigError
from abr_tts.sim import optimum as room
from abr_tts.sim.arms import adaptive, play
from abr_tts.sim.baselines import BASELINES
from abr_tts.sim.engine import EMBEDDED, EngineModel, conversation
from abr_tts.sim.optimum import Optimum, Search, Spoken, least_bytes, optimum, over
from abr_tts.sim.run import World
from abr_tts.sim.scenario import Scenario, from_trace, steady
from abr_tts.sim.score import CHANGE, CHANGE_EVENT, UTILITY, points, stalled_s

from .scenarios import load

DEFAULT = preset("default")
QUICK = World(engine=EngineModel(real_time_factor=0.01, chunk_s=0.5, clause_s=(30.0, 30.0)))


def link(*steps: tuple[float, float], round_s: float = 600.0) -> Scenario:
    """Capacity from second to second, no delay."""
    down = dataclasses.replace(steady(1).down, rate=steps, delay_s=0.0)
    return Scenario("made up", round_s, down, dataclasses.replace(steady(1).up, delay_s=0.0))


def only(*names: str):
    rungs = tuple(FULL[name] for name in names)
    utilities = tuple(UTILITY[name] for name in names)
    return dataclasses.replace(DEFAULT, rungs=rungs, utilities=utilities, bank_rung=names[-1])


# ---------------------------------------------------------------- by hand


@pytest.mark.parametrize("upgrading", [False, True])
def test_on_an_ample_link_everything_is_heard_at_the_best_rung_at_once(upgrading):
    best = optimum(link((0, 1e6)), [(8.0, 0)], DEFAULT, upgrading=upgrading, world=QUICK)
    assert best.qoe == pytest.approx(1.0, abs=0.001)
    assert (best.stall_pct, best.audio_s) == (0, 8.0)


def test_what_is_wanted_before_the_start_is_waited_for():
    slow = only("pcm22")
    best = optimum(link((0, 500)), [(4.0, 0)], slow, upgrading=False, world=QUICK)
    # 200 ms of PCM at 22 050 Hz, ten packets, through 62.5 kB a second; the rest is faster than it is heard.
    assert best.qoe == pytest.approx(1 - (10 * least_bytes(882, True) / 62_500) / 4, abs=0.002)


def test_a_link_too_slow_for_the_better_rung_leaves_the_other_one():
    best = optimum(link((0, 60)), [(10.0, 0)], only("pcm22", "opus24"), upgrading=True, world=QUICK)
    # Of 60 kbit/s 34 are free: 4 kB of 10 s of which each second of PCM more takes 43, for a gain of 0.1.
    assert 0.88 < best.qoe < 0.905


def test_an_outage_that_nobody_can_bridge_is_waited_for_before_the_start():
    # An engine in real time: the listener begins when 0.2 s are made and is so far behind it. What is
    # made at second 4 would be heard at the end, at 4.18, and comes through at 7.
    live = World(engine=EngineModel(real_time_factor=1.0, chunk_s=0.1, clause_s=(30.0, 30.0)))
    scenario = link((0, 2000), (4, 0), (7, 2000))
    best = optimum(scenario, [(10.0, 0)], only("opus24"), upgrading=False, world=live)
    assert best.qoe == pytest.approx(0.9 - (0.1 + 2.82) / 10, abs=0.01)
    assert best.stall_pct == pytest.approx(28.2, abs=0.1)


def test_speech_that_is_made_in_time_bridges_an_outage():
    scenario = link((0, 400), (1, 0), (9, 400))
    best = optimum(scenario, [(10.0, 0)], only("opus24"), upgrading=False, world=World(engine=EMBEDDED))
    assert best.stall_pct == 0
    assert best.qoe > 0.89
    shorter = link((0, 100), (1, 0), (9, 100))  # 12.5 kB are 4 s, not 8
    best = optimum(shorter, [(10.0, 0)], only("opus24"), upgrading=False, world=World(engine=EMBEDDED))
    assert 30 < best.stall_pct < 60


def test_a_change_is_paid_for():
    # 1 s at a rate for PCM, then one for Opus: 0.1 gained for a second, or two, less a change.
    scenario = link((0, 800), (2, 40))
    both = optimum(scenario, [(10.0, 0)], only("pcm22", "opus24"), upgrading=True, world=QUICK)
    alone = optimum(scenario, [(10.0, 0)], only("opus24"), upgrading=True, world=QUICK)
    assert 0.01 < both.qoe - alone.qoe < 0.1 * 0.6


def test_sending_again_gains_at_the_start_only_and_never_loses():
    for kbps in (40, 300):
        once, again = (
            optimum(link((0, kbps)), [(5.0, 1.0)] * 3, DEFAULT, upgrading=up) for up in (False, True)
        )
        assert once.qoe <= again.qoe + 1e-9 <= once.qoe + 0.05


# ---------------------------------------------------------------- all plans, one by one


def by_hand(speech: Spoken, released, deadlines, worth) -> float:
    """The best of all sequences of rungs, with the price that a bound may take."""
    best = float("-inf")
    for plan in itertools.product(range(len(worth)), repeat=len(released)):
        at, value = 0.0, 0.0
        for piece, rung in enumerate(plan):
            at = max(at, released[piece]) + speech.sizes[rung][piece]
            if at > deadlines[piece]:
                break
            value += worth[rung] * speech.seconds[piece]
            if piece and rung != plan[piece - 1]:
                value -= (CHANGE - room.PIECE_S) * abs(worth[rung] - worth[plan[piece - 1]]) + CHANGE_EVENT
        else:
            best = max(best, value)
    return best


@pytest.mark.parametrize("seed", range(40))
def test_the_programme_finds_the_best_of_all_plans_and_never_less(seed):
    rng = random.Random(seed)
    count, worth = 7, [0.3, 0.7, 1.0]
    sizes = tuple(
        tuple(base * rng.uniform(0.7, 1.3) for _ in range(count)) for base in (9_000, 15_000, 40_000)
    )
    released = sorted(rng.uniform(0, 60_000) for _ in range(count))
    slack = rng.uniform(10_000, 60_000)
    deadlines = sorted(at + slack + rng.uniform(0, 60_000) for at in released)
    speech = Spoken(count * 0.7, tuple(released), (0.7,) * count, sizes)
    best = by_hand(speech, released, deadlines, worth)
    found = room._programme(speech, released, deadlines, np.array(worth))
    assert found >= best - 1e-9
    if best > float("-inf"):
        cell = max(room.LEAST_CELL_BYTES, deadlines[-1] / room.CELLS)
        easier = [at + 20 * cell for at in deadlines]
        assert found <= by_hand(speech, released, easier, worth) + 1e-9


# ---------------------------------------------------------------- nobody is better

WALK = "time_s,kbps\n0,500\n4,60\n9,900\n13,25\n20,300\n26,0\n30,150\n34,2000\n40,45\n52,700\n60,700\n"
ARMS = {name: BASELINES[name] for name in ("fixed_opus24", "fixed_pcm22", "mpc")}


@pytest.mark.parametrize("arm", [*ARMS, "adaptive"])
@pytest.mark.parametrize("name", ["walk", "step_1M_40k", "elevator"])
def test_no_arm_has_more_than_the_bound_of_the_very_utterance(name, arm):
    scenario = from_trace(WALK, "walk", 60) if name == "walk" else load(name)
    result = play(scenario, ARMS.get(arm, adaptive), DEFAULT, until_s=50)
    assert len(result.utterances) >= 3
    for upgrading in (True, False):
        search = Search(scenario, DEFAULT, UTILITY, World(), upgrading)
        if not upgrading and arm == "adaptive":
            continue  # it sends better what it has sent
        for index, heard in enumerate(result.utterances):
            speech = Spoken.of(planned(index), World(), f"1/{index}", search.rungs)
            begun = heard.asked_at + heard.startup_s - heard.delivery_s - speech.made[0]
            best = search.best(speech, begun)
            assert points(heard) <= best.points + 1e-6, (index, heard)
            assert stalled_s(heard) + heard.delivery_s >= best.stall_s - 1e-6


def planned(index: int) -> float:
    """Seconds of the utterance as it was planned, which its samples round."""
    return next(itertools.islice(conversation("1/talk"), index, None))[0]


def test_the_speech_is_what_a_session_speaks():
    heard = play(steady(2_000), BASELINES["fixed_opus24"], DEFAULT, utterances=[(6.4, 0.0)]).utterances[0]
    speech = Spoken.of(6.4, World(), "1/0", (FULL["opus24"],))
    assert speech.audio_s == heard.audio_s
    assert sum(speech.seconds) == pytest.approx(heard.audio_s)
    assert sum(speech.sizes[0]) < heard.wire_bytes < 1.5 * sum(speech.sizes[0])
    assert list(speech.made) == sorted(speech.made)


# ---------------------------------------------------------------- records


def test_a_set_is_weighted_by_seconds_of_audio():
    both = over([Optimum(0.9, 1.0, 30.0, "b"), Optimum(0.5, 5.0, 10.0, "b")])
    assert (both.qoe, both.stall_pct, both.audio_s, both.bound) == (pytest.approx(0.8), 2.0, 40.0, "b")
    with pytest.raises(ValueError, match="nothing was spoken"):
        over([])


def test_the_bound_says_what_it_bounds():
    texts = [optimum(steady(500), [(3.0, 0)], DEFAULT, upgrading=up).bound for up in (False, True)]
    assert "sends each frame once" in texts[0]
    assert "send better what it has sent" in texts[1]
    assert all(text.startswith("upper bound of QoE") for text in texts)


def test_a_rung_without_utility_and_a_session_without_speech_are_refused():
    with pytest.raises(ConfigError, match="no utility for the rung"):
        optimum(steady(500), [(3.0, 0)], DEFAULT, upgrading=True, utility={"opus24": 0.9})
    with pytest.raises(ValueError, match="nothing was spoken"):
        optimum(steady(500), [], DEFAULT, upgrading=True)
