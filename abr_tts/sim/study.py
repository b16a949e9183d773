"""
A study: contenders over recorded networks, each with the same speech, and the figures of each.

A contender is a policy with its own controller, or a baseline. A study is a list of small tasks that
know nothing of each other, so that whoever runs it may do so in any order and on any number of
processes: the figures are the same. It reads no file and knows no table and no picture.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from ..control.ladder import FULL
from ..control.policy import Policy
from ..control.utility import measured_utility
from .arms import Arm, adaptive, play
from .baselines import baseline
from .optimum import Optimum, optimum, over
from .result import Result
from .run import World
from .scenario import Scenario
from .score import summarise

USUAL_BASELINES = ("fixed_opus24", "fixed_opus32", "fixed_pcm22", "rate_ewma", "mpc")
"""Whom a policy is held against if nobody is named: what people deploy without one, the rule that
most players began with, and the best known controller without a bank."""

LEAST_SESSION_S = 120.0
"""Seconds within which utterances begin, at least: a shorter recording begins anew."""

BOUND = -1
"""Stands in a task for the offline optimum, which is no contender."""

Figures: TypeAlias = dict[str, Any]
"""Keys as `score.Summary` has them, without its counts."""


@dataclass(frozen=True, slots=True)
class Case:
    """A network, and the kind that it is counted under."""

    scenario: Scenario
    kind: str

    @property
    def name(self) -> str:
        """Of the network."""
        return self.scenario.name

    @property
    def session_s(self) -> float:
        """Seconds within which utterances begin."""
        return max(self.scenario.duration_s, LEAST_SESSION_S)


@dataclass(frozen=True)
class Contender:
    """
    Who plays.

    Args:
        name: what tables call it.
        policy: the ladder and the numbers.
        baseline: its name; the policy's own controller if empty.
    """

    name: str
    policy: Policy
    baseline: str = ""

    def arm(self) -> Arm:
        """
        What makes its controllers.

        Raises:
            ConfigError: there is no such baseline.
        """
        return baseline(self.baseline) if self.baseline else adaptive


class Task(NamedTuple):
    """One contender over one network with one of its speeches; `contender` is an index, or `BOUND`."""

    contender: int
    case: int
    repeat: int


@dataclass(frozen=True)
class Study:
    """
    Everything that decides what comes out.

    Args:
        contenders: the first is the one in question.
        cases: networks; names are unique.
        world: engine, listener's codecs, proxy.
        seed: of speech, packets and the networks' chances.
        repeats: speeches per network.
        bound: whether the offline optimum is wanted.
    """

    contenders: tuple[Contender, ...]
    cases: tuple[Case, ...]
    world: World
    seed: int = 1
    repeats: int = 1
    bound: bool = False

    def tasks(self) -> list[Task]:
        """All of them, in the order of the contenders; the optimum, which takes longest, first."""
        rows = [BOUND] * self.bound + list(range(len(self.contenders)))
        return [
            Task(row, case, repeat)
            for row in rows
            for case in range(len(self.cases))
            for repeat in range(self.repeats)
        ]

    def perform(self, task: Task) -> Result | Optimum:
        """What comes of one task; the same whenever and wherever it is done."""
        case = self.cases[task.case]
        seed = seed_of(case.name, self.seed, task.repeat)
        if task.contender == BOUND:
            policy = self.contenders[0].policy
            return optimum(
                case.scenario, None, policy, upgrading=True, utility=worth([policy]),
                world=self.world, seed=seed, until_s=case.session_s,
            )  # fmt: skip
        contender = self.contenders[task.contender]
        return self.play(case, contender, contender.arm(), seed)

    def play(self, case: Case, contender: Contender, arm: Arm, seed: int, trace_every_s: float = 0) -> Result:
        """A session of a contender, with `arm` in the place of its own; `trace_every_s` as of a `World`."""
        world = replace(self.world, trace_every_s=trace_every_s)
        return play(
            case.scenario, arm, contender.policy,
            world=world, until_s=case.session_s, seed=seed, probing=not contender.baseline,
        )  # fmt: skip


def seed_of(name: str, seed: int, repeat: int) -> int:
    """The seed of one session: other speech on every network, the same for every contender."""
    return zlib.crc32(f"{seed}/{repeat}/{name}".encode())


class Outcome:
    """What came of a study, task by task, in whatever order it is added."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.results: dict[Task, Result] = {}
        self.optima: dict[Task, Optimum] = {}
        self._worth = worth(contender.policy for contender in study.contenders)

    @property
    def worth(self) -> Mapping[str, float]:
        """What a second at each rung is scored with."""
        return self._worth

    def add(self, task: Task, came: Result | Optimum) -> None:
        """What came of `task`."""
        if isinstance(came, Optimum):
            self.optima[task] = came
        else:
            self.results[task] = came

    def of(self, contender: int, case: int | None = None) -> list[Result]:
        """The results of one contender, over one network or all, in the order of the networks."""
        return [
            self.results[task]
            for task in sorted(self.results)
            if task.contender == contender and case in (None, task.case)
        ]

    def figures(self, contender: int) -> Figures:
        """The figures of one contender, with those of each kind of network under `kinds`."""
        total = figures(self.of(contender), self._worth)
        return total | {
            "kinds": {
                kind: figures(self._of_kind(contender, kind), self._worth) for kind in kinds(self.study.cases)
            }
        }

    def case_figures(self, contender: int, case: int) -> Figures:
        """The figures of one contender over one network."""
        return figures(self.of(contender, case), self._worth)

    def optimum(self, kind: str = "") -> Optimum | None:
        """The bound over all networks, or those of one kind; None if it was not wanted."""
        found = [
            self.optima[task]
            for task in sorted(self.optima)
            if kind in ("", self.study.cases[task.case].kind)
        ]
        return over(found) if found else None

    def report(self) -> Figures:
        """The whole as one JSON object: of the first contender, with the others as its baselines."""
        names = [contender.name for contender in self.study.contenders]
        report = self.figures(0)
        report["baselines"] = {name: self.figures(index) for index, name in enumerate(names) if index}
        bound = self.optimum()
        if bound is not None:
            report["optimum"] = {
                "qoe": _plain(bound.qoe),
                "stall_pct": _plain(bound.stall_pct),
                "bound": bound.bound,
            }
        return report

    def _of_kind(self, contender: int, kind: str) -> list[Result]:
        return [
            self.results[task]
            for task in sorted(self.results)
            if task.contender == contender and self.study.cases[task.case].kind == kind
        ]


def kinds(cases: Sequence[Case]) -> list[str]:
    """The kinds of networks, by name."""
    return sorted({case.kind for case in cases})


def worth(policies: Iterable[Policy]) -> Mapping[str, float]:
    """
    The measured utility of every rung that may be played.

    A policy's own utilities steer what it sends; what is heard is scored with the measured ones, or
    a policy could praise itself.
    """
    rungs = {rung.name: rung for policy in policies for rung in policy.rungs}
    rungs |= {rung.name: rung for rung in FULL.rungs}
    return {name: measured_utility(rung) for name, rung in rungs.items()}


def figures(results: Iterable[Result], utility: Mapping[str, float]) -> Figures:
    """The figures of some sessions, rounded to what a millionth is worth; null where nothing was measured."""
    summary = summarise(results, utility).as_json()
    for key in ("first_sound_ms", "utterances", "audio_s"):
        del summary[key]
    return {key: _plain(value) for key, value in summary.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    return value
