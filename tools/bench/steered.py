"""
Controllers for benchmarks, and how they get into a server: what is sent is told from outside, or
the server's own is watched.

A specification is a dictionary: `{"kind": "told", "rung": "pcm22", "lead_s": 0.5}` sends at that
rung, at most so far ahead of the listener, until `rung NAME` is asked of the server process;
`{"kind": "watched"}` leaves the server's own and keeps what it plans.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from abr_tts.control.adaptive import LOOK_S
from abr_tts.control.controller import BANK, Decision, Observation, Plan, Reason
from abr_tts.control.estimator import Estimator
from abr_tts.control.ladder import FULL
from abr_tts.control.policy_file import preset
from abr_tts.server.speech import utterance
from abr_tts.stream.core import CoreSetup, StreamCore
from abr_tts.units import ticks_to_seconds


class Told:
    """
    One layer, at the rung that was told last. What may be on the way is the shipped rule: the rate
    of the rung, or of the link if that is less, for a round trip and the policy's queue.
    """

    def __init__(self, rung: str, lead_s: float) -> None:
        self._policy = preset("default")
        self._estimator = Estimator(self._policy)
        self._lead_s = lead_s
        self.tell(rung)

    def tell(self, rung: str) -> None:
        """From now on, send at `rung`."""
        self._rung = FULL[rung]
        self._reason = Reason("told", f"the benchmark asked for {rung}")

    def on_sent(self, size: int, own: bool, now: float) -> None:
        """As `Learner`."""
        self._estimator.on_sent(size, own, now)

    def on_received(self, total: int, rtt_ms: float, now: float) -> None:
        """As `Learner`."""
        self._estimator.on_received(total, rtt_ms, now)

    def on_kernel(self, queued: int, min_rtt_ms: float, now: float) -> None:
        """As `Learner`."""
        self._estimator.on_kernel(queued, min_rtt_ms, now)

    def decide(self, seen: Observation) -> Decision:
        """The next frame at the rung that was told, if the lead allows it."""
        link, policy, pts = self._estimator.look(seen.now), self._policy, seen.layers[BANK].next_pts
        lead_s = ticks_to_seconds(pts - seen.head)
        kbps = min(link.kbps, self._rung.wire_kbps) if link.known else self._rung.wire_kbps
        cap = kbps * 125 * (link.min_rtt_s + policy.bank_queue_s)
        least = policy.least_outstanding_bytes if link.known else policy.opening_bytes
        return Decision(
            BANK, self._rung, pts, self._reason,
            outstanding_bytes=round(max(cap, least)),
            send=pts < seen.ready and lead_s < self._lead_s,
            again_at=seen.now + min(LOOK_S, max(0.005, lead_s - self._lead_s)),
        )  # fmt: skip


class Watched:
    """The server's own controller; notes when its plan becomes another one."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.on_sent, self.on_received = self._real.on_sent, self._real.on_received
        self.on_kernel = self._real.on_kernel
        self._plan: Plan | None = None
        self.plans: list[dict[str, Any]] = []

    def decide(self, seen: Observation) -> Decision | None:
        """What it decides."""
        decision: Decision | None = self._real.decide(seen)
        plan = decision.plan if decision else None
        if plan and (self._plan is None or plan.differs(self._plan)):
            self._plan = plan
            self.plans.append(
                {
                    "at": seen.now,
                    "bank_kbps": plan.bank.wire_kbps,
                    "upgrade_kbps": plan.upgrade.wire_kbps if plan.upgrade else 0.0,
                    "bank": plan.bank.name,
                    "upgrade": plan.upgrade.name if plan.upgrade else None,
                    "why": f"{plan.bank_reason.sentence}; {plan.upgrade_reason.sentence}",
                    "outstanding": seen.outstanding,
                }
            )
        return decision


class Steering:
    """Gives every utterance of this process the controller of a specification."""

    def __init__(self, specification: dict[str, Any]) -> None:
        self._specification = specification
        self._made: list[Any] = []
        utterance.StreamCore = self._core  # type: ignore[attr-defined]

    def _core(self, setup: CoreSetup, now: float) -> StreamCore:
        asked = self._specification
        if asked["kind"] == "told":
            controller: Any = Told(asked["rung"], asked["lead_s"])
        else:
            controller = Watched(setup.controller)
        self._made.append(controller)
        return StreamCore(dataclasses.replace(setup, controller=controller), now)

    def answer(self, question: list[str]) -> Any:
        """`rung NAME`: tell the last utterance, and say when; `plans`: those of the last utterance."""
        last = self._made[-1]
        if question[0] == "plans":
            return last.plans
        last.tell(question[1])
        return {"at": time.monotonic()}
