"""
The strong controller's bank: while there is little ahead of the listener, speech goes at a rung that
the link very likely carries as fast as it is made.

On most links that is the usual rung. On a thin one a lower rung gets twice as far ahead in the same
time, and what it lacks can be made good by an upgrade; a stall cannot.
"""

from __future__ import annotations

from ..units import seconds_to_ticks
from .bank import Bank
from .chance import Chance
from .controller import BANK, Observation, Reason
from .ladder import Rung
from .policy import Policy

SURE, SURE_ENOUGH = 0.8, 0.65
"""Chance from which a rung is taken, and down to which it is kept. Guesses."""

VERY_SURE = 0.9
"""Chance from which a better rung than the usual one is banked. A guess."""

FIRST_S = 0.6
"""Seconds of speech that are banked at it: what is heard before an upgrade can be there. Beyond, a
link that dies while speech is being made would have more in its way. A guess."""

FASTEST = 0.25
"""Least real-time factor that the bank tries to keep up with: four times as fast as speech. Beyond,
it takes longer than a lower rung can help (a guess)."""

UNKNOWN_FACTOR = 0.5
"""Real-time factor of an engine of which nothing is known yet. A guess."""


class Prudence(Bank):
    """
    See `Bank`; `by_rate` is the same.

    Args:
        remembered: the link is known from an earlier utterance; else the first speech is nothing special.
    """

    def __init__(self, policy: Policy, remembered: bool) -> None:
        super().__init__(policy)
        usual = policy.bank
        named = [rung for rung in policy.rungs if remembered and rung.name == policy.bank_best]
        best = max([usual, *(r for r in named if r.family == usual.family)], key=lambda rung: rung.wire_kbps)
        family = (r for r in policy.rungs if r.family == usual.family and r.wire_kbps <= best.wire_kbps)
        self._rungs = sorted(family, key=lambda rung: -rung.wire_kbps)
        self._begun = self._first = False

    def lay(self, chance: Chance, seen: Observation, lead_s: float) -> Rung:
        """The rung of a bank beneath upgrades, with `lead_s` seconds of it ahead of the listener."""
        usual, begin = self._policy.bank, seen.layers[BANK].next_pts
        if begin and begin >= seen.ready:
            return self.rung  # there is nothing to be banked
        if not chance.known:
            return self._move(usual, self._usually, seen.now)
        held, self._begun = self._begun, True
        self._first = begin < seconds_to_ticks(FIRST_S)
        pace = self._pace(seen, lead_s)
        rung = next((r for r in self._rungs if self._may(chance, r, pace, lead_s)), self._rungs[-1])
        return self._move(rung, self._told(chance, rung, pace, lead_s), seen.now, held)

    def _may(self, chance: Chance, rung: Rung, pace: float, lead_s: float) -> bool:
        policy = self._policy
        if rung.wire_kbps > policy.bank.wire_kbps:
            return self._first and chance.carries(rung.wire_kbps * pace * policy.bank_headroom) >= VERY_SURE
        if rung == policy.bank and lead_s >= policy.low_lead_s:
            return True
        return chance.carries(rung.wire_kbps * pace) >= (SURE_ENOUGH if rung == self.rung else SURE)

    def _told(self, chance: Chance, rung: Rung, pace: float, lead_s: float) -> Reason:
        usual = self._policy.bank
        if rung == usual:
            return self._usually
        values = {"kbps": rung.wire_kbps * pace, "lead_s": lead_s}
        if rung.wire_kbps > usual.wire_kbps:
            sentence = f"speech is banked first, and the link carries it at {rung.name} with ease"
            return Reason("rich", sentence, values)
        need = usual.wire_kbps * pace
        return Reason(
            "scarce",
            f"{lead_s:.1f} s are left, and the link carries the {need:.0f} kbit/s that {usual.name} needs "
            f"with a chance of {chance.carries(need):.0%} only",
            {"chance": chance.carries(need), "need_kbps": need, "lead_s": lead_s},
        )

    def _pace(self, seen: Observation, lead_s: float) -> float:
        """How many times as fast as it is heard speech should be banked: less, the more is there."""
        factor = min(1.0, max(FASTEST, seen.real_time_factor or UNKNOWN_FACTOR))
        lacking = max(0.0, 1.0 - lead_s / self._policy.low_lead_s)
        return 1.0 + (1.0 / factor - 1.0) * lacking
