"""
The strong controller's bank: at which rung speech is sent first.

The better the rung, the less is left to be upgraded and the fewer changes are heard; the lower it is, the
more is there when the link fades. Gain and risk are reckoned in seconds of perfect speech, as the
simulator scores, over everything that the link may carry soon (`belief`).
"""

from __future__ import annotations

from typing import NamedTuple

from .bank import Bank
from .chance import Chance
from .controller import BANK, Observation, Reason
from .ladder import Rung
from .policy import Policy
from .window import CHANGE, CHANGE_EVENT
from .worth import STALLED_S

EVERY_S = 0.3
"""Seconds that a choice stands: three reports."""

AHEAD_S = 5.0
"""Seconds over which a choice is judged: of fades of recorded 3G most last longer than that, and most
utterances are made by then. Of 3 and 5 the better one (half of the recordings)."""

REACT_S = 0.5
"""Least time until a choice that was wrong is made good: some reports and a round trip. A guess."""

UPGRADED, UPGRADED_S = 1.5, 1.0
"""Capacity over the need of a better rung from which what was banked below it is going to be upgraded, and
the seconds that are heard before. Of 1.5 and 2 the former has fewer stalls (half); a round trip, a report
and the way of the first message."""

START_S, MOST_WAIT_S = 0.2, 5.0
"""Seconds of speech that a player wants before it starts (rule 1), and the longest wait that counts."""

BRISK_S, BRISK = 0.05, 0.85
"""An utterance begins above the usual rung only where the link carries what starts a player (`START_S`) in so
many seconds, with this chance: a better first word is not to be paid for with a late one. Of 0.04, 0.05 and
0.08 s at 0.5 to 0.9: no slower starts (p95) than before, and the best quality then (seeds 1 to 3)."""

UNKNOWN_FACTOR = 0.5
"""Real-time factor of an engine of which nothing is known yet. A guess."""


class _Case(NamedTuple):
    """
    What a choice depends on, beside the rung.

    Args:
        odds: (kbit/s, chance) of what the link will carry.
        lead_s: of the bank, ahead of the listener.
        queue: kbit on the way.
        commit: kbit, upgrades among them, that may be on the way by the time a choice is made good.
        factor: seconds that the engine takes for a second of speech.
        first: nothing has been sent yet.
    """

    odds: list[tuple[float, float]]
    lead_s: float
    queue: float
    commit: float
    factor: float
    first: bool


class Prudence(Bank):
    """See `Bank`; `by_rate` is the same."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        usual = policy.bank
        named = [rung for rung in policy.rungs if rung.name == policy.bank_best]
        best = max([usual, *(r for r in named if r.family == usual.family)], key=lambda rung: rung.wire_kbps)
        family = (r for r in policy.rungs if r.family == usual.family and r.wire_kbps <= best.wire_kbps)
        self._rungs = sorted(family, key=lambda rung: -rung.wire_kbps)
        self._lines = [(rung.wire_kbps, policy.utility(rung)) for rung in self._rungs]
        self._chosen_at = float("-inf")
        self._begun = False

    def lay(self, chance: Chance, seen: Observation, lead_s: float) -> Rung:
        """The rung of a bank beneath upgrades, with `lead_s` seconds of it ahead of the listener."""
        begin = seen.layers[BANK].next_pts
        if begin and begin >= seen.ready:
            return self.rung  # there is nothing to be banked
        if not chance.known:
            return self._move(self._policy.bank, self._usually, seen.now)
        if seen.now - self._chosen_at < EVERY_S:
            return self.rung
        self._chosen_at = seen.now
        held, self._begun = self._begun, True
        case = self._case(chance, seen, lead_s)
        lowest = self._rungs[-1]
        rungs = [rung for rung in self._rungs if self._is_brisk(rung, case)] if case.first else self._rungs
        best = max(rungs, key=lambda rung: self._worth(rung, case))
        if lead_s < AHEAD_S and max(kbps for kbps, _ in case.odds) < lowest.wire_kbps:
            best = lowest  # whatever is sent stalls, and the least of it ends that first
        return self._move(best, self._told(best, chance, lead_s), seen.now, held)

    def _is_brisk(self, rung: Rung, case: _Case) -> bool:
        """Whether an utterance may begin at `rung` without a late first word; the usual rung always may."""
        enough = START_S * rung.wire_kbps / BRISK_S
        sure = sum(share for kbps, share in case.odds if kbps >= enough)
        return sure >= BRISK or rung.wire_kbps <= self._policy.bank.wire_kbps

    def _case(self, chance: Chance, seen: Observation, lead_s: float) -> _Case:
        policy = self._policy
        reach = chance.kbps * (chance.rtt_s + policy.bank_queue_s)
        return _Case(
            chance.odds(AHEAD_S), lead_s, seen.outstanding * 0.008,
            max(policy.least_outstanding_bytes * 0.008, reach),
            min(1.0, seen.real_time_factor or UNKNOWN_FACTOR), not seen.layers[BANK].next_pts,
        )  # fmt: skip

    def _worth(self, rung: Rung, case: _Case) -> float:
        """What the next seconds are worth if speech is banked at `rung`, less what changing to it costs."""
        value = self._policy.utility(rung)
        worth = sum(share * self._if(rung.wire_kbps, value, kbps, case) for kbps, share in case.odds)
        if rung == self.rung or case.first:
            return worth
        return worth - CHANGE_EVENT - CHANGE * abs(value - self._policy.utility(self.rung))

    def _if(self, need: float, value: float, kbps: float, case: _Case) -> float:
        """
        The same if the link carries `kbps`: what is heard, less stalls and the wait for the start.

        Where the rung is carried, the better of two ways to go on: with it, or with the lowest as soon as
        trouble shows. Where it is not, the latter.
        """
        carried = max(kbps, 1.0)
        lead_s = case.lead_s - min(AHEAD_S, case.queue / carried) - AHEAD_S
        least, low = self._lines[-1]
        part = min(AHEAD_S, max(REACT_S, case.commit / carried))
        sent = kbps * (part / need + (AHEAD_S - part) / least)
        worth = value * part + low * (AHEAD_S - part) + self._stalled(lead_s, sent, case)
        if kbps >= need:
            top = next((worth for wire, worth in self._lines if wire * UPGRADED <= kbps), 0.0)
            heard = value * AHEAD_S
            if top > value:
                later = CHANGE_EVENT + CHANGE * (top - value)
                heard = value * UPGRADED_S + top * (AHEAD_S - UPGRADED_S) - later
            worth = max(worth, heard + self._stalled(lead_s, kbps * AHEAD_S / need, case))
        if case.first:
            worth -= min(MOST_WAIT_S, (START_S * need + case.queue) / carried)
        return worth

    @staticmethod
    def _stalled(lead_s: float, sent_s: float, case: _Case) -> float:
        """The cost, 0 or less, if `sent_s` more are banked, as far as the engine makes them."""
        return STALLED_S * min(0.0, lead_s + min(sent_s, AHEAD_S / case.factor))

    def _told(self, rung: Rung, chance: Chance, lead_s: float) -> Reason:
        usual = self._policy.bank
        if rung == usual:
            return self._usually
        need = max(rung.wire_kbps, usual.wire_kbps)
        sure = chance.carries(need)
        values = {"chance": sure, "need_kbps": need, "lead_s": lead_s}
        if rung.wire_kbps > usual.wire_kbps:
            sentence = f"speech is banked first, and the link carries the {need:.0f} kbit/s of {rung.name}"
            return Reason("rich", f"{sentence} with a chance of {sure:.0%}", values)
        return Reason(
            "scarce",
            f"{lead_s:.1f} s are left, and the link carries the {need:.0f} kbit/s that {usual.name} needs "
            f"with a chance of {sure:.0%} only",
            values,
        )
