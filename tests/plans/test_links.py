"""Whole conversations over links that stay, fall, swing and die."""

from dataclasses import replace

import pytest

from abr_tts.control.ladder import FULL
from abr_tts.control.policy_file import preset
from abr_tts.sim.engine import EMBEDDED, SLOW
from abr_tts.sim.score import summarise

from .lab import Sheet, fixed, link, run, shipped

BOTH = pytest.mark.parametrize("proxied", [False, True], ids=["direct", "behind a proxy"])


@BOTH
@pytest.mark.parametrize("name", ["steady_2M", "step_1M_40k", "square_500_100", "steady_400"])
def test_on_the_classic_ladder_nobody_waits_either(name, proxied):
    outcome = run(Sheet(name, shipped(name), policy="classic", proxied=proxied))
    assert outcome.stalls == 0


@pytest.mark.parametrize("name", ["steady_2M", "steady_400"])
def test_behind_a_proxy_too_a_steady_link_is_heard_to_change_at_most_twice(name):
    assert run(Sheet(name, shipped(name), proxied=True)).most_changes <= 2


@BOTH
def test_a_tunnel_is_bridged_by_the_bank_alone(proxied):
    road = link(("open road", 2_000, 3), ("tunnel", 0, 10), ("open road", 2_000, 0))
    outcome = run(Sheet("tunnel", road, ((15.0, 1.0),), engine=EMBEDDED, proxied=proxied))
    (utterance,) = outcome.utterances
    assert outcome.stalls == 0
    assert utterance.played_s["pcm22"] > 4
    assert utterance.played_s.get("opus12", 0.0) == 0.0
    assert sum(seconds for _, seconds in utterance.runs) == pytest.approx(15.0)


@BOTH
def test_an_engine_that_starves_the_listener_is_not_taken_for_a_bad_network(proxied):
    """Real-time factor 0.9, chunks of 4 s, 3 s late."""
    steady = link(("office", 2_000, 0))
    outcome = run(Sheet("slow engine", steady, ((15.0, 2.0),) * 4, engine=SLOW, proxied=proxied))
    policy = preset("default")
    for utterance, plans in zip(outcome.utterances, outcome.plans, strict=True):
        assert {planned.plan.bank.name for planned in plans} == {"opus24"}
        worth = [policy.utility(FULL[rung]) for rung, _ in utterance.runs]
        assert worth == sorted(worth)
        assert utterance.runs[-1][0] == "pcm22"


@pytest.mark.parametrize(("proxied", "within_s"), [(False, 0.35), (True, 0.6)])
def test_a_fall_is_decided_upon_in_time(proxied, within_s):
    for phase in range(6):
        fall = 6.0 + 0.17 * phase
        road = link(("good", 1_000, fall), ("bad", 40, 30), ("good", 1_000, 0), delay_ms=30, jitter_ms=3)
        outcome = run(Sheet("reaction", road, ((4.0, 1.0), (20.0, 1.0)), proxied=proxied, seed=phase))
        plans = [planned for plans in outcome.plans for planned in plans]
        before = [planned for planned in plans if planned.at < fall][-1]
        after = next(planned for planned in plans if planned.at >= fall)
        assert before.plan.upgrade is not None
        lower = after.plan.upgrade
        assert lower is None or lower.wire_kbps < before.plan.upgrade.wire_kbps
        assert after.at - fall <= within_s


def test_a_client_of_one_track_follows_the_rate_without_a_stall():
    outcome = run(Sheet("one track", shipped("square_500_100"), level=0))
    assert outcome.stalls == 0
    assert set(outcome.heard) <= {"opus48", "opus32", "opus24", "opus16", "opus12"}
    assert outcome.heard["opus48"] > 0.4


def test_a_client_without_opus_banks_the_lowest_pcm():
    outcome = run(Sheet("no decoder", shipped("steady_2M"), policy="classic", codecs=("pcm16",)))
    assert outcome.stalls == 0
    assert set(outcome.heard) == {"pcm22", "pcm16k"}


def test_an_engine_of_24_khz_is_heard_at_24_khz():
    outcome = run(Sheet("24 kHz", shipped("steady_2M"), engine=replace(EMBEDDED, rate=24_000)))
    assert outcome.heard["pcm24"] > 0.8


def test_over_many_networks_it_is_better_than_any_fixed_rung():
    names = ["bufferbloat_dsl", "cafe_wifi", "elevator", "square_500_100", "steady_400", "train_tunnels"]
    sheets = [Sheet(name, shipped(name)) for name in names]
    ours = summarise([run(sheet).result for sheet in sheets])
    for rung in ("opus24", "opus32"):
        theirs = summarise([fixed(sheet, rung) for sheet in sheets])
        assert ours.qoe > theirs.qoe
        assert ours.stall_pct <= theirs.stall_pct * 1.1
