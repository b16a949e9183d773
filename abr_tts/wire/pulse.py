"""
The clockwork of a connection: greeting and silence deadlines, pings, and the message rate.

Time is an argument. Says when something is due; who is told is the connection's affair.
"""

from __future__ import annotations

from ..errors import ConnectionFault, HelloTimeout, IdleTimeout, RateLimited
from .limits import Limits

PINGS_KEPT = 16
"""Pings whose answer is still awaited; a choice: 2 s apart, more than half a minute of round trip."""


class Pulse:
    """
    When the peer was heard, when it must be, and the round trip that its pongs show.

    Args:
        limits: `hello_s`, `idle_s`, `ping_s` and `pong_s` bind here.
        now: seconds, monotonic, as everywhere below.
        pings: whether this side pings on its own (a client does, once it is greeted).
        awaited: the peer's first message, for the words of an error.
    """

    def __init__(self, limits: Limits, now: float, *, pings: bool, awaited: str) -> None:
        self.rtt_ms: float | None = None
        self.now = now
        self._limits = limits
        self._pings, self._awaited = pings, awaited
        self._began = self._heard = now
        self._greeted = False
        self._every = limits.ping_s
        self._next = now
        self._count = 0
        self._unanswered: dict[int, float] = {}
        self._asked: float | None = None
        self._probes: set[int] = set()

    def heard(self, now: float) -> None:
        """Any message came."""
        self.now = self._heard = now
        self._asked = None

    def greeted(self, ping_s: float) -> None:
        """The peer's first message came, and wants a ping at least every `ping_s` (client side)."""
        self._greeted = True
        self._every = min(self._every, ping_s)
        self._next = self.now + self._every
        self.rtt_ms = (self.now - self._began) * 1000

    def ping(self, now: float) -> int:
        """A ping goes out: its value."""
        self._count += 1
        self._unanswered[self._count] = now
        self._unanswered.pop(self._count - PINGS_KEPT, None)
        self._asked = now if self._asked is None else self._asked
        self._next = now + self._every
        return self._count

    def probe(self) -> int:
        """A ping goes out that asks for no sign of life, and measures something else: its value."""
        self._count += 1
        self._probes.add(self._count)
        self._probes.discard(self._count - PINGS_KEPT)
        return self._count

    def pong(self, value: int) -> bool:
        """A pong came; one that answers no ping of ours says nothing. Whether it answers a probe."""
        sent = self._unanswered.pop(value, None)
        if sent is not None:
            self.rtt_ms = (self.now - sent) * 1000
        probed = value in self._probes
        self._probes.discard(value)
        return probed

    @property
    def ping_due(self) -> float:
        """When the next ping is due."""
        return self._next if self._pings and self._greeted else float("inf")

    @property
    def deadline(self) -> float:
        """When the peer counts as gone unless it is heard."""
        if not self._greeted:
            return self._began + self._limits.hello_s
        silence = self._heard + self._limits.idle_s
        return silence if self._asked is None else min(silence, self._asked + self._limits.pong_s)

    def fault(self) -> ConnectionFault:
        """The error of a deadline that has passed."""
        if not self._greeted:
            return HelloTimeout(f"no {self._awaited} within {self._limits.hello_s:g} s")
        return IdleTimeout(f"nothing heard for {self.deadline - self._heard:g} s")


class Bucket:
    """
    A token bucket over messages.

    Args:
        limits: `messages_per_s` and `message_burst` bind here.
        now: seconds, monotonic.
    """

    def __init__(self, limits: Limits, now: float) -> None:
        self._rate, self._most = limits.messages_per_s, float(limits.message_burst)
        self._tokens, self._at = self._most, now

    def take(self, now: float) -> None:
        """
        One message came.

        Raises:
            RateLimited: the bucket is empty; it is full again after `retry_after`.
        """
        self._fill(now)
        if self._tokens < 1:
            words = f"more than {self._rate:g} messages a second"
            raise RateLimited(words, retry_after=self._most / self._rate, limit=self._rate)
        self._tokens -= 1

    def room(self, now: float) -> float:
        """Share of it that is left, 0 to 1."""
        self._fill(now)
        return self._tokens / self._most

    def _fill(self, now: float) -> None:
        self._tokens = min(self._most, self._tokens + (now - self._at) * self._rate)
        self._at = now
