"""
Lab sheets: a link, what is said over it, and what must come of it, in virtual time.

The world is the simulator's: the very core, controller, pacer, reporter and playout of the product.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from abr_tts.control.adaptive import Adaptive
from abr_tts.control.controller import Controller, Decision, FixedRung, Plan
from abr_tts.control.ladder import FULL
from abr_tts.control.memory import Memory
from abr_tts.control.policy_file import preset
from abr_tts.sim.engine import NEURAL, EngineModel
from abr_tts.sim.result import Result, Utterance
from abr_tts.sim.run import World
from abr_tts.sim.run import run as simulate
from abr_tts.sim.scenario import Direction, Scenario, from_json

SCENARIOS = Path(__file__).resolve().parents[2] / "tools" / "netem" / "scenarios"
FOR_EVER_S = 600.0
EVERYTHING = ("opus", "pcm16", "ulaw")


def shipped(name: str) -> Scenario:
    """A scenario of tools/netem."""
    return from_json(json.loads((SCENARIOS / f"{name}.json").read_text()))


def link(*stretches: tuple[str, float, float], delay_ms: float = 20, jitter_ms: float = 0) -> Scenario:
    """A path of stretches: (name, kbit/s, seconds), one after another; the last one stays."""
    rate, at = [], 0.0
    for _, kbps, seconds in stretches:
        rate.append((at, kbps))
        at += seconds
    down = Direction(tuple(rate), delay_ms / 1000, jitter_ms / 1000)
    up = Direction(((0.0, 2_000.0),), delay_ms / 1000, jitter_ms / 1000)
    return Scenario(stretches[0][0], at + FOR_EVER_S, down, up)


@dataclass(frozen=True)
class Sheet:
    """
    One experiment.

    Args:
        title: what it is called.
        link: the path.
        say: (seconds of speech, seconds of rest); a seeded conversation when None.
        policy: the preset.
        engine: how speech is made.
        proxied: behind a proxy, which hides the network from the kernel.
        level, codecs: of the client.
    """

    title: str
    link: Scenario
    say: tuple[tuple[float, float], ...] | None = None
    policy: str = "default"
    engine: EngineModel = NEURAL
    proxied: bool = False
    level: int = 1
    codecs: tuple[str, ...] = EVERYTHING
    seed: int = 1


@dataclass(frozen=True)
class Planned:
    """A plan, and when it was made."""

    at: float
    plan: Plan


class Watched(Adaptive):
    """The controller, with a note of every plan that is news."""

    def __init__(self, *setting) -> None:
        super().__init__(*setting)
        self.plans: list[Planned] = []

    def decide(self, seen) -> Decision:
        decision = super().decide(seen)
        if not self.plans or decision.plan.differs(self.plans[-1].plan):
            self.plans.append(Planned(seen.now, decision.plan))
        return decision


@dataclass(frozen=True)
class Outcome:
    """What came of a sheet."""

    result: Result
    plans: tuple[tuple[Planned, ...], ...]
    """By utterance."""

    @property
    def utterances(self) -> tuple[Utterance, ...]:
        return self.result.utterances

    @property
    def stalls(self) -> int:
        """Of all utterances, each of which must have been heard whole."""
        assert all(u.complete and u.lost_frames == 0 for u in self.utterances)
        return sum(u.stalls for u in self.utterances)

    @property
    def most_changes(self) -> int:
        """Changes of what is played, of the utterance that has most."""
        return max(len(u.runs) - 1 for u in self.utterances)

    @property
    def heard(self) -> dict[str, float]:
        """Share of each rung in what was played."""
        total: dict[str, float] = {}
        for utterance in self.utterances:
            for rung, seconds in utterance.runs:
                total[rung] = total.get(rung, 0.0) + seconds
        return {rung: seconds / sum(total.values()) for rung, seconds in total.items()}


def run(sheet: Sheet) -> Outcome:
    """Do the experiment: one client, utterance after utterance, with its link remembered."""
    policy = preset(sheet.policy).for_listener(sheet.codecs, sheet.engine.rate, sheet.level)
    memory, made = Memory(policy.memory_s), []

    def controller(now: float) -> Watched:
        made.append(Watched(policy, sheet.level, memory.recall("client", now)))
        return made[-1]

    def learned(one: Controller, now: float) -> None:
        assert isinstance(one, Watched)
        memory.keep("client", one.estimate(now))

    result = _simulate(sheet, controller, learned)
    return Outcome(result, tuple(tuple(one.plans) for one in made))


def fixed(sheet: Sheet, rung: str) -> Result:
    """The same at a fixed rung, sent ahead."""
    return _simulate(sheet, lambda now: FixedRung(FULL[rung]), None)


def _simulate(
    sheet: Sheet,
    controller: Callable[[float], Controller],
    learned: Callable[[Controller, float], None] | None,
) -> Result:
    world = World(engine=sheet.engine, proxied=sheet.proxied)
    return simulate(
        sheet.link, controller, learned=learned, world=world, utterances=sheet.say, seed=sheet.seed,
        until_s=None if sheet.say is None else FOR_EVER_S,
    )  # fmt: skip
