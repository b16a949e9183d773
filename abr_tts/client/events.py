"""
What `events` is called with while a speech is heard: messages of its stream, and what becomes of its
connection. Records.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from ..wire import messages as m


@dataclass(frozen=True, slots=True)
class Reconnecting:
    """
    The connection is lost, or the server stops, and another one will be opened; what has arrived is heard
    meanwhile.

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


@dataclass(frozen=True, slots=True)
class Expired:
    """
    Live mode: speech was too late, and dropped.

    Args:
        at_s: where in the speech one is now, behind it; seconds.
        seconds: how long it was.
    """

    at_s: float
    seconds: float


def in_whole(message: m.Message, ticks: int, chars: int) -> m.Message:
    """
    A message about a part of a speech as one about all of it.

    Args:
        ticks, chars: sound and text before the part.
    """
    if isinstance(message, m.Mark):
        return replace(message, pts=message.pts + ticks, begin=message.begin + chars, end=message.end + chars)
    if isinstance(message, m.Track):
        return replace(message, start=message.start + ticks)
    return replace(message, at=message.at + ticks) if isinstance(message, m.Switch) else message


Event: TypeAlias = m.Track | m.Switch | m.Mark | m.Error | Reconnecting | Reconnected | Expired
"""A track opened, the rung changed, a clause starts, a warning; the connection was lost, and is back; speech
was dropped."""
