"""
One direction of an emulated link for a stream of bytes, sans-IO: bytes go in, the same bytes come
out, in order, later.

It takes a direction of a scenario and keeps its rate, delay, jitter and queue. A stream of bytes
cannot lose any, so nothing is dropped: a full queue takes no more (its sender waits, as TCP makes
it wait), and what a radio would lose in a `drop_window` is held until the window is over, as if
sent again. It knows no socket and no clock.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from random import Random

from ..control.ladder import SEGMENT_BYTES, SEGMENT_HEAD_BYTES
from ..errors import ConfigError
from ..sim.link import Capacity
from ..sim.scenario import Direction, Scenario

FULL_SEGMENT = SEGMENT_BYTES + SEGMENT_HEAD_BYTES
"""Bytes on the link of a full TCP segment: the queue takes no more while it has no room for one."""


CLEAR = Direction(((0.0, 1e9),), 0.0)
"""A direction that is none: faster than any machine."""


@dataclass(frozen=True, slots=True)
class _Segment:
    """On its way: when it has left the queue, when it is at the other end, its size on the link."""

    leaves: float
    arrives: float
    size: int
    data: bytes


class Path:
    """
    Times are seconds on the caller's clock and never go back; sizes are payload bytes.

    ```
    path.push(data[: path.room(now)], now)
    sink.write(path.pull(now))
    timer = path.get_timer()              # something has arrived, or there is room again
    ```

    Args:
        direction: what it is like; `loss` and `bursts` are not emulated (see `not_emulated`).
        period: seconds after which the direction's schedule begins anew.
        seed: text from which the jitter comes.
        now: the schedule's second 0.

    Raises:
        ConfigError: the drop windows leave no time at all.
    """

    def __init__(self, direction: Direction, period: float, seed: str, now: float) -> None:
        self._direction, self._period = direction, period
        self._chance = Random(seed).random
        self._queue: deque[_Segment] = deque()
        self._travelling: deque[_Segment] = deque()
        self._queued = 0
        self._last_arrival = now
        self.restart(now)

    def restart(self, now: float) -> None:
        """The schedule begins at its second 0; what is under way arrives as it would have."""
        self._capacity = Capacity(_held(self._direction, self._period), self._period)
        self._origin = self._free_at = now

    def steer(self, direction: Direction, now: float) -> None:
        """
        From now on it is like `direction`, from that one's second 0.

        What waits in the queue leaves at the new rate, the segment that is leaving from its beginning;
        what travels arrives as it would have.
        """
        self._serve(now)
        self._direction, self._queued = direction, 0
        waiting = [segment.data for segment in self._queue]
        self._queue.clear()
        self._last_arrival = max((segment.arrives for segment in self._travelling), default=now)
        self.restart(now)
        for data in waiting:
            self._enter(data, now)

    def clear(self, now: float) -> None:
        """From now on it is no obstacle: everything arrives at once, what is under way with it."""
        self._direction = CLEAR
        self._queued, self._last_arrival = 0, now
        here = [replace(segment, arrives=now) for segment in (*self._travelling, *self._queue)]
        self._queue.clear()
        self._travelling = deque(here)
        self.restart(now)

    def room(self, now: float) -> int:
        """Payload bytes that may enter at `now`, in whole segments."""
        self._serve(now)
        return (self._direction.queue_bytes - self._queued) // FULL_SEGMENT * SEGMENT_BYTES

    def push(self, data: bytes, now: float) -> None:
        """Bytes enter, cut into TCP segments, each with its headers on the link."""
        for begin in range(0, len(data), SEGMENT_BYTES):
            self._enter(data[begin : begin + SEGMENT_BYTES], now)

    def pull(self, now: float) -> bytes:
        """What has arrived and was not pulled yet."""
        self._serve(now)
        arrived = []
        while self._travelling and self._travelling[0].arrives <= now:
            arrived.append(self._travelling.popleft().data)
        return b"".join(arrived)

    @property
    def empty(self) -> bool:
        """Whether nothing is under way."""
        return not self._queue and not self._travelling

    def get_timer(self, waiting: bool = False) -> float | None:
        """
        When to look again; None: not before the next `push`.

        Args:
            waiting: somebody wants to push and there was no room.
        """
        first = self._travelling or self._queue
        times = [first[0].arrives] if first else []
        if waiting and self._queue:
            times.append(self._queue[0].leaves)
        return min(times, default=None)

    def _enter(self, data: bytes, now: float) -> None:
        size = len(data) + SEGMENT_HEAD_BYTES
        begin = max(now, self._free_at) - self._origin
        leaves = self._free_at = self._origin + self._capacity.serve(begin, size)
        arrives = leaves + self._direction.delay_s
        if self._direction.jitter_s:
            arrives += self._direction.jitter_s * (2 * self._chance() - 1)
        self._last_arrival = max(leaves, arrives, self._last_arrival)
        self._queue.append(_Segment(leaves, self._last_arrival, size, data))
        self._queued += size

    def _serve(self, now: float) -> None:
        """Move what has left the queue by `now` to what travels."""
        while self._queue and self._queue[0].leaves <= now:
            segment = self._queue.popleft()
            self._queued -= segment.size
            self._travelling.append(segment)


def not_emulated(scenario: Scenario) -> list[str]:
    """What of `scenario` a relay of bytes cannot do, one clause each; empty if it does it all."""
    found = []
    if any(way.loss or way.bursts for way in (scenario.down, scenario.up)):
        found.append("lost packets (TCP would send them again, later and more slowly)")
    if any(way.drop_windows for way in (scenario.down, scenario.up)):
        found.append("packets dropped in an outage (they are held instead)")
    return found


def _held(direction: Direction, period: float) -> tuple[tuple[float, float], ...]:
    """The direction's rate, with 0 in its drop windows."""
    windows = direction.drop_windows
    edges = {at for at, _ in direction.rate} | {edge for window in windows for edge in window}
    rate = tuple(
        (at, 0.0 if any(begin <= at < end for begin, end in windows) else direction.kbps_at(at))
        for at in sorted(edges)
    )
    if not any(kbps for at, kbps in rate if at < period):
        raise ConfigError("drop_windows: cover all the time, so nothing would ever arrive")
    return rate
