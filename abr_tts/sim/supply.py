"""
How much a direction can have carried by a moment, and the reverse: the integral of its capacity.

A fluid: no packets, no queue, no chance. What is lost in a drop window was never carried.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise

from .scenario import Direction


class Supply:
    """
    Args:
        direction: what it is like.
        period: seconds after which its schedule begins anew.

    Raises:
        ValueError: it never carries anything.
    """

    def __init__(self, direction: Direction, period: float) -> None:
        edges = {0.0, period, *(at for at, _ in direction.rate)}
        edges |= {edge for window in direction.drop_windows for edge in window}
        self._times = sorted(edge for edge in edges if edge <= period)
        self._period = period
        self._bytes = [0.0]
        for begin, end in pairwise(self._times):
            dead = any(first <= begin < last for first, last in direction.drop_windows)
            speed = 0.0 if dead else direction.kbps_at(begin) * 125
            self._bytes.append(self._bytes[-1] + speed * (end - begin))
        if not self._bytes[-1]:
            raise ValueError("the direction never carries anything")

    def by(self, second: float) -> float:
        """Bytes carried from second 0 to `second`, which is not below 0."""
        rounds, rest = divmod(second, self._period)
        index = min(bisect_right(self._times, rest), len(self._times) - 1)
        (t0, t1), (b0, b1) = self._times[index - 1 : index + 1], self._bytes[index - 1 : index + 1]
        return rounds * self._bytes[-1] + b0 + (b1 - b0) * (rest - t0) / (t1 - t0)

    def when(self, carried: float) -> float:
        """The first second by which `carried` bytes, above 0, have gone through."""
        total = self._bytes[-1]
        rounds = -(-carried // total) - 1
        rest = carried - rounds * total
        index = max(1, bisect_left(self._bytes, rest))
        (t0, t1), (b0, b1) = self._times[index - 1 : index + 1], self._bytes[index - 1 : index + 1]
        return rounds * self._period + t0 + (t1 - t0) * (rest - b0) / (b1 - b0)
