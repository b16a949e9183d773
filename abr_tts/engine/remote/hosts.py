"""
The servers that speak for us: which one is asked next, and which are left alone for a while.

A circuit breaker for each address: `failures` failures in a row open it for `open_s`; then one
request is let through, and by its end the breaker closes or opens again. Pure: time is an argument.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Optional

CLOSED, OPEN, HALF_OPEN, RESTING = "closed", "open", "half-open", "resting"
"""States of a server: asked as usual; not asked, because it failed; asked by one request at a time, on
trial; not asked, because it said when to come back."""

PATIENCE_S = 2.0
"""Rest of a server that requests sit out in the queue; before a longer one they are refused. A guess."""


@dataclass(frozen=True)
class Rules:
    """
    When a server is left alone.

    Args:
        parallel: requests that it is given at once, 1 or more.
        failures: in a row, after which its breaker opens, 1 or more.
        open_s: seconds until it is tried again.
    """

    parallel: int = 1
    failures: int = 5
    open_s: float = 10.0


@dataclass(frozen=True)
class HostStats:
    """A moment of one server; from `served` on, totals."""

    url: str
    state: str
    busy: int
    failures: int
    """In a row, up to now."""
    served: int
    """Requests that it was given."""
    opened: int
    """How often its breaker has opened."""
    last_reason: str


class Host:
    """One server. `url` is how it is asked; nothing here asks it."""

    def __init__(self, url: str, rules: Rules) -> None:
        self.url = url
        self.busy = 0
        self.served = 0
        self.opened = 0
        self.last_reason = ""
        self._rules = rules
        self._failures = 0
        self._on_trial = False
        self._shut_until = self._rest_until = float("-inf")

    def state(self, now: float) -> str:
        """One of the four above."""
        if now < self._shut_until:
            return OPEN
        if now < self._rest_until:
            return RESTING
        return HALF_OPEN if self._on_trial else CLOSED

    def places(self, now: float) -> int:
        """Requests that it may have at once."""
        state = self.state(now)
        return self._rules.parallel if state == CLOSED else int(state == HALF_OPEN)

    def wait(self, now: float) -> float:
        """Seconds until it may be asked again, 0 if at once."""
        return max(0.0, self._shut_until - now, self._rest_until - now)

    def refuses_for(self, now: float) -> float:
        """The same, but 0 for a rest so short that requests sit it out."""
        wait = self.wait(now)
        return wait if now < self._shut_until or wait > PATIENCE_S else 0.0

    def enter(self) -> None:
        """It is given a request."""
        self.busy += 1
        self.served += 1

    def leave(self) -> None:
        """The request is over, however it ended; `succeeded` or `failed` says how, if that is known."""
        self.busy -= 1

    def succeeded(self) -> None:
        """A request was answered: the server is well."""
        self._failures = 0
        self._on_trial = False

    def failed(self, now: float, reason: str) -> bool:
        """A request was not, and that was the server's fault. Returns whether the breaker opens by it."""
        self.last_reason = reason
        self._failures += 1  # which an open breaker does not forget: on trial one more is enough
        if now < self._shut_until or self._failures < self._rules.failures:
            return False
        self._shut_until = now + self._rules.open_s
        self._on_trial = True
        self.opened += 1
        return True

    def rest(self, now: float, seconds: float) -> None:
        """The server has asked to be left alone: no fault of its health, so no trial afterwards."""
        self._rest_until = max(self._rest_until, now + seconds)

    def stats(self, now: float) -> HostStats:
        """Where it stands."""
        return HostStats(
            self.url, self.state(now), self.busy, self._failures, self.served, self.opened, self.last_reason
        )


class Hosts:
    """All of them; the least busy one is asked next."""

    def __init__(self, urls: Sequence[str], rules: Rules) -> None:
        if not urls:
            raise ValueError("no server is named")
        self.rules = rules
        self.all = [Host(url, rules) for url in urls]

    def pick(self, now: float, avoid: Container[Host] = ()) -> Optional[Host]:
        """
        The least busy one that may have a request, of those the least asked; None: all are full or shut.

        Args:
            avoid: taken only where there is no other: a request has failed there already.
        """
        free = [host for host in self.all if host.busy < host.places(now)]
        return min(free, key=lambda host: (host in avoid, host.busy, host.served), default=None)

    def places(self, now: float) -> int:
        """Requests that may run at once; a short rest counts as none."""
        resting = (self.rules.parallel for host in self.all if host.wait(now) and not host.refuses_for(now))
        return sum(host.places(now) for host in self.all) + sum(resting)

    def refuse_for(self, now: float) -> float:
        """Seconds for which every server is shut, so that nobody need wait; else 0."""
        return min(host.refuses_for(now) for host in self.all)

    def wait(self, now: float) -> float:
        """Seconds until one of them may be asked again, however short; 0 if one may now."""
        return min(host.wait(now) for host in self.all)

    def next_change(self, now: float) -> Optional[float]:
        """Seconds until the first server that is left alone may be asked again; None: none is."""
        return min((wait for host in self.all if (wait := host.wait(now)) > 0), default=None)
