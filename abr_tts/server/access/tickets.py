"""
Tickets: an application that has a key lets one page connect once, soon, and with no more than it says.

A page's address may end up in logs and histories, a key must not; a ticket that does is worth nothing,
for it was used. They are kept as digests, in memory alone. Time is an argument.
"""

from __future__ import annotations

import secrets
from collections import Counter, OrderedDict
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
        most_of_key: of those, that one key has; a server without keys knows no shares.
    """

    def __init__(self, lasts_s: float, most: int, most_of_key: int) -> None:
        self.lasts_s, self._most, self._most_of_key = lasts_s, most, most_of_key
        self._out: OrderedDict[bytes, tuple[float, Grant]] = OrderedDict()
        self._of_key: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._out)

    def issue(self, grant: Grant, now: float) -> str | None:
        """A new ticket; None: as many are out as may be, of this key or of all."""
        self._forget(now)
        if len(self._out) >= self._most or self._has_its_share(grant):
            return None
        ticket = secrets.token_urlsafe(TICKET_BYTES)
        self._out[digest(ticket)] = now + self.lasts_s, grant
        self._of_key[grant.key_digest] += 1
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
            self._take_back(digest(ticket))
        return grant

    def soonest_s(self, grant: Grant, now: float) -> float:
        """Seconds until one that stands in this one's way is out of date."""
        mine, key = self._has_its_share(grant), grant.key_digest
        ends = (until for until, out in self._out.values() if not mine or out.key_digest == key)
        return max(0.0, next(ends, now) - now)

    def _has_its_share(self, grant: Grant) -> bool:
        key = grant.key_digest
        return bool(key) and self._of_key.get(key, 0) >= self._most_of_key

    def _forget(self, now: float) -> None:
        """All last equally long: the oldest are in front."""
        while self._out:
            oldest, (until, _) = next(iter(self._out.items()))
            if until > now:
                return
            self._take_back(oldest)

    def _take_back(self, ticket: bytes) -> None:
        _, grant = self._out.pop(ticket)
        self._of_key[grant.key_digest] -= 1
        if not self._of_key[grant.key_digest]:
            del self._of_key[grant.key_digest]
