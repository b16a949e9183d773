"""
The strong controller's upgrades: the rung whose worth is greatest.

What an upgrade adds in utility is heard for as long as speech is left, up to a horizon, if the link
carries it; to change costs what a listener notices; to fail costs a change back, and, while the bank
is thin, what the bank did not get meanwhile. All in seconds of perfect speech, as the simulator
scores. Where nothing was learned for long the chance of a better rung grows by itself (`belief`),
until trying it is worth it: no probes are needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .chance import Chance
from .controller import Reason
from .ladder import Rung
from .policy import Policy
from .window import CHANGE, CHANGE_EVENT

HORIZON_S = 6.0
"""Seconds of speech over which a choice is judged: about how long a link stays as it is (recorded
mobile networks lose what was known within ten), and what an upgrade goes ahead."""

STALLED_S = 4.0
"""What a stalled second costs (the quality of experience that the simulator scores with)."""

DRAIN_KBPS = 60.0
"""At which a failing link carries what is on the way, on the average of those that come back and those
that do not. A guess."""

LAG_S = 0.2
"""Seconds of its rate that an upgrade has on the way: a round trip and the policy's share."""


SURE_UP = 0.5
"""Chance from which a rung above the one that upgrades go at is tried, or above a bank that is better than
usual: they flutter else where the link carries just about as much. A guess."""


@dataclass(frozen=True, slots=True)
class Stake:
    """
    What is at stake.

    Args:
        below: the rung beneath.
        reserve_kbps: of the link's rate, what the bank needs.
        left_s: seconds of speech that can still be upgraded.
        peril: the chance, 0 to 1, that the link dies while the bank needs it.
    """

    below: Rung
    reserve_kbps: float
    left_s: float
    peril: float


class Worth:
    """The rung that upgrades go at."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.rung: Rung | None = None
        """The rung that upgrades go at, None while there are none."""
        self.reason = Reason("start", "speech is banked first")
        self._rises = False

    def close(self, reason: Reason) -> None:
        """No upgrades for now."""
        self._take(None, reason)

    def choose(self, chance: Chance, stake: Stake) -> None:
        """The rung for upgrades from now on; `reason` says why."""
        policy = self._policy
        floor = policy.utility(stake.below) + policy.least_gain
        better = [rung for rung in policy.by_utility if policy.utility(rung) >= floor]
        if not better:
            self._take(None, Reason("top", f"the ladder has nothing better than {stake.below.name}"))
            return
        worth = {rung: self._worth(rung, chance, stake) for rung in better}
        best = self._patient(max(better, key=worth.__getitem__), better)
        if worth[best] > -self._change(stake.below, stake.below):
            self._take(best, self._told("rate", chance, best, stake))
        else:
            self._take(None, self._told("scarce", chance, min(better, key=lambda r: r.wire_kbps), stake))

    def _patient(self, best: Rung, better: list[Rung]) -> Rung:
        """`best`; where that is above the rung of now, only if it was the last time too."""
        now, rose = self.rung, self._rises
        self._rises = now in better and now is not None and best.wire_kbps > now.wire_kbps
        return now if now is not None and self._rises and not rose else best

    def _worth(self, rung: Rung, chance: Chance, stake: Stake) -> float:
        gain = self._policy.utility(rung) - self._policy.utility(stake.below)
        carried = chance.carries(self._need(rung, stake))
        if carried < SURE_UP and self._is_above(rung, stake.below):
            return -math.inf
        failed = CHANGE_EVENT + CHANGE * gain
        drain_s = rung.wire_kbps * LAG_S / DRAIN_KBPS
        heard_s = min(stake.left_s, HORIZON_S)
        risk = (1 - carried) * failed + STALLED_S * drain_s * stake.peril
        return carried * gain * heard_s - self._change(rung, stake.below) - risk

    def _is_above(self, rung: Rung, below: Rung) -> bool:
        """Whether `rung` is above the one that is heard now, and that is better than the usual bank's."""
        usual = self._policy.utility(self._policy.bank)
        heard = self.rung or (below if self._policy.utility(below) > usual else None)
        return heard is not None and rung.wire_kbps > heard.wire_kbps

    def _change(self, rung: Rung, below: Rung) -> float:
        """What it costs that `rung` is heard after what is heard now."""
        now = self.rung or below
        if rung == now:
            return 0.0
        return CHANGE_EVENT + CHANGE * abs(self._policy.utility(rung) - self._policy.utility(now))

    def _need(self, rung: Rung, stake: Stake) -> float:
        room = self._policy.keep_headroom if rung == self.rung else self._policy.headroom
        return rung.wire_kbps * room + stake.reserve_kbps

    def _take(self, rung: Rung | None, reason: Reason) -> None:
        if rung != self.rung or self.reason.code != reason.code:
            self.rung, self.reason = rung, reason

    def _told(self, code: str, chance: Chance, rung: Rung, stake: Stake) -> Reason:
        need = self._need(rung, stake)
        carried = chance.carries(need)
        ventured = ": worth the try, for the speech is banked" if code == "rate" and carried < 0.5 else ""
        return Reason(
            code,
            f"the link carries the {need:.0f} kbit/s of {rung.name} with a chance of {carried:.0%}{ventured}",
            {"chance": carried, "need_kbps": need},
        )
