"""
The queue before a pool's workers: who is next.

A stream's first clause overtakes the others, because its listener hears nothing yet; but a
listener to whom nobody speaks on stalls, so no more than a few overtake in a row. Pure; knows
no workers and no time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, Optional, TypeVar

T = TypeVar("T")

OVERTAKING = 3
"""
First clauses in a row that may go before one that waits longer. A first clause is at most a third
of another (80 letters of 240, `text.FIRST_MAX_CHARS`), so under overload each kind has about half
of the engine. Chosen here.
"""


class Queue(Generic[T]):
    """Requests that wait, first clauses and others, each kind in the order of arrival."""

    def __init__(self) -> None:
        self._first: deque[T] = deque()
        self._later: deque[T] = deque()
        self._overtook = 0

    def __len__(self) -> int:
        return len(self._first) + len(self._later)

    def __iter__(self) -> Iterator[T]:
        yield from self._first
        yield from self._later

    def add(self, request: T, first: bool) -> None:
        """`request` waits from now on; `first`: it may overtake."""
        (self._first if first else self._later).append(request)

    def take(self) -> Optional[T]:
        """The next one, which does not wait any more; None if nobody waits."""
        if self._first and not (self._later and self._overtook >= OVERTAKING):
            self._overtook = self._overtook + 1 if self._later else 0
            return self._first.popleft()
        self._overtook = 0
        return self._later.popleft() if self._later else None

    def remove(self, request: T) -> None:
        """`request` waits no more; harmless if it does not wait."""
        for queue in (self._first, self._later):
            if request in queue:
                queue.remove(request)

    def clear(self) -> list[T]:
        """Everybody who waited; nobody does any more."""
        everybody = list(self)
        self._first.clear()
        self._later.clear()
        self._overtook = 0
        return everybody
