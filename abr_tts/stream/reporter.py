"""
The receiver report: when a listener says what it has, and what it says.

A server cannot see past a proxy, so these reports are its clock: what was received is the
end-to-end acknowledgement, what was played frees its memory. This room decides when a report
is due and fills it in. It knows no clock and no socket: time is an argument, and what a
stream's playout knows of itself comes in as a `Position`.

```
reporter.arrived(size, now)                    # every message of the connection
for hint in reporter.poll(now, positions, rtt_ms):   # at get_timer(), and when a stream was heard out
    send(hint)
```
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ..units import bytes_to_kbps, ticks_to_seconds
from ..wire.codec import encode
from ..wire.messages import BitRateHint
from .meters import Goodput, Jitter

PROMPT_BYTES = 2_000
"""Bytes since the last report that make the next one due at the shortest interval: more than
one TCP segment, so that acknowledgements follow a fast link closely and a slow one cheaply."""

CHANGED_S = 0.25
"""Seconds after which anything that changed is reported: the short end of the 250 to 500 ms
within which a server expects to hear of a slow link."""

SILENT_S = 0.5
"""Seconds after which even an unchanged state is reported, so that silence means trouble."""

UPLINK_SHARE = 0.05
"""Of the downlink's bytes, at most this share goes back as reports (RTCP's share, RFC 3550 6.2)."""

UPLINK_FLOOR = 250.0
"""Bytes a second that reports may use on any link: 2 kbit/s."""

UPLINK_BURST = 250.0
"""Bytes of reports that may go ahead of either allowance: one second of the floor."""

PING_EVERY_S = 2.0
"""Seconds between two pings while speech flows, some 10 bytes a second: a guess. The server
wants the smallest round trip, which a handful of samples finds."""

FRAME_HEADER = 6
"""Bytes that a client's WebSocket frame puts before a short message (RFC 6455 5.2: 2, mask 4)."""

MOST_BUFFER_MS, MOST_STALL_MS, MOST_STALLS = 3_600_000, 86_400_000, 1_000_000
MOST_MS, MOST_KBPS, MOST_TRACKS = 60_000, 10_000_000, 16
"""Bounds of a report's fields (protocol/schema.json); what lies beyond is told as the bound."""


@dataclass(frozen=True, slots=True)
class Position:
    """
    What the playout of one stream says of itself.

    Args:
        played: ticks rendered.
        buffer_ms: contiguous speech ahead of that, at any rank.
        stalls: times that the listener ran out of speech.
        stall_ms: how long it waited, all stalls together.
        highest: (track, last pts held) of every live track.
        complete: the last sample of the stream was rendered.
        loss: share of the last 2 s that a live listener did not hear as it was sent.
    """

    played: int
    buffer_ms: float = 0.0
    stalls: int = 0
    stall_ms: float = 0.0
    highest: tuple[tuple[int, int], ...] = ()
    complete: bool = False
    loss: float = 0.0


@lru_cache(maxsize=1)
def hint_bytes(hint: BitRateHint) -> int:
    """Payload bytes of a report; whoever sends it may ask a second time."""
    return len(encode(hint))


@dataclass(slots=True)
class _Told:
    """What the server was last told of a stream, and when; `looked`: when we last asked."""

    at: float
    received: int
    position: Position
    jitter: Jitter
    looked: float


class _Spent:
    """
    What reports have cost and neither allowance has covered yet: two leaky buckets.

    One leaks with time (the floor), one with the bytes that arrive (the share). Each report
    fills both, and it is affordable while either has room, so that the larger allowance rules.
    """

    def __init__(self, now: float) -> None:
        self._floor = self._share = 0.0
        self._now, self._received = now, 0

    def forgive(self, now: float, received: int) -> None:
        """Time passed and bytes arrived."""
        self._floor = max(0.0, self._floor - UPLINK_FLOOR * (now - self._now))
        self._share = max(0.0, self._share - UPLINK_SHARE * (received - self._received))
        self._now, self._received = now, received

    def add(self, size: int) -> None:
        """A report of `size` bytes goes out; the fuller bucket does not overflow without end."""
        most = UPLINK_BURST + size
        self._floor, self._share = min(self._floor + size, most), min(self._share + size, most)

    @property
    def affordable(self) -> bool:
        """Whether another may go."""
        return min(self._floor, self._share) < UPLINK_BURST

    def affordable_at(self, received: int) -> float:
        """When another may go, at the latest; minus infinity when the bytes so far allow it."""
        if self._share - UPLINK_SHARE * (received - self._received) < UPLINK_BURST:
            return float("-inf")
        # One byte beyond, or rounding could leave the bucket full at the very time given.
        return self._now + max(0.0, self._floor - UPLINK_BURST + 1) / UPLINK_FLOOR


class Reporter:
    """
    Decides and fills in the reports of every stream of one connection.

    Args:
        hint_ms: the shortest time between two reports of a stream (`Welcome.hint_ms`).
        now: seconds on a monotonic clock.
    """

    def __init__(self, now: float, hint_ms: int = 100) -> None:
        self.next_ping = now
        """When the round trip is to be measured next; matters while there are streams."""
        self.received = 0
        """WebSocket payload bytes of the connection so far."""
        self.shortest_s = hint_ms / 1000
        """The shortest time between two reports of a stream."""
        self._goodput = Goodput()
        self._streams: dict[int, _Told] = {}
        self._spent = _Spent(now)

    def open(self, stream: int, now: float) -> None:
        """Reports of `stream` start; what arrived before is already old news."""
        self._streams[stream] = _Told(now, self.received, Position(0), Jitter(), now)

    def close(self, stream: int) -> None:
        """No more reports of `stream`; an unknown one is ignored."""
        self._streams.pop(stream, None)

    def arrived(self, size: int, now: float) -> None:
        """A message of `size` payload bytes, of whatever kind, arrived."""
        self.received += size
        self._goodput.add(size, now)

    def audio(self, stream: int, track: int, pts: int, now: float) -> None:
        """It was audio of `stream`, its first packet at `pts` ticks."""
        if stream in self._streams:
            self._streams[stream].jitter.arrived(track, ticks_to_seconds(pts), now)

    def pinged(self, now: float) -> None:
        """A ping went out, which measures the round trip."""
        self.next_ping = now + PING_EVERY_S

    def poll(self, now: float, positions: Mapping[int, Position], rtt_ms: float = -1.0) -> list[BitRateHint]:
        """
        The reports that are due, the stream that waited longest first.

        Args:
            positions: of every open stream by its number; one that is missing is not reported.
            rtt_ms: the last round trip, -1 while it is not known.

        Returns:
            Each is to be sent at once; it counts as told from here on.
        """
        self._spent.forgive(now, self.received)
        hints = []
        for stream, told in sorted(self._streams.items(), key=lambda item: item[1].at):
            told.looked = now
            position = positions.get(stream)
            if position is None or not self._due(told, position, now):
                continue
            ending = position.complete and not told.position.complete
            if not self._spent.affordable and not ending:
                continue
            hint = self._hint(stream, told, position, rtt_ms, now)
            self._spent.add(hint_bytes(hint) + FRAME_HEADER)
            told.at, told.received, told.position = now, self.received, position
            hints.append(hint)
        return hints

    def get_timer(self) -> float | None:
        """When `poll` may next find something due; None while nothing can be."""
        looks = [self._next_look(t) for t in self._streams.values() if not t.position.complete]
        if not looks:
            return None
        return min(max(min(looks), self._spent.affordable_at(self.received)), self.next_ping)

    def _next_look(self, told: _Told) -> float:
        earliest = told.at + self.shortest_s
        if self.received - told.received >= PROMPT_BYTES:
            return earliest
        changed = max(told.at + CHANGED_S, earliest)
        return changed if told.looked < changed else max(told.at + SILENT_S, earliest)

    def _due(self, told: _Told, position: Position, now: float) -> bool:
        if position.complete:
            return not told.position.complete
        # Compared as sums, as `get_timer` gives them: a difference may round to just below.
        if now < told.at + self.shortest_s:
            return False
        if self.received - told.received >= PROMPT_BYTES or now >= told.at + SILENT_S:
            return True
        changed = self.received != told.received or position != told.position
        return now >= told.at + CHANGED_S and changed

    def _hint(self, stream: int, told: _Told, position: Position, rtt_ms: float, now: float) -> BitRateHint:
        """Measures go out as whole numbers, which take one to three bytes; bounds are the wire's."""
        rate = self._goodput.rate(now)
        kbps = bytes_to_kbps(rate, 1.0) if rate >= 0 else -1
        return BitRateHint(
            stream=stream,
            received=self.received,
            played=position.played,
            buffer_ms=min(round(position.buffer_ms), MOST_BUFFER_MS),
            rtt_ms=float(min(round(rtt_ms), MOST_MS)),
            jitter_ms=float(min(round(told.jitter.ms), MOST_MS)),
            goodput_kbps=float(min(round(kbps), MOST_KBPS)),
            loss=position.loss,
            stalls=min(position.stalls, MOST_STALLS),
            stall_ms=min(round(position.stall_ms), MOST_STALL_MS),
            highest=position.highest[-MOST_TRACKS:],
        )
