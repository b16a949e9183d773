"""
A controller with a pair of eyes: what it decided and what was sent of it, for `diff` and for pictures.

It changes nothing: every call goes on to the controller that is watched. What was sent is read from
what the core tells before each decision, so it is what really went out, not what was wished.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ...control.controller import Controller, Decision, Learner, Observation
from ...control.estimator import Estimate
from ...control.policy import Policy
from ...demo.told import Piece
from ...sim.arms import Arm
from ...units import FRAME_TICKS


class Choice(NamedTuple):
    """From `at` on this was sent in each layer, for these reasons."""

    at: float
    bank: str
    upgrade: str
    why: str

    @property
    def rungs(self) -> str:
        """In words."""
        return f"{self.bank} + {self.upgrade}" if self.upgrade else self.bank


@dataclass(slots=True)
class Notes:
    """Of a session, utterance by utterance."""

    choices: list[list[Choice]] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)


def watched(arm: Arm, notes: Notes) -> Arm:
    """The same arm, with notes being taken."""

    def make(policy: Policy, remembered: Estimate | None = None) -> Controller:
        controller = arm(policy, remembered)
        notes.choices.append([])
        return (WatchedLearner if isinstance(controller, Learner) else Watched)(controller, notes)

    return make


class Watched:
    """A controller that learns nothing of the network."""

    def __init__(self, controller: Controller, notes: Notes) -> None:
        self._controller, self._notes = controller, notes
        self._choices = notes.choices[-1]
        self._sent: dict[int, tuple[int, str]] = {}

    def decide(self, seen: Observation) -> Decision | None:
        """As the controller decides."""
        for rank, layer in enumerate(seen.layers):
            if layer.rung is not None:
                self._look(seen.now, rank, layer.rung.name, layer.next_pts)
        decision = self._controller.decide(seen)
        if decision is not None:
            self._note(seen.now, decision)
        return decision

    def estimate(self, now: float) -> Estimate | None:
        """What it has learned, if it learns."""
        tell = getattr(self._controller, "estimate", None)
        found: Estimate | None = tell(now) if tell else None
        return found

    def _look(self, now: float, rank: int, rung: str, pts: int) -> None:
        before, _ = self._sent.get(rank, (-1, ""))
        if pts != before:
            frames = max(1, (pts - max(before, 0)) // FRAME_TICKS)
            self._notes.pieces.append(Piece(now, rank, rung, pts - frames * FRAME_TICKS, frames))
            self._sent[rank] = (pts, rung)

    def _note(self, now: float, decision: Decision) -> None:
        plan = decision.plan
        if plan is None:
            choice = Choice(now, decision.rung.name, "", decision.reason.sentence)
        else:
            upgrade = plan.upgrade.name if plan.upgrade else ""
            choice = Choice(now, plan.bank.name, upgrade, plan.upgrade_reason.sentence)
            if self._choices and self._choices[-1].bank != choice.bank:
                choice = choice._replace(why=plan.bank_reason.sentence)
        if not self._choices or self._choices[-1][1:3] != choice[1:3]:
            self._choices.append(choice)


class WatchedLearner(Watched):
    """One that is told what happens on the connection."""

    _controller: Controller

    def on_sent(self, size: int, own: bool, now: float) -> None:
        """Told on."""
        self._learner.on_sent(size, own, now)

    def on_received(self, total: int, rtt_ms: float, now: float) -> None:
        """Told on."""
        self._learner.on_received(total, rtt_ms, now)

    def on_kernel(self, queued: int, min_rtt_ms: float, now: float) -> None:
        """Told on."""
        self._learner.on_kernel(queued, min_rtt_ms, now)

    @property
    def _learner(self) -> Learner:
        assert isinstance(self._controller, Learner)
        return self._controller
