"""
The gate before upgrades: is the bank safe enough to spend what the link has left?

It opens when enough is banked, or all that is made is; once open it closes only when the bank
runs low. It must not know rungs or what the link carries.
"""

from __future__ import annotations

from .controller import Observation, Reason
from .estimator import Link
from .policy import Policy

PROBE_LEAD_S = 1.0
"""Seconds of bank before the first upgrade over a link that nothing is known of: on a bad one the
message (5 kB) is in the way of the bank for so long. Once open, the gate bears as little. A guess."""

STALE_S, HEARD_BYTES, PROMPT_S = 2.0, 1_000, 0.1
"""What was learned of a link so long ago is believed again when so many bytes of this utterance have
arrived, and nothing is later than this: two or three messages of the bank, in which a link that has
fallen shows. A guess."""


class Gate:
    """Asked each time; it remembers whether it is open."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._open = False

    def closed(self, seen: Observation, link: Link, lead_s: float, banked: bool) -> Reason | None:
        """
        Why no upgrade may be sent; None: one may.

        Args:
            lead_s: seconds of bank ahead of the listener.
            banked: all that is made is banked.
        """
        reason = self._trouble(seen, link) or self._unsafe(seen, link, lead_s, banked)
        self._open = reason is None
        return reason

    def _trouble(self, seen: Observation, link: Link) -> Reason | None:
        if seen.paused:
            return Reason("paused", "the listener has paused")
        if link.late_s > self._policy.late_s:
            return Reason("late", f"what is on the way is {link.late_s:.1f} s late", {"late_s": link.late_s})
        if not self.is_stale(link):
            return None
        if not link.known:
            return Reason("unknown", "nothing is known of the link yet")
        return Reason(
            "stale",
            f"what is known of the link is {link.quiet_s:.0f} s old, and nothing confirms it yet",
            {"quiet_s": link.quiet_s},
        )

    @staticmethod
    def is_stale(link: Link) -> bool:
        """Whether what is known of the link is of another time, and nothing confirms it yet."""
        confirmed = link.heard_bytes >= HEARD_BYTES and link.late_s <= PROMPT_S
        return link.quiet_s > STALE_S and not confirmed

    def _unsafe(self, seen: Observation, link: Link, lead_s: float, banked: bool) -> Reason | None:
        policy = self._policy
        if banked and (seen.ended or (link.known and not link.outages)):
            return None
        wanted = policy.outage_lead_s if link.outages else policy.safe_lead_s
        if not link.known or (self._open and not link.outages):
            wanted = min(PROBE_LEAD_S, wanted)
        if lead_s >= wanted:
            return None
        return Reason(
            "unsafe", f"{lead_s:.1f} s are banked; upgrades wait for {wanted:g}", {"lead_s": lead_s}
        )
