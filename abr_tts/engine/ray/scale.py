"""
How many workers there should be: more while clauses wait, fewer while workers idle.

Pure: time is an argument. One half-second burst starts nothing, because a model loads for longer
than the burst lasts; and a worker that was started is kept for a while, for the same reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Bounds:
    """
    Between how many, and how fast.

    Args:
        least, most: workers, 1 or more; equal: always as many.
        queue_s: seconds for which clauses must have waited, without a break, before workers are added.
        idle_s: seconds without work after which a worker beyond `least` is let go.
    """

    least: int
    most: int
    queue_s: float = 1.0
    idle_s: float = 60.0


class Scale:
    """Decides; asked whenever the queue changes, and now and then."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._waiting_since: Optional[float] = None

    def more(self, now: float, waiting: int, alive: int, starting: int) -> int:
        """
        Workers to add now.

        Args:
            waiting: clauses without a worker.
            alive: workers, those that start among them.
        """
        if not waiting:
            self._waiting_since = None
            return 0
        if self._waiting_since is None:
            self._waiting_since = now
        if now - self._waiting_since < self._bounds.queue_s:
            return 0
        # One for each that waits is the most that can be of use; those on their way count.
        return max(0, min(waiting - starting, self._bounds.most - alive))

    def fewer(self, now: float, alive: int, idle_since: Sequence[float]) -> int:
        """
        Workers to let go now.

        Args:
            idle_since: for each idle worker, when it became so.
        """
        long = sum(now - since >= self._bounds.idle_s for since in idle_since)
        return max(0, min(long, alive - self._bounds.least))
