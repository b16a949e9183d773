"""
What all connections share: how many there may be, how many streams, and which ids were used.

Counting only; what a limit is called on the wire stands in `errors`, and one connection's own
limits stand in `wire.limits`. Time is an argument.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from ...errors import Busy, DuplicateStream, Overloaded
from ..config import LimitSettings


class StreamIds:
    """
    The ids of streams that live or lived lately, so that none is synthesised twice.

    Args:
        capacity: past ids that are remembered at most; the oldest are forgotten first.
        keep_s: seconds that a past id is remembered.
    """

    def __init__(self, capacity: int, keep_s: float) -> None:
        self._capacity, self._keep_s = capacity, keep_s
        self._live: set[str] = set()
        self._past: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        """Ids held, live and past."""
        return len(self._live) + len(self._past)

    def claim(self, stream_id: str, now: float) -> None:
        """
        Take the id for a stream that starts now.

        Raises:
            DuplicateStream: another stream has it, or had it within `keep_s`.
        """
        self._forget(now)
        if stream_id in self._live:
            raise DuplicateStream(f"stream {stream_id} is being spoken already")
        if stream_id in self._past:
            raise DuplicateStream(f"stream {stream_id} was spoken already; take a new id")
        self._live.add(stream_id)

    def end(self, stream_id: str, now: float) -> None:
        """The stream is over; its id stays taken for a while."""
        self._live.discard(stream_id)
        self._past[stream_id] = now + self._keep_s
        self._forget(now)

    def _forget(self, now: float) -> None:
        while self._past:
            oldest, until = next(iter(self._past.items()))
            if until > now and len(self._past) <= self._capacity:
                return
            del self._past[oldest]


class Admission:
    """
    Counts connections and streams of the whole server, and refuses beyond the limits.

    Args:
        on_idle: called whenever the last stream has been sent.
    """

    def __init__(self, settings: LimitSettings, on_idle: Callable[[], None] = lambda: None) -> None:
        self._settings, self._on_idle = settings, on_idle
        self.connections = 0
        self.streams = 0
        """Streams that are being made or sent; those that only sound on at the listener are not."""

    def connect(self) -> None:
        """
        Count one more connection.

        Raises:
            Overloaded: there are as many as there may be.
        """
        if self.connections >= self._settings.connections:
            raise Overloaded(
                f"the server has {self._settings.connections} connections already",
                retry_after=self._settings.retry_after_s,
            )
        self.connections += 1

    def disconnect(self) -> None:
        """Count one less."""
        self.connections -= 1

    def start(self, *, workers_ready: int, clauses_waiting: int) -> None:
        """
        Count one more stream.

        Args:
            workers_ready: engine processes that live and have loaded.
            clauses_waiting: clauses that no worker has taken yet.

        Raises:
            Busy: no engine is ready, too much waits, or there are as many streams as there may be.
        """
        limits = self._settings
        if workers_ready == 0:
            reason, name = "no engine is ready yet", ""
        elif clauses_waiting > limits.waiting_clauses:
            reason = f"{clauses_waiting} clauses wait for an engine already"
            name = "waiting_clauses"
        elif self.streams >= limits.streams:
            reason = f"the server speaks {limits.streams} streams already"
            name = "streams"
        else:
            self.streams += 1
            return
        named = {"name": name} if name else {}
        raise Busy(f"{reason}; try again later", retry_after=limits.retry_after_s, **named)

    def finish(self) -> None:
        """Count one less."""
        self.streams -= 1
        if self.streams == 0:
            self._on_idle()
