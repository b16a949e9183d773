"""
The strong controller's trial: a look at what a link carries when nothing else shows it.

Where as much is banked as may be, speech goes out as slowly as it is heard, which any link that carries
speech does: one that was thin and has come back is not found out. So a few frames of the best rung are
sent, one less than a player takes (rule 3): they are not heard unless more follow, and with all that
lies in the bank it harms nobody if they come late.
"""

from __future__ import annotations

from .controller import Observation, Reason
from .estimator import Link
from .policy import Policy
from .upgrades import PROBE_DOUBLINGS, Upgrades

FULL_SLACK_S = 1.0
"""Seconds below the policy's `bank_lead_s` from which the bank counts as full: some of its messages."""


class Trial:
    """
    Asked each time; it remembers whether one is under way.

    Args:
        policy: how long nothing must be learned before one.
        upgrades: told of it, since who sends it asks there.
    """

    def __init__(self, policy: Policy, upgrades: Upgrades) -> None:
        self._policy, self._upgrades = policy, upgrades
        self._at = float("-inf")
        self._failed = 0
        self.reason = Reason("probe", "nothing was learned of the link for long")

    def stop(self, found: bool) -> None:
        """None is wanted now; `found`: an upgrade is carried, so that the next one need not wait longer."""
        self._upgrades.probing = False
        if found:
            self._failed = 0

    def is_on(self, seen: Observation, link: Link, lead_s: float) -> bool:
        """Whether frames of the best rung are sent to try the link, of which nothing else is carried."""
        upgrades, waited_s = self._upgrades, seen.now - self._at
        if upgrades.probing:
            upgrades.probing = waited_s <= self._policy.probe_s and link.limit_s >= waited_s - link.min_rtt_s
        elif self._is_time(link, waited_s, lead_s):
            self._begin(seen.now, link)
        return upgrades.probing

    def _is_time(self, link: Link, waited_s: float, lead_s: float) -> bool:
        full = lead_s >= self._policy.bank_lead_s - FULL_SLACK_S
        patience_s = self._policy.probe_s * 2.0 ** min(self._failed, PROBE_DOUBLINGS)
        return full and min(link.limit_s, waited_s) >= patience_s

    def _begin(self, now: float, link: Link) -> None:
        self._at = now
        self._failed += 1
        self._upgrades.probing = True
        self._upgrades.probes += 1
        best = self._policy.by_utility[0].name
        since = f" for {link.limit_s:.0f} s" if link.limit_s < self._policy.memory_s else ""
        self.reason = Reason(
            "probe", f"the link was not the limit{since} and the bank is full; {best} tries it"
        )
