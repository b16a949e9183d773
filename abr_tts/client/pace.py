"""
How fast a clip may go: a token bucket that the server fills. Pure; time is an argument.
"""

from __future__ import annotations

BURST_S = 1.0
"""Seconds of the rate that may go at once (protocol/SPEC.md, Clips)."""

BYTES_PER_KBIT = 125.0

KBPS = 1000.0
"""Until the server has named a rate (protocol/SPEC.md, Clips)."""


class Pace:
    """
    `protocol/vectors/pace.json` binds it.

    ```
    await sleep(pace.wait(size, now)); pace.sent(size, now)
    ```
    """

    def __init__(self) -> None:
        self._rate = KBPS * BYTES_PER_KBIT
        """Bytes a second."""
        self._tokens = self._rate * BURST_S
        self._at: float | None = None

    def set(self, kbps: float, now: float) -> None:
        """The server names a rate, the first or another; 0 stops everything until the next."""
        self._fill(now)
        self._rate = kbps * BYTES_PER_KBIT
        self._tokens = min(self._tokens, self._rate * BURST_S)

    def wait(self, size: int, now: float) -> float:
        """
        Seconds until `size` bytes may go; infinite where the rate is 0.

        A message that is larger than the bucket goes when that is full.
        """
        if self._rate == 0:
            return float("inf")
        self._fill(now)
        return max(0.0, (min(size, self._rate * BURST_S) - self._tokens) / self._rate)

    def sent(self, size: int, now: float) -> None:
        """They went."""
        self._fill(now)
        self._tokens -= size

    def _fill(self, now: float) -> None:
        saved = 0.0 if self._at is None else (now - self._at) * self._rate
        self._tokens = min(self._tokens + saved, self._rate * BURST_S)
        self._at = now
