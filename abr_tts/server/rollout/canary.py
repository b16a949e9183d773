"""
Which sessions a canary gets: a share of them, always the same ones.

A session is placed by a hash of its id, so that all its streams have the same policy for as long as the
canary runs, and a session that a share of 0.1 takes is among those that a share of 0.3 takes.
"""

from __future__ import annotations

import hashlib


def place(session: str) -> float:
    """Where a session stands, evenly spread from 0 up to and without 1."""
    drawn = hashlib.sha256(session.encode()).digest()
    return int.from_bytes(drawn[:6], "big") / 2**48


def takes(session: str, share: float) -> bool:
    """
    Whether a session is one of the `share` of them that get the canary.

    Args:
        session: its id; without one nobody is taken, as nothing would keep its next stream there.
        share: 0 for none, 1 for all.
    """
    return bool(session) and place(session) < share
