"""What is kept of a link from one utterance of a client to the next."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """
    What is kept of a link for the next utterance of its client.

    Args:
        kbps: what it carried.
        min_rtt_s: the round trip of the idle path, 0 where unknown.
        at: when that was learned.
        firm: its limit was seen; else it may carry more than `kbps`.
        chances, usual: of each step of capacity, at that time and at any (`belief`); empty where
            nobody kept them.
    """

    kbps: float
    min_rtt_s: float
    at: float
    firm: bool = True
    chances: tuple[float, ...] = ()
    usual: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "chances", tuple(self.chances))  # a trace holds lists
        object.__setattr__(self, "usual", tuple(self.usual))
