"""
How much the process itself has left, and what new streams do without while that is little.

Its processor time and the lateness of the event loop say how near it is to where speech that is under way
would come late. Relief comes in steps, the least harmful first: encoders that try less hard, a lower rung
to begin with, speech that comes when it is whole and at one rung, none that begins: what may come whole waits
then, the rest is refused. Streams that run keep what they have.
Time is an argument.
"""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass

STEPS = CHEAP, LOW, WHOLE, CLOSED = 1, 2, 3, 4
"""Encoders of less effort; a lower rung to begin with; whole speeches, at one rung; none that begins."""

BEGINS = {CHEAP: 0.75, LOW: 0.85, WHOLE: 0.95, CLOSED: 2.0}
"""
Strain from which a step is taken. 1 is all that the machine has, or a loop as late as `LATE_S`: one may still
speak then, only later. At twice that lateness speech that is under way is at stake. Guesses.
"""

ENDS_BELOW = 0.1
"""So much below where it began the strain must be for a step to end, lest it flickers. A guess."""

LATE_S = 0.1
"""Lateness of the event loop that counts as a strain of 1: five frames; players hold ten at first."""

HALF_LIFE_S = 1.0
"""Of both measures, so that one long turn of the loop is not taken for a crowd. A guess."""

CHEAP_COMPLEXITY = 5
"""Opus complexity under strain; a quarter of a PESQ point below 9 (see `audio.opus`)."""


@dataclass(frozen=True, slots=True)
class Strain:
    """A moment: shares of the processors (0 to 1), seconds that the event loop is late; both smoothed."""

    cpu: float = 0.0
    lag_s: float = 0.0

    @property
    def value(self) -> float:
        """How near the end is; 1: all is used."""
        return max(self.cpu, self.lag_s / LATE_S)


class Relief:
    """
    Args:
        cores: that the process may use.
    """

    def __init__(self, cores: int) -> None:
        self._cores = cores
        self._last: tuple[float, float] | None = None
        self.strain = Strain()
        self.step = 0
        """What new streams do without now: 0 for nothing, or one of `STEPS`, which holds those before it."""

    def look(self, cpu_s: float, lag_s: float, now: float) -> None:
        """
        Args:
            cpu_s: seconds of processor time that the process has used since it began.
            lag_s: by which the event loop just now woke late.
            now: seconds on any monotonic clock.
        """
        if self._last is not None and now > self._last[1]:
            took_s = now - self._last[1]
            keep = 0.5 ** (took_s / HALF_LIFE_S)
            share = min(1.0, (cpu_s - self._last[0]) / took_s / self._cores)
            old = self.strain
            self.strain = Strain(old.cpu * keep + share * (1 - keep), old.lag_s * keep + lag_s * (1 - keep))
            self.step = self._next()
        self._last = cpu_s, now

    def _next(self) -> int:
        value = self.strain.value
        return max(
            (step for step in STEPS if value >= BEGINS[step] - (ENDS_BELOW if step <= self.step else 0.0)),
            default=0,
        )


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_s() -> float:
    """Seconds of processor time of this process, all its threads; not of the engine's processes."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
