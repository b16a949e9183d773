"""
What was heard: the time on each rung, and how often it changed.

It must not know samples or why a rung was chosen.
"""

from __future__ import annotations


class RungTally:
    """Follows the rung of each track from pts to pts, and counts what is played of it."""

    def __init__(self) -> None:
        self._rungs: dict[int, list[tuple[int, str]]] = {}
        self.rung: str | None = None
        """The rung heard last."""
        self.switches = 0
        """Changes of the rung heard, whether by another track or by a retune."""
        self.ticks: dict[str, int] = {}
        """Ticks heard of each rung."""

    def open(self, track: int, rung: str) -> None:
        """A track opens at `rung`."""
        self._rungs[track] = [(0, rung)]

    def retune(self, track: int, at: int, rung: str) -> None:
        """From the packet at `at` on, the track is at `rung`."""
        self._rungs[track].append((at, rung))

    def forget(self, track: int) -> None:
        """Nothing more of this track will be heard."""
        del self._rungs[track]

    def heard(self, track: int, pts: int, ticks: int) -> None:
        """`ticks` of the frame at `pts` were heard, from this track; pts grow."""
        rungs = self._rungs[track]
        while len(rungs) > 1 and rungs[1][0] <= pts:
            del rungs[0]
        rung = rungs[0][1]
        self.switches += self.rung is not None and rung != self.rung
        self.rung = rung
        self.ticks[rung] = self.ticks.get(rung, 0) + ticks
