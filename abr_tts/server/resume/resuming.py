"""
Which connections the streams of a client outlive (protocol/SPEC.md, "Reconnect and resume").
"""

from __future__ import annotations

from ...errors import IdleTimeout, Internal
from ...wire.messages import Hello

LEVEL = 2
"""Conformance level of clients that resume."""

GOODBYES = frozenset({0, 1000, 1001, 1005})
"""Close codes of a client that leaves: done, a page that is closed, no code at all (aiohttp says 0)."""


def resumes(hello: object) -> bool:
    """Whether a client that said this can go on with a stream at another connection."""
    return isinstance(hello, Hello) and hello.level >= LEVEL


def is_lost(ours: bool, fault: Exception | None, peer_code: int | None) -> bool:
    """
    Whether a connection that has ended was lost, so that its client is going to connect again.

    Args:
        ours: it was this server that closed.
        fault: what it closed for; None: no fault.
        peer_code: the client's close code; 1006 where it said none.
    """
    return isinstance(fault, IdleTimeout | Internal) if ours else peer_code not in GOODBYES
