"""
Two ends of a TCP connection over two links: messages in at one end, whole and in order out at
the other.

What a controller can see of TCP is modelled: the window, loss and its repair, head-of-line
blocking, delayed acknowledgements, and a sending kernel that takes little
(TCP_NOTSENT_LOWAT). What flows are sizes; messages are handed over as objects. It must not
know what they mean.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from .events import Alarm, Events
from .link import Link
from .sender import MSS, Sender

HEADER = 52
"""Bytes before the payload of a packet: IPv4 20, TCP 20, time stamps 12."""

DELAYED_ACK_S = 0.04
"""Longest wait of an acknowledgement for company (Linux TCP_DELACK_MIN)."""

QUICK_ACKS = 16
"""Acknowledgements that a new connection sends at once (Linux TCP_MAX_QUICKACKS)."""

LEAST_MSS = 536
"""Size of a full packet as a receiver takes it before it has seen a larger one (TCP_MSS_DEFAULT)."""


@dataclass(frozen=True, slots=True)
class Host:
    """
    How one end's kernel is set.

    Args:
        notsent_bytes: no more is taken while so much waits to be sent (TCP_NOTSENT_LOWAT).
        rto_max_s: cap of the time-out (TCP_RTO_MAX_MS); the kernel's own is 120.
        buffer_bytes: no more is taken while so much is not acknowledged (the send buffer).
    """

    notsent_bytes: float = 4096
    rto_max_s: float = 1.0
    buffer_bytes: float = math.inf


PLAIN = Host(notsent_bytes=math.inf, rto_max_s=120.0)
"""A host that nobody has tuned."""


class Packet(NamedTuple):
    """Payload bytes `begin` to `end` (none in a bare acknowledgement), and what has arrived."""

    begin: int
    end: int
    tx: int
    una: int
    newest: int
    holes: tuple[tuple[int, int], ...]


class Endpoint:
    """
    One end. Make two, then `join` them.

    Args:
        events: the world's.
        link: the way out.
        host: the kernel's settings.
        on_message: called with (message, now) for each that has arrived whole.
        on_room: called with (now) when the kernel takes more after it had refused.
    """

    def __init__(
        self,
        events: Events,
        link: Link,
        host: Host,
        on_message: Callable[[Any, float], None],
        on_room: Callable[[float], None] = lambda now: None,
    ) -> None:
        self._events, self._link, self._host = events, link, host
        self._on_message, self._on_room = on_message, on_room
        self.sender = Sender(self._emit, host.rto_max_s)
        self._timer = Alarm(events, self._on_timer)
        self._delayed = Alarm(events, self._on_delayed)
        self._peer: Endpoint | None = None
        self._refused = False
        self._due: deque[tuple[int, Any]] = deque()
        self._received = self._told = 0
        self._newest = 0
        self._holes: list[tuple[int, int]] = []
        self._full = LEAST_MSS
        self._quick = QUICK_ACKS

    # ------------------------------------------------------------ the application's side

    @property
    def has_room(self) -> bool:
        """
        Whether the kernel takes a message now: Linux asks for half the mark before it calls a
        writer back (sk_stream_memory_free with `wake`), so a refused writer waits for that.
        """
        sender = self.sender
        mark = self._host.notsent_bytes / (2 if self._refused else 1)
        return sender.unsent < mark and sender.unacked < self._host.buffer_bytes

    def write(self, message: Any, size: int) -> None:
        """`message`, of `size` bytes with all its framing, to the peer."""
        assert self._peer is not None, "join the two ends first"
        now = self._events.now
        self._peer._due.append((self.sender.written + size, message))
        self.sender.write(size, now)
        self._timer.set(self.sender.alarm)

    def wait_for_room(self) -> None:
        """Call `on_room` once the kernel takes more."""
        self._refused = True

    # ------------------------------------------------------------ the wire

    def _emit(self, begin: int, end: int, tx: int, now: float) -> None:
        self._told = self._received
        if self._delayed.is_set:
            self._delayed.set(None)
        self._transmit(Packet(begin, end, tx, self._received, self._newest, tuple(self._holes)), now)

    def _acknowledge(self) -> None:
        self._quick = max(0, self._quick - 1)
        self._told = self._received
        self._delayed.set(None)
        self._transmit(Packet(0, 0, 0, self._received, self._newest, tuple(self._holes)), self._events.now)

    def _transmit(self, packet: Packet, now: float) -> None:
        arrives = self._link.send(HEADER + packet.end - packet.begin, now)
        if arrives is not None:
            assert self._peer is not None, "join the two ends first"
            self._events.at(arrives, self._peer._arrive, packet)

    def _arrive(self, packet: Packet) -> None:
        now = self._events.now
        if packet.tx:
            self._take(packet, now)
        sender = self.sender
        if packet.una > sender.una or packet.holes:
            sender.acknowledged(packet.una, packet.newest, packet.holes, now)
            self._after_send(now)

    def _take(self, packet: Packet, now: float) -> None:
        """Payload arrived: keep it, hand over what is whole, acknowledge now or a little later."""
        self._newest = max(self._newest, packet.tx)
        self._full = max(self._full, packet.end - packet.begin)
        in_order = packet.begin == self._received and not self._holes
        if packet.end > self._received:
            self._keep(packet.begin, packet.end)
        while self._due and self._due[0][0] <= self._received:
            self._on_message(self._due.popleft()[1], now)
        if not in_order or self._quick or self._received - self._told > self._full:
            self._acknowledge()
        elif self._received > self._told and not self._delayed.is_set:
            self._delayed.set(now + DELAYED_ACK_S)

    def _keep(self, begin: int, end: int) -> None:
        if begin <= self._received:
            self._received = end
            while self._holes and self._holes[0][0] <= self._received:
                self._received = max(self._received, self._holes.pop(0)[1])
            return
        spans = sorted([*self._holes, (begin, end)])
        merged = [spans[0]]
        for low, high in spans[1:]:
            if low <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
            else:
                merged.append((low, high))
        self._holes = merged

    # ------------------------------------------------------------ timers

    def _on_timer(self) -> None:
        self.sender.handle_timer(self._events.now)
        self._after_send(self._events.now)

    def _after_send(self, now: float) -> None:
        self._timer.set(self.sender.alarm)
        if self._refused and self.has_room:
            self._refused = False
            self._on_room(now)

    def _on_delayed(self) -> None:
        if self._received > self._told:
            self._acknowledge()


def join(one: Endpoint, other: Endpoint, round_trip_s: float = 0.0) -> None:
    """Connect two ends; the handshake lies behind them, and has told both the round trip unless that is 0."""
    one._peer, other._peer = other, one
    if round_trip_s:
        one.sender.greet(round_trip_s)
        other.sender.greet(round_trip_s)


__all__ = ["HEADER", "MSS", "PLAIN", "Endpoint", "Host", "join"]
