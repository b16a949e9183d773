"""A listener's world behaves as a listener's world: bit-exact, complete, and stalling when it must."""

import dataclasses
import random

import numpy as np
import pytest

from abr_tts.audio.libopus import load as load_opus
from abr_tts.control.controller import BANK, Decision, FixedRung, Reason
from abr_tts.control.ladder import FULL
from abr_tts.sim.engine import EMBEDDED, NEURAL, SLOW, EngineModel, conversation
from abr_tts.sim.link import Link
from abr_tts.sim.run import World, run
from abr_tts.sim.scenario import Scenario, steady
from abr_tts.sim.tcp import Host
from abr_tts.wire.messages import BitRateHint

from .scenarios import NAMES, load


def fixed(name: str):
    return lambda now: FixedRung(FULL[name])


def stalls(result) -> int:
    return sum(utterance.stalls for utterance in result.utterances)


class Alternating:
    """Another rung every two seconds of speech."""

    def __init__(self, *names: str) -> None:
        self._rungs = [FULL[name] for name in names]

    def decide(self, seen):
        pts = seen.layers[BANK].next_pts
        if pts >= seen.ready:
            return None
        rung = self._rungs[pts // 96_000 % len(self._rungs)]
        return Decision(BANK, rung, pts, Reason("test", f"{rung.name} from {pts}"))


# ---------------------------------------------------------------- the figures


def test_22_khz_pcm_never_stalls_on_a_steady_link_of_2_mbit():
    result = run(load("steady_2M"), fixed("pcm22"))
    assert len(result.utterances) > 10
    assert stalls(result) == 0
    assert all(utterance.complete for utterance in result.utterances)


def test_on_a_fall_from_1_mbit_to_40_kbit_pcm_stalls_and_opus_sent_ahead_does_not():
    scenario = load("step_1M_40k")
    assert stalls(run(scenario, fixed("pcm22"))) > 5
    assert stalls(run(scenario, fixed("opus24"))) == 0


def test_a_tunnel_in_mid_speech_costs_nothing_where_the_engine_is_fast_and_the_rung_small():
    down = dataclasses.replace(steady(800, jitter_ms=3).down, rate=((0.0, 800.0), (3.0, 0.0), (13.0, 800.0)))
    scenario = dataclasses.replace(steady(800), down=down)
    plan = [(15.0, 0.0)]
    world = World(engine=EMBEDDED)
    assert stalls(run(scenario, fixed("opus24"), world=world, utterances=plan)) == 0
    assert stalls(run(scenario, fixed("pcm22"), world=world, utterances=plan)) > 0


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_is_spoken_to_its_end_without_a_lost_frame(name):
    result = run(load(name), fixed("opus24"), until_s=40)
    assert result.utterances
    for utterance in result.utterances:
        assert utterance.complete
        assert utterance.lost_frames == 0
        assert sum(utterance.played_s.values()) == pytest.approx(utterance.audio_s, abs=1e-4)
        assert 0 < utterance.delivery_s < utterance.startup_s
        spent = utterance.ended_at - utterance.asked_at
        assert spent == pytest.approx(utterance.startup_s + utterance.audio_s + utterance.stall_s, abs=0.05)


# ---------------------------------------------------------------- laws


def test_the_same_seed_gives_the_same_result_bit_for_bit_and_another_gives_another():
    world = World(trace_every_s=0.5)
    first, again, other = (
        run(load("cafe_wifi"), fixed("opus32"), world=world, until_s=30, seed=seed) for seed in (1, 1, 2)
    )
    assert first == again
    assert first.utterances[0].audio_s != other.utterances[0].audio_s


def test_controllers_meet_the_same_speech_and_the_same_bursts():
    low, high = (run(load("cafe_wifi"), fixed(name), until_s=30) for name in ("opus12", "pcm22"))
    assert [u.audio_s for u in low.utterances][:3] == [u.audio_s for u in high.utterances][:3]


def test_the_first_sound_is_the_way_there_and_back_the_engine_and_200_ms_of_speech():
    scenario = steady(10_000, delay_ms=50)
    engine = EngineModel(real_time_factor=0.1, chunk_s=1.0, late_s=0.4)
    (spoken,) = run(scenario, fixed("pcm22"), world=World(engine=engine), utterances=[(5.0, 0.0)]).utterances
    assert spoken.startup_s == pytest.approx(0.05 + 0.5 + 0.05, abs=0.03)
    assert spoken.delivery_s == pytest.approx(0.05, abs=0.03)


def test_a_slow_engine_stalls_the_listener_and_the_network_is_not_to_blame():
    engine = dataclasses.replace(SLOW, real_time_factor=1.5)
    result = run(steady(2_000), fixed("opus24"), world=World(engine=engine), utterances=[(12.0, 0.0)])
    assert stalls(result) >= 2
    assert (result.timeouts, result.retransmitted) == (0, 0)
    assert 3 < result.utterances[0].startup_s < 10


def test_wire_bytes_are_payload_and_headers():
    (spoken,) = run(steady(2_000), fixed("pcm22"), utterances=[(8.0, 0.0)]).utterances
    assert spoken.payload_bytes > 8 * 44_100
    assert spoken.payload_bytes * 1.04 < spoken.wire_bytes < spoken.payload_bytes * 1.08
    (plain,) = run(steady(2_000), fixed("pcm22"), utterances=[(8.0, 0.0)], world=World(tls=False)).utterances
    assert plain.payload_bytes == spoken.payload_bytes
    assert 22 * 80 <= spoken.wire_bytes - plain.wire_bytes < 22 * 130


def test_reports_cost_less_than_a_twentieth_of_the_speech_or_2_kbit(monkeypatch):
    links: list[Link] = []
    make = Link.__init__
    monkeypatch.setattr(Link, "__init__", lambda self, *args: (links.append(self), make(self, *args))[1])
    result = run(steady(2_000), fixed("opus24"), utterances=[(20.0, 0.0)])
    assert len(links) == 2
    packets = links[1].sent_packets
    payload = links[1].sent_bytes - 52 * packets
    assert payload / result.seconds < 300 + 22 * packets / result.seconds


def test_what_is_sent_and_what_is_played_are_told_apart():
    controller = Alternating("opus24", "pcm22", "opus12")
    (spoken,) = run(steady(5_000), lambda now: controller, utterances=[(9.0, 0.0)]).utterances
    assert [rung for rung, _ in spoken.runs] == ["opus24", "pcm22", "opus12", "opus24", "pcm22"]
    assert [(change.source, change.target) for change in spoken.changes] == [
        ("opus24", "pcm22"), ("pcm22", "opus12"), ("opus12", "opus24"), ("opus24", "pcm22"),
    ]  # fmt: skip
    assert spoken.changes[0].reason.startswith("pcm22 from ")
    assert spoken.changes[0].from_s == pytest.approx(2.0, abs=0.1)
    assert spoken.sent_s["pcm22"] >= spoken.played_s["pcm22"]
    assert spoken.lost_frames == 0


def test_a_retune_is_heard_where_it_was_sent():
    controller = Alternating("opus24", "opus12")
    (spoken,) = run(steady(5_000), lambda now: controller, utterances=[(6.0, 0.0)]).utterances
    assert [rung for rung, _ in spoken.runs] == ["opus24", "opus12", "opus24"]
    assert [seconds for _, seconds in spoken.runs] == pytest.approx([2, 2, 2], abs=0.1)


def test_a_real_encoder_may_take_the_models_place():
    time = np.arange(22_050 * 3) / 22_050
    voice = (8_000 * np.sin(2 * np.pi * 180 * time) * (0.5 + 0.5 * np.sin(9 * time))).astype(np.int16)
    world = World(library=load_opus(), voice=voice)
    real, model = (
        run(steady(500), fixed("opus24"), world=w, utterances=[(4.0, 0.0)]).utterances[0]
        for w in (world, World())
    )
    assert real.complete
    assert real.runs == model.runs
    assert real.payload_bytes == pytest.approx(model.payload_bytes, rel=0.3)


def test_a_dead_network_is_given_up_and_told():
    down = dataclasses.replace(steady(100).down, rate=((0.0, 100.0), (2.0, 0.0)))
    scenario = Scenario("dead", 10_000.0, down, steady(100).up)
    result = run(scenario, fixed("opus24"), utterances=[(20.0, 0.0), (5.0, 0.0)])
    (spoken,) = result.utterances
    assert not spoken.complete
    assert 0 < sum(spoken.played_s.values()) < 20
    assert result.seconds < 200


def test_a_trace_of_a_run_shows_capacity_lead_and_rungs():
    result = run(load("step_1M_40k"), fixed("opus24"), world=World(trace_every_s=0.1), until_s=30)
    points = [point for utterance in result.utterances for point in utterance.trace]
    assert {point.kbps for point in points} == {1000, 40}
    assert {point.rung_played for point in points} == {"", "opus24"}
    assert all(point.lead_s >= point.buffer_s - 0.6 for point in points)
    gaps = [
        b.at - a.at for a, b in zip(result.utterances[0].trace, result.utterances[0].trace[1:], strict=False)
    ]
    assert gaps == pytest.approx([0.1] * len(gaps))


class Watching(FixedRung):
    """Keeps what it was shown."""

    def __init__(self, name: str) -> None:
        super().__init__(FULL[name])
        self.seen = []

    def decide(self, seen):
        self.seen.append(seen)
        return super().decide(seen)


def test_behind_a_proxy_the_kernel_tells_nothing_but_reports_still_do():
    scenario = steady(300, delay_ms=40)
    direct, behind = Watching("pcm22"), Watching("pcm22")
    run(scenario, lambda now: direct, utterances=[(6.0, 0.0)])
    result = run(scenario, lambda now: behind, world=World(proxied=True), utterances=[(6.0, 0.0)])
    assert max(seen.outstanding for seen in behind.seen) > 20_000
    assert result.utterances[0].complete


def test_a_kernel_that_takes_much_holds_more_before_a_new_byte():
    scenario = steady(100, delay_ms=40)
    small, large = (
        run(scenario, fixed("pcm16k"), world=World(host=Host(notsent_bytes=mark)), utterances=[(4.0, 0.0)])
        for mark in (4096, 65_536)
    )
    assert small.utterances[0].complete
    assert large.utterances[0].complete
    assert large.utterances[0].delivery_s >= small.utterances[0].delivery_s


def test_what_a_controller_learned_is_handed_over_before_the_next_begins():
    begun, ended = [], []

    def begin(now):
        begun.append((now, len(ended)))
        return FixedRung(FULL["opus24"])

    plan = [(3.0, 2.0), (3.0, 0.0), (3.0, 0.0)]
    run(steady(500), begin, learned=lambda controller, now: ended.append(now), utterances=plan)
    assert [known for _, known in begun] == [0, 1, 2]
    assert [begun[0][0] < ended[0] < begun[1][0] - 1.9, ended[1] <= begun[2][0]] == [True, True]


# ---------------------------------------------------------------- speech


def test_a_conversation_has_utterances_and_rests_within_bounds():
    spoken = [pair for pair, _ in zip(conversation("x"), range(2_000), strict=False)]
    lengths = sorted(length for length, _ in spoken)
    assert lengths[0] >= 2
    assert lengths[-1] <= 20
    assert lengths[1_000] == pytest.approx(5.5, abs=0.5)
    assert all(2 <= rest <= 6 for _, rest in spoken)


@pytest.mark.parametrize("engine", [NEURAL, EMBEDDED, SLOW])
def test_an_engine_says_every_sample_in_order_and_in_time(engine):
    clauses = engine.clauses(7.3, random.Random(1))
    assert sum(size for clause in clauses for _, size in clause) == round(7.3 * engine.rate)
    for clause in clauses:
        delays = [delay for delay, _ in clause]
        assert delays == sorted(delays)
        seconds = sum(size for _, size in clause) / engine.rate
        late = engine.late_s if clause is clauses[0] else 0
        assert delays[-1] == pytest.approx(late + engine.real_time_factor * seconds)


def test_the_work_for_a_chunk_may_vary_about_the_real_time_factor():
    even, uneven = EngineModel(), EngineModel(spread=0.5)
    plain = [delay for clause in even.clauses(400.0, random.Random(1)) for delay, _ in clause]
    clauses = uneven.clauses(400.0, random.Random(1))
    assert clauses == uneven.clauses(400.0, random.Random(1)) != uneven.clauses(400.0, random.Random(2))
    assert all(
        list(delays) == sorted(delays) for delays in ([delay for delay, _ in clause] for clause in clauses)
    )
    busy = sum(clause[-1][0] for clause in clauses)
    assert busy == pytest.approx(0.3 * 400, rel=0.1)
    assert {round(delay, 3) for clause in clauses for delay, _ in clause} != {round(d, 3) for d in plain}


def test_hints_carry_the_round_trip_of_the_path(monkeypatch):
    from abr_tts.sim import speaker

    seen: list[BitRateHint] = []
    report = speaker.Speaker.report
    monkeypatch.setattr(
        speaker.Speaker, "report", lambda self, what: (seen.append(what), report(self, what))[1]
    )
    run(steady(2_000, delay_ms=60), fixed("opus24"), utterances=[(6.0, 0.0)])
    trips = [hint.rtt_ms for hint in seen if isinstance(hint, BitRateHint) and hint.rtt_ms >= 0]
    assert trips
    assert all(119 <= trip < 150 for trip in trips)
