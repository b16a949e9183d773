"""
Virtual time: what happens next, in order. Equal times happen in the order they were asked for,
so that a run is repeatable bit for bit.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any


class Events:
    """The clock of a world, and all that is going to happen in it."""

    def __init__(self) -> None:
        self.now = 0.0
        """Seconds since the world began."""
        self._heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0

    def at(self, time: float, call: Callable[..., None], *args: Any) -> None:
        """Do `call(*args)` at `time`; what would lie in the past happens now."""
        self._count += 1
        heapq.heappush(self._heap, (time if time > self.now else self.now, self._count, call, args))

    def run(self, until: float = math.inf) -> None:
        """Let everything happen that is due up to `until` (inclusive), or until `stop`."""
        heap, pop = self._heap, heapq.heappop
        while heap and heap[0][0] <= until:
            self.now, _, call, args = pop(heap)
            call(*args)
        if until < math.inf:
            self.now = max(self.now, until)

    def stop(self) -> None:
        """Nothing more happens."""
        self._heap.clear()


class Alarm:
    """
    One timer that is moved often: moving it later costs nothing until it is due.

    Args:
        events: the world's.
        ring: called when it is due.
    """

    __slots__ = ("_due", "_events", "_ring", "_waiting")

    def __init__(self, events: Events, ring: Callable[[], None]) -> None:
        self._events, self._ring = events, ring
        self._due = self._waiting = math.inf

    @property
    def is_set(self) -> bool:
        """Whether it is going to ring."""
        return self._due < math.inf

    def set(self, due: float | None) -> None:
        """Ring at `due` (None: never), instead of whatever was set before."""
        self._due = math.inf if due is None else due
        if self._due < self._waiting:
            self._waiting = self._due
            self._events.at(self._due, self._wake, self._due)

    def _wake(self, time: float) -> None:
        if time != self._waiting:
            return  # another wake-up, set earlier, has taken over
        self._waiting = math.inf
        if self._due <= self._events.now:
            self._due = math.inf
            self._ring()
        elif self._due < math.inf:
            self.set(self._due)
