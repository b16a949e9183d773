"""
What a core could send at this moment: frames by layer, and the observation that a controller sees.

It looks and changes nothing.
"""

from __future__ import annotations

from ..audio.timeline import Timeline
from ..control.controller import BANK, UPGRADE, Decision, Observation
from ..control.ladder import Rung
from ..units import FRAME_TICKS
from .layers import Layers
from .pacer import Pacer, frames_between
from .playhead import EngineMeter, PlayHead
from .track import encode_lag


class Outlook:
    """
    Args:
        rate: Hz of the timeline.
        timeline, layers, pacer, head, engine: of the core.
    """

    def __init__(
        self, rate: int, timeline: Timeline, layers: Layers, pacer: Pacer, head: PlayHead, engine: EngineMeter
    ) -> None:
        self._rate, self._timeline, self._layers = rate, timeline, layers
        self._pacer, self._head, self._engine = pacer, head, engine

    @property
    def sent_pts(self) -> int:
        """Pts up to which the bank was given out for sending."""
        return self._layers.next_pts(BANK)

    @property
    def lead(self) -> int:
        """Ticks sent and not known to be played."""
        return self.sent_pts - self._head.played

    def frames(self, decision: Decision) -> int:
        """Frames that the next message carries, 0 to wait for more."""
        if decision.rank == BANK:
            return self._bank_frames(decision.rung, decision.pts, decision.bundle)
        until = self.sent_pts if decision.until is None else decision.until
        return frames_between(decision.pts, min(until, self._encodable(decision.rung)))

    def _bank_frames(self, rung: Rung, pts: int, bundle: int = 0) -> int:
        return self._pacer.frames(
            rung, frames_between(pts, self._encodable(rung)), self.lead,
            first=self.sent_pts == 0, ended=self._timeline.ended, bundle=bundle,
        )  # fmt: skip

    def _encodable(self, rung: Rung) -> int:
        """Pts up to which frames can be encoded at `rung` by now."""
        lag = 0 if self._timeline.ended else encode_lag(rung, self._rate)
        return self._timeline.ready - lag * FRAME_TICKS

    def observe(self, now: float) -> Observation:
        """What a controller is asked with."""
        layers, head = self._layers, self._head
        bank = layers.seen(BANK, self._pacer.reached[BANK])
        upgrade = layers.seen(UPGRADE, self._pacer.reached[UPGRADE])
        ready = self._timeline.ready
        # What does not fill a message yet is hidden, so that the controller may do something else.
        if bank.rung is not None and not self._bank_frames(bank.rung, bank.next_pts):
            ready = bank.next_pts
        return Observation(
            now, ready, self._timeline.ended, head.played, self._pacer.outstanding,
            (bank, upgrade), head.paused,
            min(head.at(now), max(bank.next_pts, upgrade.next_pts)), head.eager,
            self._engine.making, self._engine.real_time_factor,
        )  # fmt: skip
