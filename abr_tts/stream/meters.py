"""
What a listener measures of arrivals: jitter and goodput. Pure arithmetic on what
arrived when; no clock, no socket, nothing of streams.
"""

from __future__ import annotations

GOODPUT_WINDOW_S = 1.0
"""Seconds over which goodput is counted: a few reports, so that a change shows in the next."""

_BIN_S = 0.05
"""Seconds of one bin of the goodput window, which bounds what is kept to 21 bins."""


class Jitter:
    """
    Interarrival jitter of RFC 3550 section 6.4.1, with pts as the sender's timestamp.

    D = (difference of arrivals) - (difference of pts), J += (|D| - J) / 16, over messages of
    one track. Speech sent ahead of real time has a large negative D by design, so this tells
    of the link only while a sender keeps near real time.
    """

    def __init__(self) -> None:
        self._track = -1
        self._transit = 0.0
        self._seconds = -1.0

    @property
    def ms(self) -> float:
        """Milliseconds, -1 before two messages of one track have arrived."""
        return self._seconds * 1000 if self._seconds >= 0 else -1.0

    def arrived(self, track: int, pts_seconds: float, now: float) -> None:
        """A message of `track` arrived whose first packet lies at `pts_seconds` of media."""
        transit = now - pts_seconds
        if track == self._track:
            jitter = max(0.0, self._seconds)
            self._seconds = jitter + (abs(transit - self._transit) - jitter) / 16
        self._track, self._transit = track, transit


class Goodput:
    """
    Bytes a second over the last second.

    A lower bound of what the link carries: a sender that has nothing to send looks like a
    slow link.
    """

    def __init__(self) -> None:
        self._bins: list[tuple[float, int]] = []

    def add(self, size: int, now: float) -> None:
        """`size` bytes arrived."""
        self._prune(now)
        if self._bins and now - self._bins[-1][0] < _BIN_S:
            begin, before = self._bins[-1]
            self._bins[-1] = (begin, before + size)
        else:
            self._bins.append((now, size))

    def rate(self, now: float) -> float:
        """Bytes a second, -1 when nothing arrived within the window."""
        self._prune(now)
        if not self._bins:
            return -1.0
        span = max(now - self._bins[0][0], 2 * _BIN_S)
        return sum(size for _, size in self._bins) / min(GOODPUT_WINDOW_S, span)

    def _prune(self, now: float) -> None:
        while self._bins and now - self._bins[0][0] >= GOODPUT_WINDOW_S:
            del self._bins[0]
