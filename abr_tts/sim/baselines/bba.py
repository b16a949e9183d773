"""
BBA: the buffer alone decides (Huang et al., "A Buffer-Based Approach to Rate Adaptation", SIGCOMM 2014).

Below a reservoir the cheapest rung, above reservoir and cushion the best, between them a line from
the one's rate to the other's. A rung is left only when the line reaches its neighbour's rate
(BBA-0); at the beginning, while the buffer fills quickly, one step up with each piece (BBA-2).
"""

from __future__ import annotations

from ...control.controller import Reason
from ...control.ladder import Rung
from .ahead import Ahead, Moment

RESERVOIR_S, CUSHION_S = 1.0, 10.0
"""Seconds. The paper has 90 and 126 of a buffer of 240; an utterance of 5.5 s that is made three times as
fast as it is heard is at most 4 s ahead, of a long one 14. On recorded networks a
cushion of 10 is better than one of 3."""

QUICK_AT_0, QUICK_AT_END = 0.875, 0.5
"""Share of a piece by which the buffer must have grown while it was sent, to step up in the beginning:
with an empty buffer, and at the end of the cushion (paper, section 6)."""


class Bba(Ahead):
    """Remembers where the buffer was when the piece before began."""

    _starting = True
    _buffer_s = 0.0

    def choose(self, moment: Moment) -> tuple[Rung, Reason]:
        """The rung by the map, or one better than before while the buffer fills quickly."""
        before, level = moment.rung or self.upper[0], moment.held_s
        grown, self._buffer_s = level - self._buffer_s, level
        mapped = self._mapped(before, level)
        if self._starting and moment.rung is not None:
            self._starting = grown >= 0 and mapped.wire_kbps <= before.wire_kbps
            if self._starting and grown >= self._quick(level) * self.piece_s:
                mapped = self.upper[min(self.upper.index(before) + 1, len(self.upper) - 1)]
            elif self._starting:
                mapped = before
        return mapped, Reason("buffer", f"{level:.1f} s are held", {"buffer_s": level})

    def _mapped(self, before: Rung, level: float) -> Rung:
        """BBA-0: the paper's algorithm 1."""
        rungs, index = self.upper, self.upper.index(before)
        low, high = rungs[0].wire_kbps, rungs[-1].wire_kbps
        kbps = low + (high - low) * min(1.0, max(0.0, (level - RESERVOIR_S) / CUSHION_S))
        if index + 1 < len(rungs) and kbps >= rungs[index + 1].wire_kbps:
            return max((r for r in rungs if r.wire_kbps <= kbps), key=lambda r: r.wire_kbps)
        if index and kbps <= rungs[index - 1].wire_kbps:
            return min((r for r in rungs if r.wire_kbps >= kbps), key=lambda r: r.wire_kbps)
        return before

    @staticmethod
    def _quick(level: float) -> float:
        share = min(1.0, level / (RESERVOIR_S + CUSHION_S))
        return QUICK_AT_0 + (QUICK_AT_END - QUICK_AT_0) * share
