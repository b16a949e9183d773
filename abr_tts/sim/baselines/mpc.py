"""
Robust MPC: of all plans for the next pieces, the first step of the best, by the quality of experience
that it would have (Yin et al., "A Control-Theoretic Approach for Dynamic Adaptive Video Streaming over
HTTP", SIGCOMM 2015).

The rate is expected to stay what it was measured to be, less the worst error of late.
"""

from __future__ import annotations

from collections import deque

from ...control.controller import Reason
from ...control.estimator import Estimate
from ...control.ladder import Rung
from ...control.policy import Policy
from ..score import CHANGE, CHANGE_EVENT, STALL, STALL_S, STARTUP_S
from .ahead import Ahead, Moment

PIECE_S, HORIZON = 1.0, 5
"""Seconds of a piece, and pieces that are looked ahead (paper, section 7: 5 chunks): shorter pieces see
too little, 8 of them gained nothing on recorded networks."""

SAFETY = 0.5
"""Share of the expected rate that is planned with, beside the paper's allowance for errors: the best of
0.35 to 1 on recorded networks. What is measured over a second says less of the next than over a minute."""

LEFT_S, LEFT_PRICE = 3.0, 0.2
"""A plan that leaves less than so many seconds ahead pays for each second less: behind its horizon there is
more speech. Beyond the paper, whose buffers are not emptied within a horizon; of 0 to 0.5 the best price on
recorded networks."""

ERRORS = 5
"""Pieces whose errors count; the worst of them rules (paper, section 5.3)."""


class Mpc(Ahead):
    """Plans with the simulator's own quality of experience and the policy's utilities."""

    piece_s = PIECE_S

    def __init__(self, policy: Policy, remembered: Estimate | None = None) -> None:
        super().__init__(policy, remembered)
        # (utility, kilobits of a piece on the wire, rung), the best first: a good plan is found early.
        self._choices = [
            (policy.utility(rung), rung.wire_kbps * PIECE_S, rung) for rung in reversed(self.rungs)
        ]
        self._errors: deque[float] = deque(maxlen=ERRORS)
        self._expected = 0.0
        self._best = 0.0

    def choose(self, moment: Moment) -> tuple[Rung, Reason]:
        """The first step of the best plan; over an unknown link the policy's bank."""
        link = moment.link
        if not link.known:
            return moment.rung or self._policy.bank, Reason("unknown", "nothing is known of the link yet")
        if self._expected:
            self._errors.append(abs(self._expected - link.kbps) / link.kbps)
        self._expected = link.kbps
        kbps = SAFETY * link.kbps / (1 + max(self._errors, default=0.0))
        rung = self._plan(moment, kbps)
        return rung, Reason(
            "plan",
            f"with {kbps:.0f} kbit/s and {moment.ahead_s:.1f} s ahead {rung.name} begins the best plan",
            {"kbps": kbps, "buffer_s": moment.ahead_s},
        )

    def _plan(self, moment: Moment, kbps: float) -> Rung:
        before = None if moment.rung is None else self._policy.utility(moment.rung)
        chosen, best = self._choices[-1][2], float("-inf")
        self._best = best
        for worth, kbits, rung in self._choices:
            queue = moment.outstanding * 0.008
            level, waited = moment.ahead_s, 0.0
            if not moment.heard:  # what is late delays the first sound, which costs less than a stall
                waited = max(0.0, (kbits + queue) / kbps - level)
                level += waited
            value, level = _step(worth, kbits + queue, level, kbps, before, rung is moment.rung)
            value -= STARTUP_S * waited
            self._look(1, value, level, worth, kbps)
            if self._best > best:
                chosen, best = rung, self._best
        return chosen

    def _look(self, depth: int, value: float, level: float, before: float, kbps: float) -> None:
        """Extend a plan that is worth `value`; plans that cannot become the best are left."""
        if depth == HORIZON:
            self._best = max(self._best, value - LEFT_PRICE * max(0.0, LEFT_S - level))
            return
        if value + (HORIZON - depth) * PIECE_S * self._choices[0][0] <= self._best:
            return
        for worth, kbits, _ in self._choices:
            more, after = _step(worth, kbits, level, kbps, before, worth == before)
            self._look(depth + 1, value + more, after, worth, kbps)


def _step(
    worth: float, kbits: float, level: float, kbps: float, before: float | None, same: bool
) -> tuple[float, float]:
    """What one piece adds to a plan's worth, and the buffer after it."""
    seconds = kbits / kbps
    stalled = max(0.0, seconds - level)
    value = worth * PIECE_S - STALL_S * stalled - (STALL if stalled else 0.0)
    if before is not None and not same:
        value -= CHANGE * abs(worth - before) + CHANGE_EVENT
    return value, max(0.0, level - seconds) + PIECE_S
