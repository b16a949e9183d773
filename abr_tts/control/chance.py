"""The chance that a link carries so much for this stream at this moment."""

from __future__ import annotations

from .belief import GRID, Belief
from .estimator import LEAST_KBPS, Link

DEAD_KBPS = 20.0
"""A link that carries less does not carry speech: Opus 12 needs 17."""

SOON_S = 1.0
"""Seconds ahead for which a link's death is feared. A guess: what an upgrade keeps the link busy for."""


class Chance:
    """
    Args:
        belief: what is believed of the whole link.
        link: as it is seen now: silence bounds it, and others may use it.
    """

    def __init__(self, belief: Belief, link: Link) -> None:
        self._belief, self._most = belief, link.most_kbps
        self.known = link.known
        self.kbps, self.rtt_s = link.kbps, link.min_rtt_s
        whole = min(belief.median, link.most_kbps)
        self._share = link.kbps / max(whole, LEAST_KBPS)

    def carries(self, kbps: float) -> float:
        """The chance, 0 to 1, that it carries `kbps`."""
        whole = kbps / max(self._share, 0.01)
        return 0.0 if whole > self._most else self._belief.carries(whole)

    def odds(self, in_s: float) -> list[tuple[float, float]]:
        """(kbit/s for this stream, chance) of every step of capacity, `in_s` seconds from now."""
        most = self._most
        steps = zip(GRID, self._belief.soon(in_s), strict=True)
        return [(min(kbps, most) * self._share, share) for kbps, share in steps]

    def dies(self) -> float:
        """The chance that it carries no speech now or will carry none in a moment."""
        return 1.0 - self._belief.carries(DEAD_KBPS, SOON_S)
