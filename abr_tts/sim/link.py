"""
One direction of a network, sans-IO: a packet goes in, and when it comes out is told at once.

Capacity is a piecewise constant function of time and the queue is first in, first out, so a
packet's departure is known when it enters: no event is needed for the queue. It knows bytes and
times; it must not know what is in a packet. Loss and drop windows strike when a packet leaves
the queue, as on the air; a capacity of 0 holds what waits.
"""

from __future__ import annotations

from collections import deque
from random import Random

from .scenario import Bursts, Direction


class Capacity:
    """
    How long bytes take to be served: exact across changes of the rate, repeated every round.

    Args:
        rate: (second, kbit/s) steps, the first at 0, not all of them 0.
        period: seconds of one round.
    """

    def __init__(self, rate: tuple[tuple[float, float], ...], period: float) -> None:
        steps = [(at, kbps * 125.0) for at, kbps in rate if at < period]
        self._ends = [at for at, _ in steps[1:]] + [period]
        self._speeds = [speed for _, speed in steps]
        self._index = 0
        self._round = 0.0
        self._period = period

    def serve(self, begin: float, size: int) -> float:
        """When `size` bytes that are begun at `begin` are through; `begin` never goes back."""
        while begin >= self._round + self._ends[self._index]:
            self._step()
        at, left = begin, float(size)
        while True:
            end = self._round + self._ends[self._index]
            speed = self._speeds[self._index]
            if speed > 0:
                done = at + left / speed
                if done <= end:
                    return done
                left -= (end - at) * speed
            at = end
            self._step()

    def _step(self) -> None:
        self._index += 1
        if self._index == len(self._ends):
            self._index = 0
            self._round += self._period


class Weather:
    """Loss in bursts of time: whether a spell is bad at a given moment."""

    def __init__(self, bursts: Bursts, rng: Random) -> None:
        self._bursts, self._rng = bursts, rng
        self._bad = False
        self._until = rng.expovariate(1 / bursts.good_s)

    def loss(self, at: float) -> float:
        """Share of packets lost at `at`, which never goes back."""
        while at >= self._until:
            self._bad = not self._bad
            mean = self._bursts.bad_s if self._bad else self._bursts.good_s
            self._until += self._rng.expovariate(1 / mean)
        return self._bursts.bad if self._bad else self._bursts.good


class Link:
    """
    Args:
        direction: what it is like.
        period: seconds after which the direction's schedule begins anew.
        seed: text from which its chances come; bursts of loss do not depend on the packets sent.
    """

    def __init__(self, direction: Direction, period: float, seed: str) -> None:
        self._direction, self._period = direction, period
        self._capacity = Capacity(direction.rate, period)
        self._weather = Weather(direction.bursts, Random(f"{seed}/bursts")) if direction.bursts else None
        self._chance = Random(f"{seed}/packets").random
        self._queue: deque[tuple[float, int]] = deque()
        self._queued = 0
        self._free_at = 0.0
        self._last_arrival = 0.0
        self._lossy = bool(direction.loss or direction.drop_windows or direction.bursts)
        self.sent_packets = self.sent_bytes = 0
        """What was offered to the link."""
        self.dropped = self.lost = 0
        """Packets that found the queue full; packets that were lost on the way."""

    def send(self, size: int, now: float) -> float | None:
        """
        A packet of `size` bytes enters at `now`, which never goes back.

        Returns:
            When it arrives at the other end; None: it does not.
        """
        self.sent_packets += 1
        self.sent_bytes += size
        if self.queued_bytes(now) + size > self._direction.queue_bytes:
            self.dropped += 1
            return None
        leaves = self._free_at = self._capacity.serve(max(now, self._free_at), size)
        self._queue.append((leaves, size))
        self._queued += size
        if self._lossy and self._is_lost(leaves):
            self.lost += 1
            return None
        arrives = leaves + self._direction.delay_s
        jitter = self._direction.jitter_s
        if jitter:
            arrives = max(leaves, arrives + jitter * (2 * self._chance() - 1))
        self._last_arrival = max(arrives, self._last_arrival)
        return self._last_arrival

    def queued_bytes(self, now: float) -> int:
        """Bytes that wait or are being served at `now`."""
        queue = self._queue
        if now >= self._free_at:
            if queue:
                queue.clear()
                self._queued = 0
        else:
            while queue[0][0] <= now:
                self._queued -= queue.popleft()[1]
        return self._queued

    def _is_lost(self, leaves: float) -> bool:
        direction = self._direction
        at = leaves % self._period
        if any(begin <= at < end for begin, end in direction.drop_windows):
            return True
        if direction.loss and self._chance() < direction.loss:
            return True
        if self._weather:
            share = self._weather.loss(leaves)
            return share > 0 and self._chance() < share
        return False
