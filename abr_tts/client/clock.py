"""
When the next frame sounds: one every 20 ms on an absolute schedule. Pure; time is an argument.
"""

from __future__ import annotations

from ..units import FRAME_MS

FRAME_S = FRAME_MS / 1000
"""Seconds of one frame."""

LATE_S = 0.2
"""
Lateness that is made up by frames in a row; beyond it the listener itself stood still, and
the schedule starts anew. 200 ms is what a player holds before it starts.
"""


class FrameClock:
    """
    An absolute schedule: frame n is due at start + n * 20 ms, so that rounding and late
    wake-ups do not add up. It ticks through stalls, as a sound card does.

    ```
    await sleep(clock.wait(now)); clock.tick(now); frame = player.render()
    ```
    """

    def __init__(self) -> None:
        self._due: float | None = None

    def wait(self, now: float) -> float:
        """Seconds until the next frame is due; 0 when it is, and for the first."""
        if self._due is not None and now - self._due > LATE_S:
            self._due = now
        return 0.0 if self._due is None else max(0.0, self._due - now)

    def tick(self, now: float) -> None:
        """The frame that was due is taken; the first one starts the schedule."""
        self._due = (now if self._due is None else self._due) + FRAME_S
