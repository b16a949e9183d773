"""Two layers through the core: whatever a controller decides, the listener gets every frame once."""

import random
from itertools import pairwise

import numpy as np
import pytest

from abr_tts.audio.libopus import load
from abr_tts.audio.pcm import decode_pcm16
from abr_tts.control.adaptive import Adaptive
from abr_tts.control.controller import BANK, UPGRADE, Decision, Plan, Reason
from abr_tts.control.ladder import FULL
from abr_tts.control.policy_file import preset
from abr_tts.stream.core import CoreSetup, StreamCore
from abr_tts.stream.outputs import Clamped, Decided, Drained, Encode, Finished, Opened, Switched
from abr_tts.stream.playout import AS_FAST_AS_POSSIBLE, Playout
from abr_tts.units import FRAME_TICKS, samples_to_ticks
from abr_tts.wire.messages import Audio, BitRateHint, StreamEnd, Switch, Track

from .driver import Driver, cut

RATE = 22_050
LIBRARY = load()
WHY = Reason("wild", "so it is")


def noise(samples: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-9_000, 9_000, samples).astype(np.int16)


class Wild:
    """Banks and upgrades as chance has it: any rung, any skip ahead, any length."""

    def __init__(self, rng: random.Random, bank: list[str], upgrades: list[str]) -> None:
        self.rng, self.bank, self.upgrades = rng, bank, upgrades
        self.rungs = [bank[0], upgrades[0]]

    def decide(self, seen):
        rng, (bank, upgrade) = self.rng, seen.layers
        for rank, names in enumerate((self.bank, self.upgrades)):
            if rng.random() < 0.1:
                self.rungs[rank] = rng.choice(names)
        begin = max(upgrade.next_pts, seen.played)
        if rng.random() < 0.2:
            begin += rng.randrange(5) * FRAME_TICKS
        begin = -(-begin // FRAME_TICKS) * FRAME_TICKS
        if begin < bank.next_pts and rng.random() < 0.5:
            until = min(bank.next_pts, begin + rng.randrange(1, 20) * FRAME_TICKS)
            return Decision(UPGRADE, FULL[self.rungs[1]], begin, WHY, until=until)
        if bank.next_pts < seen.ready:
            return Decision(BANK, FULL[self.rungs[0]], bank.next_pts, WHY)
        return None


def run(controller, pcm, rng, **limits) -> Driver:
    middle = rng.randrange(len(pcm))
    core = StreamCore(CoreSetup(1, RATE, controller, LIBRARY, **limits), 0.0)
    driver = Driver(core, [cut(pcm[:middle], rng, 4_000), cut(pcm[middle:], rng, 4_000)], rng)
    driver.run()
    return driver


def played(messages) -> list[tuple[int, int]]:
    """(pts, track) of every frame that a player renders; it raises where a rule of tracks is broken."""
    playout = Playout(start_ticks=AS_FAST_AS_POSSIBLE)
    for message in messages:
        if isinstance(message, Track):
            playout.open(message.track, message.rank, message.start, message.preroll, message.duration)
        elif isinstance(message, Audio):
            assert playout.hold(message.track, message.pts, len(message.packets)) == 0
        elif isinstance(message, Switch) and message.length:
            playout.switch(message.track, message.at)
        elif isinstance(message, StreamEnd):
            playout.end(samples_to_ticks(message.length, message.sample_rate))
    frames = []
    while not playout.finished:
        frame = playout.render()
        assert frame is not None
        frames.append((frame.pts, frame.track))
    assert playout.stalls == 0
    return frames


@pytest.mark.parametrize("block", range(4))
def test_whatever_is_decided_the_listener_can_play_every_frame_once(block):
    for seed in range(block * 40, block * 40 + 40):
        rng = random.Random(seed)
        pcm = noise(rng.randrange(4_000, 60_000), seed)
        driver = run(Wild(rng, ["ulaw22", "pcm16k"], ["pcm22", "ulaw16k"]), pcm, rng)
        frames = played(driver.messages)
        assert [pts for pts, _ in frames] == [n * FRAME_TICKS for n in range(-(-len(pcm) // 441))]
        assert driver.core.retained == ()
        assert sum(isinstance(m, StreamEnd) for m in driver.messages) == 1


def test_upgraded_frames_hold_the_very_samples_of_their_place():
    for seed in range(20):
        rng = random.Random(seed)
        pcm = noise(30_000, seed)
        driver = run(Wild(rng, ["ulaw22"], ["pcm22"]), pcm, rng)
        ranks = {m.track: m.rank for m in driver.messages if isinstance(m, Track)}
        for message in driver.messages:
            if isinstance(message, Audio) and ranks[message.track] == UPGRADE:
                for number, packet in enumerate(message.packets):
                    at = (message.pts // FRAME_TICKS + number) * 441
                    ours = decode_pcm16(packet)
                    assert np.array_equal(ours[: len(pcm) - at], pcm[at : at + 441])


def test_opus_above_opus_has_pre_roll_from_the_timeline():
    rng = random.Random(5)
    driver = run(Wild(rng, ["opus24", "opus12"], ["opus48", "opus64", "pcm22"]), noise(90_000, 5), rng)
    upgrades = [m for m in driver.messages if isinstance(m, Track) and m.rank == UPGRADE]
    assert {m.preroll for m in upgrades if m.codec == "opus" and m.start} == {2}
    assert {m.preroll for m in upgrades if m.codec == "pcm16"} == {0}
    assert len(played(driver.messages)) == -(-90_000 // 441)


def test_an_upgrade_says_what_it_comes_from_and_why():
    rng = random.Random(7)
    driver = run(Wild(rng, ["ulaw22"], ["pcm22", "pcm16k"]), noise(60_000, 7), rng)
    opened = [e for e in driver.events if isinstance(e, Opened) and e.rank == UPGRADE]
    switched = [e for e in driver.events if isinstance(e, Switched) and e.rank == UPGRADE]
    assert len(opened) == len(switched) > 3
    assert {e.source.name for e in switched} >= {"ulaw22", "pcm22"}
    told = [(m.track, m.source, m.target, m.at) for m in driver.messages if isinstance(m, Switch)]
    assert [(e.track, e.source.name, e.target.name, e.pts) for e in switched] == told
    assert all(e.reason is WHY for e in switched)


class Then:
    """Banks everything, then upgrades from where it is asked to."""

    def __init__(self, begin: int) -> None:
        self.begin = begin

    def decide(self, seen):
        bank, upgrade = seen.layers
        if bank.next_pts < seen.ready:
            return Decision(BANK, FULL["ulaw22"], bank.next_pts, WHY)
        begin = max(self.begin, upgrade.next_pts)
        if begin >= bank.next_pts:
            return None
        return Decision(UPGRADE, FULL["pcm22"], begin, WHY, until=bank.next_pts)


def start(controller, samples=RATE) -> Driver:
    core = StreamCore(CoreSetup(1, RATE, controller, LIBRARY), 0.0)
    return Driver(core, [[noise(samples, 1)]], random.Random(1))


def work(driver: Driver, parties=("engine", "codec", "write"), steps=2_000) -> None:
    for _ in range(steps):
        driver.step(parties)


def test_the_end_is_told_as_soon_as_the_bank_is_complete_and_upgrades_follow_it():
    driver = start(Then(9_600))
    work(driver)
    end = next(n for n, m in enumerate(driver.messages) if isinstance(m, StreamEnd))
    after = {m.track for m in driver.messages[end + 1 :] if isinstance(m, Audio)}
    assert after == {m.track for m in driver.messages if isinstance(m, Track) and m.rank == UPGRADE}
    assert [type(e) for e in driver.events].count(Finished) == 1
    assert not any(isinstance(e, Drained) for e in driver.events)
    driver.run()
    assert isinstance(driver.events[-1], Drained)


def test_nothing_is_sent_after_the_listener_has_heard_the_end():
    driver = start(Then(9_600))
    work(driver, steps=300)
    while not any(isinstance(e, Finished) for e in driver.events):
        driver.step(("engine", "codec", "write"))
    while driver.socket or driver.jobs:
        driver.step(("codec", "write"))
        if any(isinstance(e, Drained) for e in driver.events):
            break
        driver.core.report(BitRateHint(1, 0, 48_000, 0), driver.now)
        driver.drain()
    sent = len(driver.messages) + len(driver.socket)
    work(driver, steps=50)
    assert len(driver.messages) + len(driver.socket) == sent


def test_a_decision_waits_while_as_much_as_it_says_is_on_the_way():
    class Capped(Then):
        def decide(self, seen):
            decision = super().decide(seen)
            return decision and Decision(
                decision.rank, decision.rung, decision.pts, WHY, until=decision.until, outstanding_bytes=4_000
            )

    driver = start(Capped(0), samples=5 * RATE)
    work(driver)
    assert 4_000 - FULL["ulaw22"].message_bytes(4) - 64 < driver.core.outstanding <= 4_000


def test_a_decision_that_sends_nothing_only_sets_the_time_to_ask_again():
    class Later:
        def decide(self, seen):
            return Decision(BANK, FULL["pcm22"], 0, WHY, send=False, again_at=seen.now + 0.5)

    core = StreamCore(CoreSetup(1, RATE, Later(), LIBRARY), 0.0)
    core.poll()
    core.push_pcm(noise(RATE, 1), 1.0)
    assert core.poll() is None
    assert core.get_timer() == 1.5
    core.handle_timer(1.5)
    assert core.poll() is None
    assert core.get_timer() == 2.0


def test_a_plan_is_told_when_it_changes_and_only_then():
    class Planner:
        def __init__(self):
            self.upgrade, self.asked = None, 0

        def decide(self, seen):
            self.asked += 1
            plan = Plan(FULL["opus24"], self.upgrade, WHY, Reason("x", f"said {self.asked} times"))
            return Decision(BANK, FULL["opus24"], 0, WHY, send=False, plan=plan)

    planner = Planner()
    core = StreamCore(CoreSetup(1, RATE, planner, LIBRARY), 0.0)

    def told(now):
        core.handle_timer(now)
        outputs = []
        while (output := core.poll()) is not None:
            outputs.append(output.event)
        return [event.plan.upgrade for event in outputs if isinstance(event, Decided)]

    core.poll()
    assert told(1.0) == [None]
    assert told(2.0) == []
    planner.upgrade = FULL["pcm22"]
    assert told(3.0) == [FULL["pcm22"]]
    assert told(4.0) == []


def test_a_controller_is_asked_for_its_plan_though_nothing_can_be_sent():
    adaptive = Adaptive(preset("default").for_listener(["opus", "pcm16"], RATE))
    core = StreamCore(CoreSetup(1, RATE, adaptive, LIBRARY), 0.0)
    core.poll()
    core.push_pcm(noise(2 * RATE, 1), 0.0)
    outputs = [core.poll()]
    while outputs[-1] is not None:
        outputs.append(core.poll())
    assert any(isinstance(output, Encode) for output in outputs)
    before = adaptive.link
    core.report(BitRateHint(1, 0, 0, 0, rtt_ms=40.0), 1.0)
    assert adaptive.link is not before


def test_sound_that_only_the_upgrade_holds_may_be_reported_as_played():
    class Ahead:
        def decide(self, seen):
            bank, upgrade = seen.layers
            if bank.next_pts < 9_600:
                return Decision(BANK, FULL["ulaw22"], bank.next_pts, WHY, until=9_600)
            begin = max(4_800, upgrade.next_pts)
            return Decision(UPGRADE, FULL["pcm22"], begin, WHY, until=seen.ready) if begin < 38_400 else None

    driver = start(Ahead())
    work(driver)
    driver.core.report(BitRateHint(1, driver.received, 30_720, 0), driver.now)
    driver.drain()
    assert driver.core.played == 30_720
    assert not any(isinstance(e, Clamped) for e in driver.events)


@pytest.mark.parametrize("name", ["default", "classic", "thrifty"])
def test_the_adaptive_controller_delivers_every_frame_whatever_the_interleaving(name):
    policy = preset(name).for_listener(["opus", "pcm16", "ulaw"], RATE)
    for seed in range(3):
        rng = random.Random(seed)
        pcm = noise(rng.randrange(20_000, 120_000), seed)
        driver = run(Adaptive(policy), pcm, rng)
        assert len(played(driver.messages)) == -(-len(pcm) // 441)
        plans = [e.plan for e in driver.events if isinstance(e, Decided)]
        assert all(b.differs(a) for a, b in pairwise(plans))
        assert driver.core.get_timer() is None


def test_a_client_of_one_track_gets_one_track():
    policy = preset("default").for_listener(["opus", "pcm16"], RATE, 0)
    rng = random.Random(2)
    driver = run(Adaptive(policy, level=0), noise(100_000, 2), rng)
    tracks = [m for m in driver.messages if isinstance(m, Track)]
    assert [(t.rank, t.start, t.codec) for t in tracks] == [(0, 0, "opus")]
    assert all(m.length == 0 for m in driver.messages if isinstance(m, Switch))
