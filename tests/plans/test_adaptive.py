"""Both controllers over networks of our own, in virtual time: what a listener hears."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from abr_tts.control.adaptive import Adaptive
from abr_tts.control.ladder import FULL
from abr_tts.control.policy_file import preset
from abr_tts.control.strong import Strong
from abr_tts.sim.engine import EMBEDDED, NEURAL, SLOW
from abr_tts.sim.result import Result
from abr_tts.sim.run import World, run
from abr_tts.sim.scenario import Direction, Scenario, from_json

SCENARIOS = Path(__file__).parents[2] / "tools" / "netem" / "scenarios"
DECODERS = ("opus", "pcm16", "ulaw")
DEMO = [(0.0, 2000.0), (8.0, 350.0), (18.0, 40.0), (26.0, 0.0), (29.0, 2000.0)]


def ours(name: str) -> Scenario:
    return from_json(json.loads((SCENARIOS / f"{name}.json").read_text()))


def link(*rate: tuple[float, float], delay_ms: float = 20.0) -> Scenario:
    delay_s = delay_ms / 1000
    up = Direction(((0.0, 2000.0),), delay_s, 0.0)
    return Scenario("a link", 600.0, Direction(tuple(rate), delay_s, 0.0, 65_536), up)


@pytest.fixture(params=[Adaptive, Strong], ids=["v1", "strong"])
def kind(request):
    return request.param


def hear(kind: type[Adaptive], scenario: Scenario, policy: str = "default", engine=NEURAL, **more) -> Result:
    """A conversation on one connection, each utterance with what the last one learned."""
    proxied, level, changes = more.pop("proxied", False), more.pop("level", 1), more.pop("changes", {})
    chosen = replace(preset(policy), **changes).for_listener(DECODERS, 22_050, level)
    kept = {}

    def learned(controller: Adaptive, now: float) -> None:
        kept["estimate"] = controller.estimate(now)

    return run(
        scenario,
        lambda now: kind(chosen, level, kept.get("estimate")),
        learned=learned,
        world=World(engine=engine, proxied=proxied),
        **more,
    )


def changes_heard(result: Result) -> int:
    return max(len(u.runs) - 1 for u in result.utterances)


def stalls(result: Result) -> int:
    return sum(u.stalls for u in result.utterances)


def assert_whole(result: Result) -> None:
    assert all(u.complete and u.lost_frames == 0 for u in result.utterances)


@pytest.mark.parametrize("proxied", [False, True])
@pytest.mark.parametrize("name", ["steady_2M", "step_1M_40k", "square_500_100", "steady_400"])
def test_nobody_waits_for_a_word(kind, name, proxied):
    result = hear(kind, ours(name), proxied=proxied)
    assert_whole(result)
    assert stalls(result) == 0


@pytest.mark.parametrize("name", ["steady_2M", "steady_400"])
def test_what_is_played_changes_at_most_twice_on_a_steady_link(kind, name):
    assert changes_heard(hear(kind, ours(name))) <= 2


def test_a_fast_link_is_heard_as_pcm_and_one_just_above_pcm_as_opus(kind):
    fast, tight = hear(kind, ours("steady_2M")), hear(kind, ours("steady_400"))
    assert sum(u.played_s.get("pcm22", 0.0) for u in fast.utterances) > 0.8 * sum(
        u.audio_s for u in fast.utterances
    )
    assert sum(u.played_s.get("pcm22", 0.0) for u in tight.utterances) < 0.1 * sum(
        u.audio_s for u in tight.utterances
    )


def test_a_tunnel_in_mid_sentence_costs_nothing(kind):
    result = hear(kind, link((0, 2000), (3, 0), (13, 2000)), engine=EMBEDDED, utterances=[(15.0, 1.0)])
    assert_whole(result)
    assert stalls(result) == 0


@pytest.mark.parametrize("proxied", [False, True])
def test_a_ladder_of_pcm_alone_is_sent_at_full_speed_again_after_an_outage(kind, proxied):
    alone = {"rungs": (FULL["pcm22"],), "utilities": (1.0,), "bank_rung": "pcm22", "bank_best": "pcm22"}
    poor = link((0, 2000), (8, 350), (18, 40), (26, 0), (29, 2000), delay_ms=30.0)
    result = hear(kind, poor, utterances=[(49.0, 1.0)], proxied=proxied, changes=alone)
    assert_whole(result)
    assert stalls(result) == 0


@pytest.mark.parametrize("proxied", [False, True])
def test_a_slow_engine_on_a_good_link_never_lowers_the_rung(kind, proxied):
    result = hear(kind, link((0, 2000)), engine=SLOW, utterances=[(15.0, 2.0)] * 3, proxied=proxied)
    assert_whole(result)
    for utterance in result.utterances:
        lowered = [c for c in utterance.changes if c.source == "pcm22"]
        assert lowered == []


@pytest.mark.parametrize("proxied", [False, True])
def test_the_demo_is_heard_without_a_gap_in_all_three_formats_and_ends_at_pcm22(kind, proxied):
    result = hear(
        kind, link(*DEMO), "classic", EMBEDDED, proxied=proxied, utterances=[(40.0, 1.0)],
        changes={"upgrade_lead_s": 2.0},
    )  # fmt: skip
    assert_whole(result)
    assert stalls(result) == 0
    (utterance,) = result.utterances
    assert set(utterance.played_s) == {"pcm22", "pcm16k", "opus24"}
    assert utterance.runs[-1][0] == "pcm22"


@pytest.mark.parametrize("proxied", [False, True])
def test_a_link_that_comes_back_while_all_that_may_be_banked_is_banked_is_soon_found_out(proxied):
    waits = []
    for phase in range(5):
        back = 56.0 + 1.3 * phase
        road = link((0, 1_000), (20, 40), (back, 1_000), delay_ms=30)
        result = hear(Strong, road, utterances=[(100.0, 1.0)], proxied=proxied)
        assert_whole(result)
        assert stalls(result) == 0
        (utterance,) = result.utterances
        at = utterance.asked_at + utterance.startup_s
        heard = [(rung, at, at := at + seconds) for rung, seconds in utterance.runs]
        waits.append(
            next(max(0.0, begin - back) for rung, begin, end in heard if rung == "pcm22" and end > back)
        )
    assert sorted(waits)[2] < 5.0


def test_a_client_of_level_0_hears_one_track_that_follows_the_rate(kind):
    result = hear(kind, ours("step_1M_40k"), "opus", level=0)
    assert_whole(result)
    assert all(rung.startswith("opus") for u in result.utterances for rung in u.played_s)


def test_the_same_seed_gives_the_same_decisions(kind):
    first, again = (hear(kind, ours("square_500_100"), until_s=30.0, seed=3) for _ in range(2))
    assert [u.changes for u in first.utterances] == [u.changes for u in again.utterances]
    assert [u.runs for u in first.utterances] == [u.runs for u in again.utterances]
