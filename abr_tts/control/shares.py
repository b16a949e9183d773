"""
Who uses a connection: this stream, and all others together.
"""

from __future__ import annotations

import math

from .ladder import wire_bytes

HALF_LIFE_S = 1.0
"""Half-life of what was sent: some ten messages of a stream in real time."""

LEAST_SHARE = 0.25
"""Of the link, what a stream may count on, however much the others take: they will have to give way,
as this one would. A guess."""


BYTES_TO_KBPS = math.log(2) / HALF_LIFE_S * 8 / 1000
"""A decaying sum of bytes to the rate at which they were sent."""


class Shares:
    """Rates of what was sent lately, kbit/s on the wire."""

    def __init__(self) -> None:
        self._own = self._other = 0.0
        self._at = 0.0

    def sent(self, size: int, own: bool, now: float) -> None:
        """A message of `size` payload bytes went out, this stream's `own` or not."""
        self._decay(now)
        if own:
            self._own += wire_bytes(size)
        else:
            self._other += wire_bytes(size)

    def available(self, kbps: float, now: float) -> float:
        """Of a link that carries `kbps`, what this stream may use: what others leave, or what it has."""
        if not self._other:
            return kbps
        self._decay(now)
        left = kbps - self._other * BYTES_TO_KBPS
        return min(kbps, max(left, self._own * BYTES_TO_KBPS, kbps * LEAST_SHARE))

    def _decay(self, now: float) -> None:
        keep = 0.5 ** ((now - self._at) / HALF_LIFE_S)
        self._own, self._other, self._at = self._own * keep, self._other * keep, now
