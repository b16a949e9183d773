"""
Tickets: an application that has a key lets one page connect once, soon, and with no more than it says.

A page's address may end up in logs and histories, a key must not; a ticket that does is worth nothing,
for it was used. They are kept as digests, in memory alone. Time is an argument.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass

from .keys import digest

TICKET_BYTES = 24
"""Random bytes of a ticket: 192 bits cannot be guessed."""

MOST_CHARS = 64
"""Longest text that is looked at as a ticket; ours have 32."""


@dataclass(frozen=True, slots=True)
class Grant:
    """
    What a ticket opens, None where it does not bind.

    Args:
        key_name, key_digest: of the key that it was got with; its limits and policy bind.
        origin: of the page that may use it.
        streams: speeches and clips that its connection may ask for, all together.
        chars: characters of their texts, all together.
        expires: of the token that it was got with, as of `Caller`.
    """

    key_name: str
    key_digest: str
    origin: str | None = None
    streams: int | None = None
    chars: int | None = None
    expires: float | None = None


class Tickets:
    """
    Args:
        lasts_s: seconds that one is good for; 0: none are given.
        most: that are out at once.
    """

    def __init__(self, lasts_s: float, most: int) -> None:
        self.lasts_s, self._most = lasts_s, most
        self._out: OrderedDict[bytes, tuple[float, Grant]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._out)

    def issue(self, grant: Grant, now: float) -> str | None:
        """A new ticket; None: as many are out as may be."""
        self._forget(now)
        if len(self._out) >= self._most:
            return None
        ticket = secrets.token_urlsafe(TICKET_BYTES)
        self._out[digest(ticket)] = now + self.lasts_s, grant
        return ticket

    def look(self, ticket: str, origin: str, now: float) -> Grant | None:
        """What a ticket opens for a page of `origin` (empty: no page); None: nothing. It stays good."""
        self._forget(now)
        if len(ticket) > MOST_CHARS:
            return None
        _, grant = self._out.get(digest(ticket), (0.0, None))
        if grant is None or (grant.origin is not None and grant.origin != origin):
            return None
        return grant

    def use(self, ticket: str, origin: str, now: float) -> Grant | None:
        """The same, and it is used up."""
        grant = self.look(ticket, origin, now)
        if grant is not None:
            del self._out[digest(ticket)]
        return grant

    def soonest_s(self, now: float) -> float:
        """Seconds until one is out of date."""
        until = next((until for until, _ in self._out.values()), now)
        return max(0.0, until - now)

    def _forget(self, now: float) -> None:
        """All last equally long: the oldest are in front."""
        while self._out:
            oldest, (until, _) = next(iter(self._out.items()))
            if until > now:
                return
            del self._out[oldest]
