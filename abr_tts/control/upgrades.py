"""
Upgrades: at which rung speech that is banked is sent again, better, before it is heard.

One rung at a time, held against flutter: up when it has fitted for a while, down at once. Where
none fits and nothing was learned for long, one is tried. It must not know bytes on the way or
messages; it is told what the link carries and what the bank needs.
"""

from __future__ import annotations

from .controller import Reason
from .estimator import Link
from .ladder import Rung
from .policy import Policy

PROBE_DOUBLINGS = 2
"""A probe that failed doubles the wait for the next one, so often: 3, 6, 12 s by default. A guess."""


class Upgrades:
    """The rung that upgrades go at. Ask it often; it keeps the time by what it is told."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.rung: Rung | None = None
        """The rung that upgrades go at, None while there are none."""
        self.probing = False
        """The rung is tried: a little of it, to see what the link carries."""
        self.probes = 0
        """How often one was tried."""
        self.reason = Reason("start", "speech is banked first")
        self._better: dict[str, list[Rung]] = {}
        self._fits_since: dict[str, float] = {}
        self._fell = False
        self._outages = 0
        self._probed_at = 0.0
        self._failed_probes = 0
        self._held: Rung | None = None
        self._held_until = 0.0

    def close(self, reason: Reason, now: float) -> None:
        """No upgrades for now; the rung they went at is still held when they go on soon."""
        if self.rung is not None and not self.probing:
            self._held, self._held_until = self.rung, now + self._policy.hold_up_s
        self._take(None, reason)

    def choose(self, link: Link, bank: Rung, reserve_kbps: float, may_probe: bool, now: float) -> Rung | None:
        """
        The rung for upgrades from now on; `reason` says why.

        Args:
            bank: the rung beneath.
            reserve_kbps: of the link's rate, what the bank needs.
            may_probe: the bank can wait for as long as a probe may take.
        """
        better = self._better_than(bank)
        self._watch(better, link, reserve_kbps, now)
        if not better:
            self._take(None, Reason("top", f"the ladder has nothing better than {bank.name}"))
        elif self.probing and not self._is_answered(link, now):
            pass
        elif link.known:
            self._by_rate(better, link, reserve_kbps, now)
        else:
            self._take(None, Reason("unknown", "nothing is known of the link yet"))
        if better and may_probe and self._is_quiet(link, now):
            place = better.index(self.rung) if self.rung in better else 1
            if place:
                self._probe(better[place - 1], link, now)
        return self.rung

    def _better_than(self, bank: Rung) -> list[Rung]:
        """What is worth sending instead, the best first."""
        if bank.name not in self._better:
            policy = self._policy
            floor = policy.utility(bank) + policy.least_gain
            self._better[bank.name] = [r for r in policy.by_utility if policy.utility(r) >= floor]
        return self._better[bank.name]

    def _watch(self, better: list[Rung], link: Link, reserve: float, now: float) -> None:
        """Since when each rung has fitted."""
        room = link.kbps - reserve
        for rung in better:
            if rung.wire_kbps * self._policy.headroom > room:
                self._fits_since.pop(rung.name, None)
            else:
                self._fits_since.setdefault(rung.name, now)

    # ------------------------------------------------------------ trying

    def _is_quiet(self, link: Link, now: float) -> bool:
        """Whether it is time to try: nothing was learned for long, or never a limit, or it was dead."""
        patience = self._policy.probe_s * 2.0 ** min(self._failed_probes, PROBE_DOUBLINGS)
        if self.rung is not None:
            return not self.probing and min(link.limit_s, now - self._probed_at) >= patience
        never = not link.known or not (link.firm or self._failed_probes)
        return never or link.outages > self._outages or link.quiet_s >= patience

    def _is_answered(self, link: Link, now: float) -> bool:
        """Whether something was learned since the probe went out, or it has been waited for in vain."""
        waited_s = now - self._probed_at
        return link.quiet_s < waited_s - link.min_rtt_s or waited_s > self._policy.probe_s

    def _probe(self, rung: Rung, link: Link, now: float) -> None:
        self.probing, self._probed_at, self._outages = True, now, link.outages
        self.probes += 1
        since = f" for {link.quiet_s:.0f} s" if link.quiet_s < self._policy.memory_s else ""
        self._take(rung, Reason("probe", f"nothing was learned of the link{since}; {rung.name} tries it"))

    # ------------------------------------------------------------ by what the link carries

    def _by_rate(self, better: list[Rung], link: Link, reserve: float, now: float) -> None:
        policy, answered = self._policy, self.probing
        if answered:
            self.probing, self.rung, self._fell = False, None, False
        if self.rung is None and self._held is not None and now < self._held_until:
            self.rung = self._held
        self._held = None
        before, room = self.rung, link.kbps - reserve
        if before is not None and (before not in better or before.wire_kbps * policy.keep_headroom > room):
            self._fell, self.rung = True, None
        hold = policy.hold_up_s if before is not None or self._fell else 0.0
        for rung in better:
            if rung == self.rung:
                return
            fits = self._fits_since.get(rung.name)
            if fits is not None and (now - fits >= hold or (before is not None and self.rung is None)):
                self._failed_probes = 0
                self._take(rung, self._told("rate", link, rung, rung.wire_kbps + reserve))
                return
        if self.rung is None:
            self._failed_probes += answered
            least = min(better, key=lambda rung: rung.wire_kbps)
            self.reason = self._told("scarce", link, least, least.wire_kbps * policy.headroom + reserve)

    def _take(self, rung: Rung | None, reason: Reason) -> None:
        if rung != self.rung or self.reason.code != reason.code:
            self.rung, self.reason = rung, reason

    @staticmethod
    def _told(code: str, link: Link, rung: Rung, need: float) -> Reason:
        return Reason(
            code,
            f"the link carries {link.kbps:.0f} kbit/s; {rung.name} needs {need:.0f}",
            {"kbps": link.kbps, "need_kbps": need},
        )
