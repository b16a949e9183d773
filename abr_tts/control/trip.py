"""
The round trip of the idle path: the smallest of the last while.

A path may change under a long stream, so that an old minimum must not stand for ever: it would
make everything look late.
"""

from __future__ import annotations

import math

WINDOW_S = 15.0
"""A minimum counts for one to two of these. A client measures every 2 s (its reporter), so each
holds several measures, of which some find an idle path."""


class LeastTrip:
    """Seconds; infinite while nothing is known."""

    def __init__(self) -> None:
        self.seconds = math.inf
        """The smallest of the last while; what was remembered, before the first measure."""
        self._before = self._since = math.inf
        self._began = 0.0

    def remember(self, seconds: float) -> None:
        """What it was in an earlier stream; 0: not known."""
        if self._since == math.inf and seconds > 0:
            self.seconds = seconds

    def add(self, seconds: float, now: float) -> None:
        """A measure."""
        if now - self._began >= WINDOW_S:
            self._before, self._since, self._began = self._since, seconds, now
        self._since = min(self._since, seconds)
        self.seconds = min(self._before, self._since)
