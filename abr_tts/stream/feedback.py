"""
What a core hears of the way to its listener: what the connection wrote, what the kernel still holds of it,
what the listener reports. It is brought into bounds, and told to pacer, play head and a controller that
learns.

It must not know what is sent next, nor what is held for it.
"""

from __future__ import annotations

from ..control.controller import Controller, Learner
from ..units import ticks_to_ms
from ..wire.messages import BitRateHint
from .pacer import Cargo, KernelSample, Pacer
from .playhead import PlayHead


class Feedback:
    """
    Positions are pts in ticks, times are seconds; `now` never goes back.

    Args:
        pacer, head: of the core.
        controller: of the stream; one that learns is told.
    """

    def __init__(self, pacer: Pacer, head: PlayHead, controller: Controller) -> None:
        self._pacer, self._head = pacer, head
        self._learner = controller if isinstance(controller, Learner) else None

    @property
    def learns(self) -> bool:
        """Whether the controller does, so that its plan may change with any news."""
        return self._learner is not None

    def written(self, size: int, cargo: Cargo, own: bool, now: float) -> None:
        """A message of the connection went to the kernel; `own`: one of this stream, with that cargo."""
        self._pacer.on_sent(size, cargo)
        if self._learner:
            self._learner.on_sent(size, own, now)
        if cargo.ticks:
            self._head.sent(now)

    def kernel(self, sample: KernelSample, now: float) -> None:
        """The kernel tells."""
        queued = self._pacer.on_kernel(sample)
        if self._learner:
            self._learner.on_kernel(queued, sample.min_rtt_ms, now)

    def received(self, total: int, now: float, rtt_ms: float = -1.0) -> bool:
        """
        The listener has `total` bytes of the connection.

        Args:
            rtt_ms: round trip that it measured; -1: not told.

        Returns:
            Whether so much was sent; more counts as all.
        """
        sane = self._pacer.on_received(total)
        if self._learner:
            self._learner.on_received(total, rtt_ms, now)
        return sane

    def hint(self, hint: BitRateHint, furthest: int, now: float) -> tuple[str, ...]:
        """
        The listener tells.

        Args:
            furthest: up to where it can have heard.

        Returns:
            The fields that claimed more than there was.
        """
        wrong = () if self.received(hint.received, now, hint.rtt_ms) else ("received",)
        self._pacer.on_rtt(hint.rtt_ms)
        played = min(hint.played, furthest)
        self._head.report(played, hint.buffer_ms, now, self._pacer.min_rtt_s / 2)
        return wrong if played == hint.played else (*wrong, "played")

    def restart(self, controller: Controller, banked: int, played: int, now: float) -> None:
        """Another connection: its listener has the bank up to `banked`, and has heard it up to `played`."""
        self._learner = controller if isinstance(controller, Learner) else None
        self._pacer.restart(banked)
        self._head.report(played, ticks_to_ms(max(0, banked - played)), now, 0.0)
