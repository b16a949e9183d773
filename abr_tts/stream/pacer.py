"""
The pacer: may another message be sent now, and how many frames does it carry?

It counts bytes. *Outstanding* is what was sent and is not known to be received: it is the
time that a decision needs to reach the listener, so it is kept small. The larger of two
counts rules, because each is blind somewhere: the listener's reports see through proxies,
the kernel's queue is known at once.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from ..control.controller import BANK, Decision
from ..control.ladder import SEGMENT_BYTES, Rung
from ..units import FRAME_TICKS, seconds_to_ticks

MAX_OUTSTANDING_TICKS = seconds_to_ticks(2.5)
"""One stream's own audio outstanding at which it sends no more: with one message more, a stalled
reader leaves less than 3 s outside the timeline at any rung (tools/bench/stalled_reader)."""

SMALL_MESSAGE_BYTES = 2_000
"""A message up to this size is never cut: two frames of 22 kHz PCM, which then cost 2 % more on the
wire than five, and of Opus every message."""

CAP_SHARE = 5
"""A larger message is at most so small a part of what may be on the way. Reports count whole messages:
the larger they are, the longer a link that has fallen is at work on the one before a new rung."""

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


class Cargo(NamedTuple):
    """What a message carries: so much audio of a layer, up to pts `end`."""

    rank: int
    ticks: int
    end: int


NOTHING = Cargo(BANK, 0, 0)
"""The cargo of a message without audio, or of another stream."""


class Pacer:
    """
    Accounts for one stream on its connection.

    `on_sent` is told every message of the connection, since `received` in a report counts them
    all; only this stream's own audio is cargo.
    """

    def __init__(self, max_lead_ticks: int) -> None:
        self._max_lead = max_lead_ticks
        self.restart(0)

    def restart(self, banked: int) -> None:
        """Another connection: nothing was sent on it yet. The listener has the bank up to `banked`."""
        self._sent = 0
        self._received = 0
        self._kernel = 0
        self._own: deque[tuple[int, Cargo]] = deque()
        self._own_ticks = 0
        self._rtt_s = self._kernel_rtt_s = math.inf
        self.reached = [banked, 0]
        """By rank, pts up to which the layer is known to have arrived."""

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

    @property
    def min_rtt_s(self) -> float:
        """The smallest round trip: the listener's, else the kernel's; 0 while neither is known."""
        best = self._rtt_s if self._rtt_s < math.inf else self._kernel_rtt_s
        return best if best < math.inf else 0.0

    def on_sent(self, size: int, cargo: Cargo = NOTHING) -> None:
        """A message of `size` bytes went to the socket."""
        self._sent += size
        if cargo.ticks:
            self._own.append((self._sent, cargo))
            self._own_ticks += cargo.ticks

    def on_received(self, received: int) -> bool:
        """The listener has `received` bytes in all; False if that is more than was sent."""
        sane = received <= self._sent
        progress = min(received, self._sent) - self._received
        if progress > 0:
            self._received += progress
            # The kernel was asked before: what has arrived since does not wait in it any more.
            self._kernel = max(0, self._kernel - progress)
        while self._own and self._own[0][0] <= self._received:
            cargo = self._own.popleft()[1]
            self._own_ticks -= cargo.ticks
            self.reached[cargo.rank] = cargo.end
        return sane

    def on_rtt(self, rtt_ms: float) -> None:
        """A round trip, as the listener measured it; -1 is none."""
        if rtt_ms >= 0:
            self._rtt_s = min(self._rtt_s, rtt_ms / 1000)

    def on_kernel(self, sample: KernelSample) -> int:
        """The socket's own count: bytes that the next hop has not acknowledged."""
        self._kernel = sample.unacked_bytes + sample.user_bytes
        if sample.min_rtt_ms >= 0:
            self._kernel_rtt_s = sample.min_rtt_ms / 1000
        return self._kernel

    def is_open(self, decision: Decision, frames: int, lead: int) -> bool:
        """
        Whether a message of `frames` may go now.

        One of the bank that is larger than a segment counts itself; others may go while the cap is
        not reached, and any to an empty pipe.

        Args:
            lead: ticks of the bank sent and not yet played.
        """
        size, outstanding = decision.rung.message_bytes(frames), self.outstanding
        alone = decision.rank != BANK or size <= SEGMENT_BYTES
        counted = outstanding if alone else outstanding + size - 1
        return (
            (not outstanding or counted < decision.outstanding_bytes)
            and self._own_ticks < MAX_OUTSTANDING_TICKS
            and (decision.rank != BANK or lead < self._max_lead)
        )

    def frames(
        self, rung: Rung, available: int, lead: int, *, first: bool, ended: bool, bundle: int = 0
    ) -> int:
        """
        Frames for the next message, 0 to wait for more.

        The first message of an utterance carries one frame, because nothing is heard before
        it; later ones are full unless the speech ends or the listener is short of it. Either
        carries up to `bundle` frames where so many are there.
        """
        if first:
            return min(max(1, bundle), available)
        if available >= rung.frames_per_message:
            return max(rung.frames_per_message, min(bundle, available))
        return available if ended or lead < LOW_LEAD_TICKS else 0


def most_frames(decision: Decision) -> int:
    """
    Frames that a message carries at most: fewer of PCM where little may be on the way.

    Upgrades are not cut: beneath them is the bank, so what is late is not missed, and small
    messages show less of what a link carries (behind a proxy the rate came out too low for PCM).
    """
    rung, cap = decision.rung, decision.outstanding_bytes
    if decision.rank != BANK:
        return rung.frames_per_message
    most = min(cap, max(SMALL_MESSAGE_BYTES, cap // CAP_SHARE))
    frames = max(rung.frames_per_message, decision.bundle)
    while frames > 1 and rung.message_bytes(frames) > most:
        frames -= 1
    return frames


def frames_between(start: int, stop: int) -> int:
    """Whole frames from pts `start` to pts `stop`, not below 0."""
    return max(0, (stop - start) // FRAME_TICKS)
