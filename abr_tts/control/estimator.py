"""
The estimator: what the link carries, how late it is, and whether it is alive.

The listener's reports are its clock, because they see through proxies; the kernel's queue is
an accelerator, known at once but only as far as the next hop. Each works without the other,
and the more careful one rules. It must not know what is sent or why.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

from .acks import KERNEL, REPORTS, AckClock, Sample
from .estimate import Estimate as Estimate
from .ewma import Rate
from .ladder import FRAMING_BYTES
from .policy import Policy
from .shares import Shares
from .trip import LeastTrip

LEAST_KBPS = 1.0
"""No link is taken to carry less, so that what is divided by it stays finite."""

UNKNOWN_RTT_S = 0.15
"""Round trip that is allowed for while none is known: a slow mobile link's (a guess)."""

DIRECT_SHARE, DIRECT_SLACK_S = 0.5, 0.005
"""The kernel talks to the listener itself if its round trip is at least this share of the listener's
own, but for 5 ms in which programs answer; a proxy is much nearer (0.1 ms on the same machine)."""

DIRECT_AFTER_S = 1.0
"""Seconds after which the kernel is believed though the listener has not told its round trip."""

TRIP_ERROR_S = 0.003
"""What a measured round trip may be too long by: clients tell whole milliseconds, and a few pings do
not find the very least of a jittery path (3 ms each way on a quiet radio link)."""


class Link(NamedTuple):
    """
    What is known of a link at one moment.

    Args:
        known: something was measured or remembered; else `kbps` is the policy's guess.
        firm: its limit was seen or remembered; else it may carry more than `kbps`.
        kbps: what it carries for this stream, on the wire.
        min_rtt_s: the round trip of a small packet on the idle path.
        late_s: how long what is on the way is overdue, beyond what reports may lag.
        quiet_s: how long nothing has been learned of its rate.
        outage: nothing has come for so long that the link counts as dead.
        outages: how often it has died in this stream.
        heard_bytes: of this stream's time on the connection that are known to have arrived.
        limit_s: how long the link has not been seen to be the limit.
        most_kbps: what it carries at most at this moment, as silence shows it.
    """

    known: bool
    firm: bool
    kbps: float
    min_rtt_s: float
    late_s: float = 0.0
    quiet_s: float = 0.0
    outage: bool = False
    outages: int = 0
    heard_bytes: int = 0
    limit_s: float = 0.0
    most_kbps: float = math.inf


class Capacity(Protocol):
    """What turns samples into a rate: `ewma.Rate` or `belief.Belief`."""

    firm: bool
    told_at: float
    limit_at: float
    probed: bool

    @property
    def kbps(self) -> float | None:
        """What the link carries; None before there is anything to go by."""
        ...

    def add(self, sample: Sample, now: float) -> None:
        """A sample."""

    def recall(self, remembered: Estimate, now: float) -> None:
        """Begin with what was kept."""

    def keep(self, min_rtt_s: float) -> Estimate | None:
        """What to keep; None when nothing is known."""


class Estimator:
    """
    Args:
        policy: half-lives and thresholds.
        remembered: what an earlier utterance learned, on the same clock.
        rate: what turns samples into a rate; the two averages if None.
    """

    def __init__(
        self, policy: Policy, remembered: Estimate | None = None, rate: Capacity | None = None
    ) -> None:
        self._policy, self._remembered = policy, remembered
        self._reports, self._kernel = AckClock(REPORTS), AckClock(KERNEL)
        self._rate = rate or Rate(policy.fast_half_life_s, policy.slow_half_life_s)
        self._trip, self._kernel_rtt_s = LeastTrip(), math.inf
        self._shares = Shares()
        self._kernel_at: float | None = None
        self._first_at = math.inf
        self._recalled = self._reported = False
        self._before = 0
        self._outage = False
        self._outages = 0

    # ------------------------------------------------------------ what it is told

    def on_sent(self, size: int, own: bool, now: float) -> None:
        """A message of `size` payload bytes went to the socket; not `own`: of something else."""
        # What the connection had sent before comes as one message, at the very beginning.
        self._first_at = min(self._first_at, now)
        blind = not own and now == self._first_at
        if blind:
            self._before += size
        else:
            self._shares.sent(size, own, now)
        self._reports.sent(size, size, now, blind)
        self._kernel.sent(size + FRAMING_BYTES, size, now, blind)

    def on_received(self, total: int, rtt_ms: float, now: float) -> None:
        """The listener has `total` payload bytes; a round trip of -1 is not known."""
        self._recall(now)
        self._reported = True
        if rtt_ms >= 0:
            self._trip.add(rtt_ms / 1000, now)
        sample = self._reports.acked(total, self._least_rtt_s(self._trip.seconds), self._likely_rtt_s, now)
        if sample is not None:
            self._rate.add(sample, now)

    def on_kernel(self, queued: int, min_rtt_ms: float, now: float) -> None:
        """The next hop has not acknowledged `queued` bytes; a round trip of -1 is not known."""
        self._recall(now)
        if min_rtt_ms >= 0:
            self._kernel_rtt_s = min_rtt_ms / 1000
        self._kernel_at = now
        position = self._kernel.sent_total - queued
        least = self._least_rtt_s(self._kernel_rtt_s)
        sample = self._kernel.acked(position, least, self._likely_rtt_s, now)
        if sample is not None and (sample.exact or self._is_direct(now)):
            self._rate.add(sample, now)

    def _is_direct(self, now: float) -> bool:
        """Whether the kernel's next hop is the listener, so that what it acknowledges has arrived."""
        if self._kernel_at is None:
            return False
        if self._trip.seconds < math.inf:
            return self._kernel_rtt_s >= self._trip.seconds * DIRECT_SHARE - DIRECT_SLACK_S
        return now - self._first_at >= DIRECT_AFTER_S

    def _recall(self, now: float) -> None:
        remembered = self._remembered
        if remembered is None or self._recalled:
            return
        self._recalled = True
        if now - remembered.at > self._policy.memory_s:
            return
        self._rate.recall(remembered, now)
        self._trip.remember(remembered.min_rtt_s)

    def expect(self, probe: bool) -> None:
        """A probe is on its way, or none: its answer is news, whatever was believed before."""
        self._rate.probed = probe

    # ------------------------------------------------------------ what it knows

    def _least_rtt_s(self, measured: float) -> float:
        """
        A round trip that is rather too short: rates must not come out too high.

        Args:
            measured: by who acknowledges; behind a proxy the kernel's is no measure of the listener's.
        """
        best = measured if measured < math.inf else min(self._trip.seconds, self._kernel_rtt_s)
        return max(0.0, best - TRIP_ERROR_S) if best < math.inf else 0.0

    @property
    def _likely_rtt_s(self) -> float:
        """A round trip that is rather too long: nothing must seem late that is not."""
        if self._trip.seconds < math.inf:
            return self._trip.seconds
        kernel = self._kernel_rtt_s if self._kernel_rtt_s < math.inf else 0.0
        return max(kernel, UNKNOWN_RTT_S) if self._reported or not kernel else kernel

    def look(self, now: float) -> Link:
        """The link at `now`, which never goes back."""
        self._recall(now)
        rtt, rate, direct = self._likely_rtt_s, self._rate, self._is_direct(now)
        known = rate.kbps
        late, most, silent = 0.0, math.inf, math.inf
        for clock, at in self._ticking(now):
            waited = clock.silent_s(rtt, at)
            late = max(late, clock.overdue_s(rtt, at))
            if waited > 0:
                most = min(most, clock.ceiling_kbps(rtt, at))
            # What the kernel sees of a message's parts counts, if it sees the listener.
            if clock is self._reports or (direct and clock.on_the_way):
                silent = min(silent, waited)
        dead = math.inf > silent > self._policy.outage_s
        self._outages += dead and not self._outage
        self._outage = dead
        kbps = min(self._policy.start_kbps if known is None else known, most)
        share = self._shares.available(max(kbps, LEAST_KBPS), now)
        return Link(
            known is not None, rate.firm, share, rtt, late, now - rate.told_at,
            dead, self._outages, self._heard(direct), now - rate.limit_at, most,
        )  # fmt: skip

    def _ticking(self, now: float) -> list[tuple[AckClock, float]]:
        """The clocks that have ever ticked, and the time at which each is looked at."""
        clocks = [(self._kernel, self._kernel_at)] if self._kernel_at is not None else []
        return [*clocks, (self._reports, now)] if self._reported else clocks

    def _heard(self, direct: bool) -> int:
        heard = self._reports.position
        return (max(heard, self._kernel.position) if direct else heard) - self._before

    def estimate(self) -> Estimate | None:
        """What to keep of the link; None when nothing was learned."""
        kept = self._rate.keep(self._trip.seconds if self._trip.seconds < math.inf else 0.0)
        if kept is None or (self._remembered and kept.at == self._remembered.at):
            return self._remembered
        return kept
