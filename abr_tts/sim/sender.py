"""
The sending half of TCP: what goes next, what is lost, when to try again.

As Linux does it, as far as a stream of speech meets it: selective acknowledgements with RACK's
rule (on a path that does not reorder, what was sent before something that arrived is lost), a
tail loss probe, time-outs with a cap, and taking a time-out back when it proves to be none
(the packets were held, not lost). It counts bytes of one stream; it must not know messages.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

from .cubic import Cubic

MSS = 1448
"""Bytes of payload in a full packet: an MTU of 1500 less IP and TCP with time stamps."""

RTO_MIN_S = 0.2
"""Least allowance over the smoothed round trip (Linux TCP_RTO_MIN)."""

RTO_FIRST_S = 1.0
"""Time-out before any round trip is known (RFC 6298 section 2): where no handshake told one."""

DUPLICATES = 3
"""Packets that arrived beyond a hole before it counts as lost without waiting (RFC 5681)."""

OPEN, RECOVERY, LOSS = range(3)


class Segment:
    """A packet's payload on its way: bytes `begin` to `end`, last sent as transmission `tx`."""

    __slots__ = ("again", "arrived", "begin", "end", "lost", "sent_at", "tx")

    def __init__(self, begin: int, end: int, tx: int, sent_at: float) -> None:
        self.begin, self.end, self.tx, self.sent_at = begin, end, tx, sent_at
        self.again = self.arrived = self.lost = False


class Sender:
    """
    Args:
        emit: called with (begin, end, tx, now) to put a packet on the wire.
        rto_max_s: cap of the time-out (TCP_RTO_MAX_MS).
    """

    def __init__(self, emit: Callable[[int, int, int, float], None], rto_max_s: float) -> None:
        self._emit, self._rto_max = emit, rto_max_s
        self.una = self.nxt = self.written = 0
        """Bytes acknowledged, sent once, and written by the application."""
        self.min_rtt = math.inf
        """Seconds; infinite before the first sample."""
        self.alarm: float | None = None
        """When `handle_timer` wants to be called."""
        self.timeouts = self.retransmitted = 0
        """Time-outs taken; packets sent again."""
        self._cubic = Cubic()
        self._flight: deque[Segment] = deque()
        self._lost = self._arrived = 0
        self._tx = self._newest = 0
        self._state, self._high = OPEN, 0
        self._srtt = self._rttvar = 0.0
        self._backoff = 0
        self._probed = False
        self._probe_next = False
        self._reorder_at = math.inf
        self._sent_at = 0.0
        self._limited = False
        self._most_out = 0
        self._most_end = 0

    @property
    def unsent(self) -> int:
        """Bytes that were written and never sent (SIOCOUTQNSD)."""
        return self.written - self.nxt

    @property
    def unacked(self) -> int:
        """Bytes that were written and are not acknowledged (SIOCOUTQ)."""
        return self.written - self.una

    @property
    def on_the_way(self) -> int:
        """Packets believed to be between here and there."""
        return len(self._flight) - self._arrived - self._lost

    @property
    def window(self) -> float:
        """The congestion window, in packets."""
        return self._cubic.window

    # ------------------------------------------------------------ inputs

    def greet(self, round_trip_s: float) -> None:
        """The handshake took so long: the first round trip that is known."""
        self._measure(round_trip_s, round_trip_s)

    def write(self, size: int, now: float) -> None:
        """The application wrote `size` bytes; they go as soon as the window allows (no Nagle)."""
        if not self._flight and now - self._sent_at > self._rto():
            self._cubic.idled(now - self._sent_at, self._rto())
        self.written += size
        self._push(now)

    def acknowledged(self, una: int, newest: int, holes: tuple[tuple[int, int], ...], now: float) -> None:
        """
        An acknowledgement.

        Args:
            una: bytes that arrived without a hole.
            newest: the transmission that it answers.
            holes: (begin, end) of what arrived beyond the first hole.
        """
        self._newest = max(self._newest, newest)
        before = len(self._flight) - self._arrived
        if una > self.una:
            self._advance(una, newest, now)
        if holes:
            self._select(holes)
        fresh = before - (len(self._flight) - self._arrived)
        if fresh:
            self._find_lost(now)
        if self._state != OPEN and self.una >= self._high:
            self._state = OPEN
        if fresh and self._limited and self._state != RECOVERY:
            self._cubic.acked(fresh, now, self._srtt, self.min_rtt)
        self._push(now)

    def handle_timer(self, now: float) -> None:
        """The time of `alarm` has come."""
        self.alarm = None
        if now >= self._reorder_at:
            self._reorder_at = math.inf
            self._declare_lost()
            self._push(now)
            self._arm(now)
        elif self._flight and self._probe_next:
            self._probe(now)
        elif self._flight:
            self._time_out(now)

    # ------------------------------------------------------------ acknowledgements

    def _advance(self, una: int, newest: int, now: float) -> None:
        flight = self._flight
        oldest = latest = -1.0
        spurious = False
        while flight and flight[0].end <= una:
            segment = flight.popleft()
            self._lost -= segment.lost
            self._arrived -= segment.arrived
            if segment.again:
                spurious = spurious or newest < segment.tx
            elif not segment.arrived:
                latest = segment.sent_at
                oldest = latest if oldest < 0 else oldest
        self.una = una
        self._backoff = 0
        self._probed = False
        if latest >= 0:
            self._measure(now - oldest, now - latest)
        if spurious and self._state != OPEN:
            self._take_back()
        self._arm(now)

    def _measure(self, rtt: float, fresh_rtt: float) -> None:
        """Smooth as RFC 6298 does; the freshest sample has no delayed acknowledgement in it."""
        if self._srtt:
            self._rttvar += (abs(rtt - self._srtt) - self._rttvar) / 4
            self._srtt += (rtt - self._srtt) / 8
        else:
            self._srtt, self._rttvar = rtt, rtt / 2
        self.min_rtt = min(self.min_rtt, fresh_rtt)
        self._cubic.round_trip(fresh_rtt, self.min_rtt, self.una, self.nxt)

    def _select(self, holes: tuple[tuple[int, int], ...]) -> None:
        for segment in self._flight:
            if not segment.arrived and any(b <= segment.begin and segment.end <= e for b, e in holes):
                segment.arrived = True
                self._arrived += 1
                self._lost -= segment.lost
                segment.lost = False

    def _find_lost(self, now: float) -> None:
        if not self._arrived and self._state == OPEN:
            self._reorder_at = math.inf
            return
        if self._state != OPEN or self._arrived >= DUPLICATES:
            self._declare_lost()
        elif self._reorder_at == math.inf:
            self._reorder_at = now + self.min_rtt / 4
            self.alarm = min(self._reorder_at, self.alarm or math.inf)

    def _declare_lost(self) -> None:
        """On a path that keeps the order, what was sent before the newest arrival is lost."""
        found = 0
        for segment in self._flight:
            if segment.tx < self._newest and not segment.arrived and not segment.lost:
                segment.lost = True
                found += 1
        self._lost += found
        if found and self._state == OPEN:
            self._state, self._high = RECOVERY, self.nxt
            self._cubic.lost(timeout=False)

    def _take_back(self) -> None:
        """The original arrived, so what looked lost was only late."""
        self._cubic.undo()
        for segment in self._flight:
            segment.lost = False
        self._lost = 0
        self._state = OPEN

    # ------------------------------------------------------------ timers

    def _rto(self) -> float:
        base = self._srtt + max(RTO_MIN_S, 4 * self._rttvar) if self._srtt else RTO_FIRST_S
        return min(base * (1 << self._backoff), self._rto_max)

    def _arm(self, now: float) -> None:
        """Wait for a tail loss probe first, then for the time-out (RFC 8985 section 7.2)."""
        self._probe_next = False
        if not self._flight:
            self.alarm = None
            return
        wait = self._rto()
        if self._state == OPEN and not self._arrived and not self._probed and self._srtt:
            probe = 2 * self._srtt + (RTO_MIN_S if len(self._flight) == 1 else 0.002)
            if probe < wait:
                wait, self._probe_next = probe, True
        self.alarm = min(now + wait, self._reorder_at)

    def _probe(self, now: float) -> None:
        self._probed, self._probe_next = True, False
        if self.written > self.nxt:
            self._send_new(now)
        else:
            self._send_again(self._flight[-1], now)
        self._arm(now)

    def _time_out(self, now: float) -> None:
        self.timeouts += 1
        if self._state != LOSS:
            self._cubic.lost(timeout=True)
        self._cubic.window = 1.0
        self._state, self._high = LOSS, self.nxt
        self._lost = 0
        for segment in self._flight:
            segment.lost = not segment.arrived
            self._lost += segment.lost
        self._backoff = min(self._backoff + 1, 16)
        self._reorder_at = math.inf
        self._push(now)
        self._arm(now)

    # ------------------------------------------------------------ out

    def _push(self, now: float) -> None:
        """Send what the window allows: the lost first."""
        if self._lost or self.written > self.nxt:
            room = int(self._cubic.window) - self.on_the_way
            if self._lost and room > 0:
                room -= self._send_lost(room, now)
            while room > 0 and self.written > self.nxt:
                self._send_new(now)
                room -= 1
        self._note_limit()

    def _send_lost(self, most: int, now: float) -> int:
        """Send up to `most` lost packets again, the first first."""
        count = 0
        for segment in self._flight:
            if segment.lost:
                self._send_again(segment, now)
                count += 1
                if count == most:
                    break
        return count

    def _note_limit(self) -> None:
        """The window grows only while it is what limits the sender (tcp_is_cwnd_limited)."""
        out = len(self._flight) - self._arrived - self._lost
        if self.una >= self._most_end or out > self._most_out:
            self._most_out, self._most_end = out, self.nxt
        cubic = self._cubic
        self._limited = (
            self._lost > 0
            or self.written > self.nxt
            or cubic.window < min(cubic.threshold, 2 * self._most_out)
        )

    def _send_new(self, now: float) -> None:
        end = min(self.written, self.nxt + MSS)
        self._tx += 1
        self._flight.append(Segment(self.nxt, end, self._tx, now))
        begin, self.nxt = self.nxt, end
        self._sent_at = now
        if self.alarm is None or self._probe_next:
            self._arm(now)
        self._emit(begin, end, self._tx, now)

    def _send_again(self, segment: Segment, now: float) -> None:
        self._tx += 1
        self.retransmitted += 1
        self._lost -= segment.lost
        segment.tx, segment.sent_at, segment.again, segment.lost = self._tx, now, True, False
        self._sent_at = now
        if self.alarm is None:
            self._arm(now)
        self._emit(segment.begin, segment.end, self._tx, now)
