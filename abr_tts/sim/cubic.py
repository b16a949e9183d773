"""
How many packets may be on the way: CUBIC as Linux does it, in the parts that a stream of
speech meets. It counts packets and round trips; it must not know what is lost or why.

Left out: pacing (Linux paces CUBIC only on request), ECN, the train half of HyStart.
"""

from __future__ import annotations

import math

INITIAL_WINDOW = 10
"""Packets before the first acknowledgement (RFC 6928, Linux TCP_INIT_CWND)."""

BETA = 717 / 1024
"""What is left of the window after a loss (tcp_cubic.c)."""

SCALING = 0.4
"""CUBIC's C, packets a second cubed (RFC 9438 section 4.6)."""

HYSTART_WINDOW = 16
"""Packets below which slow start is not left for delay (tcp_cubic.c hystart_low_window)."""

HYSTART_SAMPLES = 8
"""Round trips that are looked at in each round (tcp_cubic.c HYSTART_MIN_SAMPLES)."""


class Cubic:
    """The congestion window of one sender, in packets."""

    __slots__ = (
        "_epoch", "_estimate", "_origin", "_prior", "_reach", "_round_end",
        "_round_rtt", "_samples", "_wmax", "threshold", "window",
    )  # fmt: skip

    def __init__(self) -> None:
        self.window = float(INITIAL_WINDOW)
        """Packets that may be on the way."""
        self.threshold = math.inf
        """Window at which slow start ends."""
        self._prior = (self.window, self.threshold)
        self._wmax = 0.0
        self._epoch = -1.0
        self._origin = self._reach = self._estimate = 0.0
        self._round_end = 0
        self._round_rtt = math.inf
        self._samples = 0

    def acked(self, packets: int, now: float, rtt: float, min_rtt: float) -> None:
        """`packets` more have arrived while the window was what held the sender back."""
        if self.window < self.threshold:
            self.window += packets
            if self.window >= self.threshold:
                self.window = self.threshold
            return
        self._avoid(packets, now, max(rtt, min_rtt))

    def round_trip(self, rtt: float, min_rtt: float, una: int, nxt: int) -> None:
        """A round trip was measured; `una` and `nxt` are the stream's positions (HyStart's delay half)."""
        if self.window >= self.threshold:
            return
        if una > self._round_end:
            self._round_end, self._round_rtt, self._samples = nxt, math.inf, 0
        if self._samples < HYSTART_SAMPLES:
            self._samples += 1
            self._round_rtt = min(self._round_rtt, rtt)
            return
        allowed = min_rtt + min(max(min_rtt / 8, 0.004), 0.016)
        if self.window >= HYSTART_WINDOW and self._round_rtt > allowed:
            self.threshold = self.window

    def _avoid(self, packets: int, now: float, rtt: float) -> None:
        if self._epoch < 0:
            self._epoch = now
            self._estimate = self.window
            self._origin = max(self._wmax, self.window)
            self._reach = ((self._origin - self.window) / SCALING) ** (1 / 3)
        target = self._origin + SCALING * (now + rtt - self._epoch - self._reach) ** 3
        target = min(target, 1.5 * self.window)
        self._estimate += packets * 3 * (1 - BETA) / (1 + BETA) / self.window
        target = max(target, self._estimate)
        if target > self.window:
            self.window += packets * min(0.5, (target - self.window) / self.window)
        else:
            self.window += packets * 0.01 / self.window

    def lost(self, *, timeout: bool) -> None:
        """An episode of loss begins."""
        self._prior = (self.window, self.threshold)
        self._wmax = self.window * (1 + BETA) / 2 if self.window < self._wmax else self.window
        self._epoch = -1.0
        self.threshold = max(2.0, self.window * BETA)
        self.window = 1.0 if timeout else self.threshold

    def undo(self) -> None:
        """The loss was none: what was given up comes back."""
        self.window = max(self.window, self._prior[0])
        self.threshold = max(self.threshold, self._prior[1])

    def idled(self, seconds: float, rto: float) -> None:
        """Nothing was sent for so long: the window halves each time-out (tcp_cwnd_restart)."""
        self.threshold = max(self.threshold, 0.75 * self.window) if self.threshold < math.inf else math.inf
        floor = min(self.window, float(INITIAL_WINDOW))
        while seconds > rto and self.window > floor:
            self.window /= 2
            seconds -= rto
        self.window = max(self.window, floor)
        self._epoch = -1.0
