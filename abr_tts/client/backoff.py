"""
After which ends a client connects again, and how long it waits (protocol/SPEC.md, "Reconnect and resume").

Pure: time is an argument, chance is given.
"""

from __future__ import annotations

import random

BASE_S, LONGEST_S = 1.0, 60.0
"""The second retry waits up to the one, each later one up to twice as long, until the other."""

AGAIN = frozenset({None, 1001, 1005, 1006, 1011, 1012, 1013, 1015})
"""Closes after which the same would not happen again: lost, left, a fault, a restart, full, no TLS."""

AGAIN_CODES = frozenset({"idle_timeout", "rate_limited"})
"""Errors after which it may go well although the close code is 1008."""


def may_retry(close: int | None, code: str | None = None) -> bool:
    """
    Whether to connect again.

    Args:
        close: the WebSocket's close code; None where there was none.
        code: of the error that was told before, if one was.
    """
    return close in AGAIN or code in AGAIN_CODES


class Backoff:
    """
    Waits between attempts: none before the first, then exponential with full jitter (between 0 and the
    bound), so that the clients of a server that restarts do not all come back at once.

    Args:
        total_s: seconds from the loss after which it is given up.
        chance: where the jitter comes from.
    """

    def __init__(self, total_s: float, chance: random.Random) -> None:
        self._total_s, self._chance = total_s, chance
        self.attempts = 0
        """Made since the last `reset`."""
        self._since: float | None = None

    def next(self, now: float, retry_after: float | None = None) -> float | None:
        """
        Seconds to wait before the next attempt; None: it is over.

        Args:
            now: seconds on any monotonic clock.
            retry_after: seconds that the server told, at least.
        """
        if self._since is None:
            self._since = now
        left = self._since + self._total_s - now
        bound = min(LONGEST_S, BASE_S * 2.0 ** min(self.attempts - 1, 16)) if self.attempts else 0.0
        wait = min(self._chance.uniform(0.0, bound), left)
        if left <= 0 or (retry_after or 0.0) > left:
            return None
        self.attempts += 1
        return max(wait, retry_after or 0.0)

    def reset(self) -> None:
        """The server has greeted."""
        self.attempts, self._since = 0, None
