"""
BOLA: the buffer decides, by what a rung is worth for its bytes (Spiteri, Urgaonkar and Sitaraman,
"BOLA: Near-Optimal Bitrate Adaptation for Online Videos", INFOCOM 2016).

Of all rungs the one with the greatest (V·(v + g) - buffer) ÷ size, where v is its utility above the
cheapest rung's, and V and g follow from two levels of the buffer.
"""

from __future__ import annotations

from ...control.controller import Reason
from ...control.estimator import Estimate
from ...control.ladder import Rung
from ...control.policy import Policy
from .ahead import Ahead, Moment


class Bola(Ahead):
    """The paper's BOLA-BASIC with the policy's utilities; they need not be logarithms of sizes."""

    low_s, high_s = 0.6, 12.0
    """Seconds of buffer up to which the cheapest rung is sent, and at which even the best is no longer
    worth its bytes (BOLA then waits; speech goes on at the best). Films have 10 and 30 (dash.js). For
    utterances of seconds, on recorded networks, 12 is better than 6 and 3."""

    def __init__(self, policy: Policy, remembered: Estimate | None = None) -> None:
        super().__init__(policy, remembered)
        least = policy.utility(self.upper[0])
        self._worth = [policy.utility(rung) - least for rung in self.upper]
        self._v, self._g = self._levels()

    def _levels(self) -> tuple[float, float]:
        """V and g: at the low level the two cheapest rungs score alike, at the high one the best scores 0."""
        if len(self.upper) == 1:
            return 1.0, self.high_s
        first, second = self.upper[0].wire_kbps, self.upper[1].wire_kbps
        alpha = first * self._worth[1] / (second - first)
        v = (self.high_s - self.low_s) / (self._worth[-1] + alpha)
        return v, self.low_s / v + alpha

    def choose(self, moment: Moment) -> tuple[Rung, Reason]:
        """The rung with the best score."""
        return self.by_buffer(moment)

    def by_buffer(self, moment: Moment) -> tuple[Rung, Reason]:
        """BOLA's rule, for others to use."""
        level = moment.held_s
        scores = [
            (self._v * (worth + self._g) - level) / rung.wire_kbps
            for rung, worth in zip(self.upper, self._worth, strict=True)
        ]
        best = max(range(len(scores)), key=scores.__getitem__) if level < self.high_s else -1
        return self.upper[best], Reason("buffer", f"{level:.1f} s are held", {"buffer_s": level})
