"""
How fast requests may follow each other, once the server has asked to go slower. Pure; time is an argument.
"""

from __future__ import annotations

LOOK_AGAIN_S = 1.0
"""Seconds after which it is asked again whether a server that stopped everything has changed its mind."""


class RequestPace:
    """Until the server has said anything (`flow_control` without a stream) nothing waits."""

    def __init__(self) -> None:
        self._rate: float | None = None
        """Requests a second."""
        self._next_at = float("-inf")

    def told(self, rate: float, retry_after: float, now: float) -> None:
        """The server names a rate, the first or another, and how long nothing should come."""
        self._rate = rate
        self._next_at = now + retry_after

    def pause_s(self, now: float) -> float:
        """Seconds before anything more should be asked; 0: none."""
        return LOOK_AGAIN_S if self._rate == 0 else max(0.0, self._next_at - now)

    def take(self, now: float) -> float:
        """Seconds that a request must wait; 0: it goes now, and the next one later."""
        pause = self.pause_s(now)
        if pause == 0 and self._rate is not None:
            self._next_at = now + 1 / self._rate
        return pause
