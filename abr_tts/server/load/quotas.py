"""
What one API key may ask for: connections at once, requests and characters a second.

Token buckets, one of each kind a key; callers without a key have theirs by connection, for behind a proxy
all of them have one address. Time is an argument. A ticket narrows what its connection may ask for.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass

from ...errors import Overloaded, RateLimited, TextTooLong, TooManyStreams
from ..access.auth import Caller
from ..config import LimitSettings

LOW = 0.25
"""Share of a bucket below which a client is told to go slower, before it is refused. A guess."""

AGAIN_S = 1.0
"""Seconds between two such words to one connection."""


class Bucket:
    """
    Args:
        rate: tokens that come a second.
        most: that it holds, and begins with.
        now: seconds on any monotonic clock, as everywhere below.
    """

    def __init__(self, rate: float, most: float, now: float) -> None:
        self.rate, self.most = rate, most
        self._level, self._at = most, now

    def level(self, now: float) -> float:
        """Tokens in it."""
        self._level = min(self.most, self._level + max(0.0, now - self._at) * self.rate)
        self._at = max(self._at, now)
        return self._level

    def wait_s(self, tokens: float, now: float) -> float:
        """Seconds until so many are there; 0: they are."""
        return max(0.0, (tokens - self.level(now)) / self.rate)

    def take(self, tokens: float, now: float) -> None:
        """Take them; asked for before."""
        self._level = self.level(now) - tokens


@dataclass(slots=True)
class Account:
    """The buckets of one key."""

    requests: Bucket
    chars: Bucket

    def full(self, now: float) -> bool:
        """Whether nothing is known of it that a new one would not say."""
        return all(bucket.level(now) >= bucket.most for bucket in (self.requests, self.chars))


class Quotas:
    """All keys of a server."""

    def __init__(self, settings: LimitSettings) -> None:
        self._settings = settings
        self._connections: Counter[str] = Counter()
        self._accounts: OrderedDict[str, Account] = OrderedDict()

    def __len__(self) -> int:
        """Keys of which something is kept."""
        return len(self._accounts)

    def connect(self, caller: Caller) -> None:
        """
        Count one more connection of a key; of a caller without one nothing is counted.

        Raises:
            Overloaded: it has as many as a key may have.
        """
        key, limits = caller.key_digest, self._settings
        if key and self._connections[key] >= limits.connections_per_key:
            raise Overloaded(
                f"this key has {limits.connections_per_key} connections already",
                retry_after=limits.retry_after_s, limit=limits.connections_per_key,
                name="connections_per_key",
            )  # fmt: skip
        if key:
            self._connections[key] += 1

    def disconnect(self, caller: Caller, now: float) -> None:
        """Count one less."""
        key = caller.key_digest
        if key:
            self._connections[key] -= 1
            if not self._connections[key]:
                del self._connections[key]
        else:
            self._accounts.pop(caller.session, None)
        self._forget(now)

    def meter(self, caller: Caller, now: float) -> Meter:
        """What a new connection is held to."""
        owner, limits = caller.key_digest or caller.session, self._settings
        account = self._accounts.get(owner)
        if account is None:
            requests = Bucket(limits.requests_per_s, limits.request_burst, now)
            chars = Bucket(limits.chars_per_s, limits.chars_burst, now)
            account = self._accounts[owner] = Account(requests, chars)
        return Meter(account, caller)

    def _forget(self, now: float) -> None:
        """Keys that have no connection and whose buckets are full again: an attempt for each that leaves."""
        for owner in list(self._accounts)[:2]:
            if owner not in self._connections and self._accounts[owner].full(now):
                del self._accounts[owner]
            else:
                self._accounts.move_to_end(owner)


class Meter:
    """
    One connection, held to its key's buckets and to its ticket.

    Args:
        account: of its key.
        caller: with its ticket.
    """

    def __init__(self, account: Account, caller: Caller) -> None:
        self._account, grant = account, caller.grant
        self._streams = grant.streams if grant else None
        self._chars = grant.chars if grant else None
        self._told_at: float | None = None

    def request(self, chars: int, now: float) -> None:
        """
        A request comes, with so many characters of text.

        Raises:
            RateLimited: too many requests, or too much text; it ends the stream alone.
            TooManyStreams, TextTooLong: beyond the connection's ticket.
        """
        if self._streams == 0:
            raise TooManyStreams("its ticket lets this connection ask for no more", limit=0, name="ticket")
        self._check(self._account.requests, 1, "requests", now)
        self._check_text(chars, now)
        self._account.requests.take(1, now)
        self._take_text(chars, now)
        if self._streams is not None:
            self._streams -= 1

    def text(self, chars: int, now: float) -> None:
        """
        More text of a request.

        Raises:
            RateLimited, TextTooLong: as of `request`.
        """
        self._check_text(chars, now)
        self._take_text(chars, now)

    def slow_down(self, now: float, message_room: float = 1.0) -> tuple[float, float] | None:
        """
        What a client that comes close to its limits is to be told, once a second at most.

        Args:
            message_room: share of its messages that is left, 0 to 1.

        Returns:
            Requests a second, seconds before the next; None: nothing need be told.
        """
        account = self._account
        requests, chars = account.requests, account.chars
        wait_s = max(requests.wait_s(LOW * requests.most, now), chars.wait_s(LOW * chars.most, now))
        wait_s = max(wait_s, AGAIN_S if message_room < LOW else 0.0)
        if wait_s == 0 or (self._told_at is not None and now - self._told_at < AGAIN_S):
            return None
        self._told_at = now
        return requests.rate, min(wait_s, AGAIN_S)

    def _check_text(self, chars: int, now: float) -> None:
        if self._chars is not None and chars > self._chars:
            raise TextTooLong(
                f"its ticket lets this connection say {self._chars} characters more", limit=self._chars,
                name="ticket",
            )  # fmt: skip
        self._check(self._account.chars, chars, "chars", now)

    def _take_text(self, chars: int, now: float) -> None:
        self._account.chars.take(chars, now)
        if self._chars is not None:
            self._chars -= chars

    def _check(self, bucket: Bucket, tokens: float, what: str, now: float) -> None:
        wait_s = bucket.wait_s(tokens, now)
        if wait_s:
            raise RateLimited(
                f"more than {bucket.rate:g} {what} a second", retry_after=wait_s, limit=bucket.rate,
                name=f"{what}_per_s",
            )  # fmt: skip
