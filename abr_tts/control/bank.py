"""
The bank: at which rung speech is sent first, so that it is there whatever the link does next.

Usually one rung for the whole stream. A lower one where the link cannot keep up and the lead
runs out; the best that fits where there is no bank to speak of (a client that holds one track,
a listener who plays at once what comes). Down at once, up when it has fitted for a while.
"""

from __future__ import annotations

from .controller import Reason
from .estimator import Link
from .ladder import Rung
from .policy import Policy


class Bank:
    """The rung of rank 0. Ask it often; it keeps the time by what it is told."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.rung = usual = policy.bank
        """The rung of the bank."""
        self.reason = self._usually = Reason("bank", f"speech is banked first, at {usual.name}")
        family = (r for r in policy.rungs if r.family == usual.family and r.wire_kbps <= usual.wire_kbps)
        self._below = sorted(family, key=lambda rung: -rung.wire_kbps)
        self._better_since: float | None = None
        self._followed = False
        """The rung has followed the rate before: what was measured first is taken at once."""

    def choose(self, link: Link, lead_s: float, now: float) -> Rung:
        """The rung of a bank beneath upgrades, with `lead_s` seconds of it ahead of the listener."""
        policy, usual = self._policy, self._policy.bank
        if not link.known or lead_s >= policy.low_lead_s:
            return self._move(usual, self._usually, now)
        fitting = (r for r in self._below if r.wire_kbps * policy.bank_headroom <= link.kbps)
        rung = next(fitting, self._below[-1])
        if rung == usual:
            return self._move(rung, self._usually, now)
        return self._move(rung, Reason(
            "scarce",
            f"the link carries {link.kbps:.0f} kbit/s and {lead_s:.1f} s are left; "
            f"{usual.name} needs {usual.wire_kbps * policy.bank_headroom:.0f}",
            {"kbps": link.kbps, "need_kbps": usual.wire_kbps * policy.bank_headroom, "lead_s": lead_s},
        ), now)  # fmt: skip

    def by_rate(self, link: Link, now: float, held: bool) -> Rung:
        """The rung of speech that is sent once: the best that the link carries, `held` against flutter."""
        policy, order = self._policy, self._policy.by_utility
        if not link.known:
            return self.rung
        held, self._followed = held and self._followed, True
        lowest = min(order, key=lambda rung: rung.wire_kbps)
        share = {rung: policy.keep_headroom if rung == self.rung else policy.headroom for rung in order}
        rung = next((r for r in order if r.wire_kbps * share[r] <= link.kbps), lowest)
        return self._move(rung, Reason(
            "rate",
            f"the link carries {link.kbps:.0f} kbit/s; {rung.name} needs {rung.wire_kbps:.0f}",
            {"kbps": link.kbps, "need_kbps": rung.wire_kbps},
        ), now, held)  # fmt: skip

    def _move(self, rung: Rung, reason: Reason, now: float, held: bool = True) -> Rung:
        """Go to `rung`; upwards, if `held`, only when that has been right for long enough."""
        if rung.wire_kbps <= self.rung.wire_kbps:
            self._better_since = None
        elif self._better_since is None:
            self._better_since = now
        since = now if self._better_since is None else self._better_since
        waits = held and rung.wire_kbps > self.rung.wire_kbps and now - since < self._policy.hold_up_s
        if not waits and rung != self.rung:
            self.rung, self.reason, self._better_since = rung, reason, None
        elif rung == self.rung and reason.code != self.reason.code:
            self.reason = reason
        return self.rung
