"""
What `events` is called with while a speech is heard: messages of its stream, and what becomes of its
connection. Records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ..wire import messages as m


@dataclass(frozen=True, slots=True)
class Reconnecting:
    """
    The connection is lost, and will be opened again; what has arrived is heard meanwhile.

    Args:
        attempt: 1 for the first.
        wait_s: seconds until it is made.
        reason: why the one before ended, in one sentence.
    """

    attempt: int
    wait_s: float
    reason: str


@dataclass(frozen=True, slots=True)
class Reconnected:
    """There is a connection again, and the server was asked for the rest."""


Event: TypeAlias = m.Track | m.Switch | m.Mark | m.Error | Reconnecting | Reconnected
"""A track opened, the rung changed, a clause starts, a warning; the connection was lost, and is back."""
