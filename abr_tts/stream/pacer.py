"""
The pacer: may another message be sent now, and how many frames does it carry?

It counts bytes. *Outstanding* is what was sent and is not known to be received: it is the
time that a decision needs to reach the listener, so it is kept small. The larger of two
counts rules, because each is blind somewhere: the listener's reports see through proxies,
the kernel's queue is known at once.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ..control.ladder import Rung
from ..units import FRAME_TICKS, seconds_to_ticks

MAX_OUTSTANDING_BYTES = 32_768
"""Bytes outstanding on a connection at which nothing more is sent: 0.74 s of 22 kHz PCM."""

MAX_OUTSTANDING_TICKS = seconds_to_ticks(2.5)
"""One stream's own audio outstanding at which it sends no more: with one message more, a stalled
reader leaves less than 3 s outside the timeline at any rung (tools/bench/stalled_reader)."""

LOW_LEAD_TICKS = seconds_to_ticks(1.0)
"""Below this lead a message goes with what is there: waiting to fill it could cost a stall.
One second covers a report period (0.5 s) and a message (0.2 s); a guess, on the safe side."""


@dataclass(frozen=True, slots=True)
class KernelSample:
    """
    What the sending socket says: an accelerator, never the clock.

    Args:
        unacked_bytes: in the kernel's send queue, not acknowledged by the next hop (SIOCOUTQ).
        user_bytes: still in this process, behind the socket.
        min_rtt_ms: the kernel's smallest round trip (TCP_INFO), -1 where unknown.
    """

    unacked_bytes: int
    user_bytes: int
    min_rtt_ms: float = -1.0


class Pacer:
    """
    Accounts for one stream on its connection.

    `on_sent` is told every message of the connection, since `received` in a report counts them
    all; only this stream's messages have `own_ticks`.
    """

    def __init__(self, max_lead_ticks: int) -> None:
        self._max_lead = max_lead_ticks
        self._sent = 0
        self._received = 0
        self._kernel = 0
        self._own: deque[tuple[int, int]] = deque()
        self._own_ticks = 0

    @property
    def sent_total(self) -> int:
        """Bytes written to the connection so far."""
        return self._sent

    @property
    def outstanding(self) -> int:
        """Bytes on their way on this connection."""
        return max(self._sent - self._received, self._kernel)

    @property
    def outstanding_ticks(self) -> int:
        """This stream's own audio on its way, by the listener's count."""
        return self._own_ticks

    def on_sent(self, size: int, own_ticks: int = 0) -> None:
        """A message of `size` bytes went to the socket, with so much of this stream's audio."""
        self._sent += size
        if own_ticks:
            self._own.append((self._sent, own_ticks))
            self._own_ticks += own_ticks

    def on_received(self, received: int) -> bool:
        """The listener has `received` bytes in all; False if that is more than was sent."""
        sane = received <= self._sent
        self._received = max(self._received, min(received, self._sent))
        while self._own and self._own[0][0] <= self._received:
            self._own_ticks -= self._own.popleft()[1]
        return sane

    def on_kernel(self, sample: KernelSample) -> None:
        """The socket's own count."""
        self._kernel = sample.unacked_bytes + sample.user_bytes

    def is_open(self, lead: int) -> bool:
        """Whether a message may go now; `lead` is ticks sent and not yet played."""
        return (
            self.outstanding < MAX_OUTSTANDING_BYTES
            and self._own_ticks < MAX_OUTSTANDING_TICKS
            and lead < self._max_lead
        )

    def frames(self, rung: Rung, available: int, lead: int, *, first: bool, ended: bool) -> int:
        """
        Frames for the next message, 0 to wait for more.

        The first message of an utterance carries one frame, because nothing is heard before
        it; later ones are full unless the speech ends or the listener is short of it.
        """
        if first:
            return min(1, available)
        if available >= rung.frames_per_message:
            return rung.frames_per_message
        return available if ended or lead < LOW_LEAD_TICKS else 0


def frames_between(start: int, stop: int) -> int:
    """Whole frames from pts `start` to pts `stop`, not below 0."""
    return max(0, (stop - start) // FRAME_TICKS)
