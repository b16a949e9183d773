"""
One acknowledgement clock: what was sent when, what has arrived, and what that says of the rate.

There are two such clocks, the listener's reports and the kernel's queue; this is either. Each
message is *due* one round trip after it went out. Whatever was due by some moment and has
arrived by now was carried in between, so every such moment gives a lower bound of the rate,
and the greatest of them is a sample. It is exact if more was due and has not arrived: then the
link was the limit. Else the sender had nothing to send; so a slow engine is never taken for a
slow network.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from .ladder import wire_bytes

LEAST_SPAN_S = 0.01
"""Shortest time that a sample is taken to cover: below it jitter (3 ms each way on a quiet radio
link) is most of it. 10 ms of 2 Mbit/s are 2.5 kB, about one message."""

BUSY_SLACK_S = 0.02
"""Beyond a round trip, and what an acknowledgement may wait, something may be missing for so long
without a queue: jitter (a guess)."""

TELLING_BYTES = 2_000
"""Bytes on the wire from which a lower bound says anything: a burst of less than two segments is
mostly delay, and a report of it may wait (protocol, "hint")."""

TELLING_S = 0.2
"""Seconds from which a busy link's rate is exact, however little it carried: two reports."""

WINDOW_S = 0.3
"""Seconds without progress from which silence bounds the rate: the first sign of trouble (measured:
0.15 to 0.3 s on paths from 40 kbit/s to 2 Mbit/s)."""

APART_S = 0.05
"""A report that comes so soon after another was held up on its way, since a listener makes none within
100 ms (protocol, "hint"): what both tell of came in the time before. Half of that."""

MOST_MESSAGES = 1_024
"""Messages of which a clock keeps the time; more are on their way only where the clock never ticks
(there is no kernel to ask, or a listener who does not report), and then it counts them as arrived."""


class Sample(NamedTuple):
    """
    A look at the rate over so many seconds.

    Args:
        kbps: what the link carried.
        exact: it could not have carried more; else `kbps` is a lower bound.
        most_kbps: that it could not have carried more than, as far as one can tell.
    """

    kbps: float
    seconds: float
    exact: bool
    most_kbps: float = math.inf


@dataclass(frozen=True, slots=True)
class Habit:
    """
    When an acknowledgement is made of what has arrived.

    Args:
        lag_s: at the latest after so long.
        prompt_bytes: or, once so much has come, ...
        prompt_lag_s: ... after so long.
        whole: it counts whole messages, and nothing of one that is under way.
        held_s: of what has arrived, it may leave out what came so late.
    """

    lag_s: float
    prompt_bytes: int
    prompt_lag_s: float
    whole: bool
    held_s: float


REPORTS = Habit(0.25, 2_000, 0.1, True, 0.0)
"""A listener's (protocol, "hint")."""

KERNEL = Habit(0.04, 0, 0.04, False, 0.04)
"""A receiving kernel's (Linux TCP_DELACK_MIN)."""


class _Message(NamedTuple):
    """On its way: its place in the clock's count, its bytes on the wire, when it went out."""

    begin: int
    end: int
    wire: int
    at: float
    blind: bool

    def share(self, begin: int, end: int) -> float:
        """Wire bytes of the part of it that lies between two positions."""
        if begin <= self.begin and end >= self.end:
            return self.wire
        inside = min(end, self.end) - max(begin, self.begin)
        return self.wire * max(0, inside) / (self.end - self.begin)


class AckClock:
    """
    Positions are bytes in this clock's own count; times are seconds. A round trip is given with
    each question, because it is learned meanwhile.
    """

    def __init__(self, habit: Habit) -> None:
        self._habit = habit
        self.position = 0
        """Acknowledged so far."""
        self.sent_total = 0
        """Sent so far."""
        self._pending: deque[_Message] = deque()
        self._parts: list[tuple[float, float]] = []
        """(due, wire bytes) of what has arrived and is in no sample yet."""
        self._mark = 0.0
        self._under_way = False
        """The first of the parts was under way at the mark: some of it had arrived by then."""
        self._moved_at = 0.0
        self._counted = self._parts, self._mark, self._under_way
        """What the last sample was made of."""

    def sent(self, size: int, payload: int, now: float, blind: bool = False) -> None:
        """
        A message went out.

        Args:
            size: in this clock's count.
            payload: of the WebSocket message.
            blind: when it really went out is not known.
        """
        begin, self.sent_total = self.sent_total, self.sent_total + size
        self._pending.append(_Message(begin, self.sent_total, wire_bytes(payload), now, blind))
        if len(self._pending) > MOST_MESSAGES:
            self.position = max(self.position, self._pending.popleft().end)

    def acked(self, position: int, short_rtt_s: float, long_rtt_s: float, now: float) -> Sample | None:
        """
        Everything up to `position` has arrived; a sample, if that says anything of the rate.

        Args:
            short_rtt_s, long_rtt_s: the round trip, rather too short and rather too long.
        """
        before = self.position
        self.position = max(before, min(position, self.sent_total))
        if self.position == before:
            return None
        self._moved_at = now
        if self._habit.whole and now - self._mark < APART_S:
            self._parts, self._mark, self._under_way = self._counted
        self._take(before, short_rtt_s)
        slack_s = long_rtt_s + BUSY_SLACK_S + self._habit.held_s
        busy = bool(self._pending) and now - self._pending[0].at > slack_s
        sample = self._sample(busy, now)
        if not busy or (sample is not None and sample.kbps):
            self._counted = self._parts, self._mark, self._under_way
            self._parts, self._mark, self._under_way = [], now, False
        return sample

    def _take(self, before: int, rtt_s: float) -> None:
        """Move what has arrived since the position `before` to the parts."""
        while self._pending and self._pending[0].begin < self.position:
            message = self._pending[0]
            if message.blind:
                self._parts.clear()  # nothing is known of it, nor of what was before it
            else:
                due = message.at + rtt_s
                self._under_way = self._under_way or (not self._parts and due < self._mark)
                self._parts.append((max(due, self._mark), message.share(before, self.position)))
            if message.end > self.position:
                break
            self._pending.popleft()

    def _sample(self, busy: bool, now: float) -> Sample | None:
        """
        The greatest rate that some moment gives; None when none says anything.

        It is exact if the link was busy from that moment on: it is now, and no later moment,
        though it says too little by itself, gives a greater rate.
        """
        best = small = size = seconds = 0.0
        # A message under way at the mark is made up for by one that is under way now, if there is one.
        skipped = 1 if self._under_way and self._habit.whole and not busy else 0
        for due, wire in reversed(self._parts[skipped:]):
            size += wire
            span = now - due
            if span < 0:
                continue
            rate = size / max(span, LEAST_SPAN_S)
            if size < TELLING_BYTES and not (busy and span >= TELLING_S):
                small = max(small, rate)
            elif rate > best:
                best, seconds = rate, span
        next_size = self._pending[0].wire if busy and self._habit.whole else 0
        if not best or size < next_size:
            # The message under way, of which nothing is counted, is most of it: wait for it.
            return self._bound(size + next_size, now) if next_size else None
        return Sample(best * 8 / 1000, seconds, busy and best >= small)

    def _bound(self, size: float, now: float) -> Sample | None:
        """An upper bound: since the first part was due, no more than `size` has been carried."""
        seconds = now - self._parts[0][0] if self._parts else 0.0
        return Sample(0.0, seconds, False, size * 8 / 1000 / seconds) if seconds >= TELLING_S else None

    @property
    def on_the_way(self) -> int:
        """Bytes sent and not acknowledged, in this clock's count."""
        return self.sent_total - self.position

    def overdue_s(self, rtt_s: float, now: float) -> float:
        """How long an acknowledgement is overdue by this clock's habit; below 0: none is."""
        if not self._pending:
            return -1.0
        habit, first = self._habit, self._pending[0]
        late = now - first.at - rtt_s - habit.lag_s
        for message in self._pending:
            if message.end - self.position >= habit.prompt_bytes:
                return max(late, now - message.at - rtt_s - habit.prompt_lag_s)
            if message.at + rtt_s > now:
                break
        return late

    def silent_s(self, rtt_s: float, now: float) -> float:
        """Seconds without progress in which there should have been some; below 0: none was due."""
        if not self._pending:
            return -1.0
        return now - max(self._moved_at, self._pending[0].at + rtt_s) - self._habit.lag_s

    def ceiling_kbps(self, rtt_s: float, now: float) -> float:
        """
        What the link carries at most, as silence shows it; infinite if it shows nothing.

        Since the last progress it has carried no more than the message that it is carrying.
        """
        silent = self.silent_s(rtt_s, now)
        if silent <= 0 or silent + self._habit.lag_s < WINDOW_S:
            return math.inf
        first = self._pending[0]
        return first.share(self.position, first.end) * 8 / 1000 / silent
