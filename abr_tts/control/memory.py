"""
What was learned of each client's link, for its next utterance.

A small store with a bound and a time to live. What a client is (its key, its address) is the
caller's to say; what is kept is not looked into.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from .estimate import Estimate

MOST_CLIENTS = 10_000
"""Estimates that are kept; some 2 kB each. The one that was told of longest ago goes first."""


@runtime_checkable
class Remembers(Protocol):
    """A controller that leaves something for the next utterance."""

    def estimate(self, now: float) -> Estimate | None:
        """What is to be kept of the link; None: nothing was learned."""
        ...


class Memory:
    """
    Estimates by client.

    Args:
        keep_s: how long an estimate is of use.
        most: how many are kept.
    """

    def __init__(self, keep_s: float, most: int = MOST_CLIENTS) -> None:
        self._keep_s, self._most = keep_s, most
        self._estimates: dict[str, Estimate] = {}

    def __len__(self) -> int:
        return len(self._estimates)

    def recall(self, client: str, now: float) -> Estimate | None:
        """What was learned of `client` last, unless that is too long ago."""
        estimate = self._estimates.get(client)
        if estimate is not None and now - estimate.at > self._keep_s:
            del self._estimates[client]
            return None
        return estimate

    def keep(self, client: str, estimate: Estimate | None) -> None:
        """Learned of `client` now; of two of its streams the one that is told last counts."""
        if estimate is None or not self._keep_s:
            return
        self._estimates.pop(client, None)
        self._estimates[client] = estimate
        if len(self._estimates) > self._most:
            del self._estimates[next(iter(self._estimates))]
