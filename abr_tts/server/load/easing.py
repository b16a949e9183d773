"""
What a new stream gets while the server is under strain: less than it would have had, and it is told so.

A request that names its rung has that; what it may cost in encoders is another matter.
"""

from __future__ import annotations

from dataclasses import replace

from ...control.policy import Policy
from ...errors import Reduced
from ..speech.reception import Accepted
from .relief import LOW, WHOLE

HOWS = LOWER_START, ONE_RUNG = ("lower_start", "whole")
"""How a stream is less than it would be, as `detail.how` tells it (protocol/SPEC.md, error)."""

WORDS = {
    LOWER_START: "the server is short of power: the speech begins at a lower rung",
    ONE_RUNG: "the server is short of power: the speech comes at one rung; it may be heard when it is whole",
}
"""To people."""


def eased(accepted: Accepted, step: int) -> tuple[Accepted, str]:
    """
    Args:
        accepted: what a request gets by itself.
        step: of relief.

    Returns:
        What it gets, and how that is less; empty: it is not.
    """
    terms = accepted.terms
    if step < LOW or terms.policy is None:
        return accepted, ""
    lower = lowered(terms.policy.for_listener(terms.codecs, terms.rate, terms.level))
    if step >= WHOLE:
        whole = replace(terms, policy=None, rung=lower.bank)
        return Accepted(accepted.voice, whole, whole.first), ONE_RUNG
    terms = replace(terms, policy=lower)
    return Accepted(accepted.voice, terms, terms.first), LOWER_START


def lowered(policy: Policy) -> Policy:
    """The same with the next lower rung for its bank, if there is one."""
    bank = policy.bank
    below = [rung for rung in policy.rungs if rung.wire_kbps < bank.wire_kbps]
    if not below:
        return policy
    return replace(policy, bank_rung=max(below, key=lambda rung: rung.wire_kbps).name)


def notice(how: str) -> Reduced:
    """What is told of it."""
    return Reduced(WORDS[how], how=how)
