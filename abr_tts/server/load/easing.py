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

LOWER_START, ONE_RUNG, WHOLE_SPEECH = "lower_start", "one_rung", "whole"
"""How a stream is less than it would be, as `detail.how` tells it (protocol/SPEC.md, error)."""

WORDS = {
    LOWER_START: "the server is short of power: the speech begins at a lower rung",
    ONE_RUNG: "the server is short of power: the speech comes at one rung",
    WHOLE_SPEECH: "the server has no room now: the speech comes when it is whole, after those that are heard",
}
"""To people."""


def eased(accepted: Accepted, step: int, *, patient: bool = False) -> tuple[Accepted, str]:
    """
    Args:
        accepted: what a request gets by itself.
        step: of relief.
        patient: it was let in to come whole, where it would have been refused or heard late.

    Returns:
        What it gets, and how that is less; empty: it is not.
    """
    terms = accepted.terms
    if terms.policy is None:
        return accepted, WHOLE_SPEECH if patient else ""
    if step < LOW and not patient:
        return accepted, ""
    lower = lowered(terms.policy.for_listener(terms.codecs, terms.rate, terms.level))
    if patient or step >= WHOLE:
        whole = replace(terms, policy=None, rung=lower.bank)
        return Accepted(accepted.voice, whole, whole.first), WHOLE_SPEECH if patient else ONE_RUNG
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
