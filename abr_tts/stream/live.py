"""
The buffer of a listener who wants to hear in time rather than everything: concealment and expiry.

It is the player's `playout` with two rules more, for live mode alone (`protocol/vectors/live.json`): a
short gap is bridged by what the decoder makes up, and sound that has become too late is dropped once
newer sound is here. Like its parent it decides by pts and rank, and counts calls for time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..units import FRAME_TICKS, seconds_to_ticks
from .held import HeldTrack
from .playout import REBUFFER_TICKS, START_TICKS, Frame, Playout

MOST_CONCEALED_MS = 60
"""Longest bridge: what follows is guessed from what was, and after three frames it is babble (rule 6)."""

LEAST_DROPPED = seconds_to_ticks(0.2)
"""Ticks dropped at once, where there is so much too late: many small holes are worse than one (a guess)."""

MOST_LATE_MS, MOST_SLOW_MS = 60_000, 10_000
"""Bounds of the settings: beyond them live is not meant."""


@dataclass(frozen=True, slots=True)
class Live:
    """
    How a live listener takes sound that comes late.

    Args:
        slow_below_ms: while less than this is held, speech is a tenth slower; 0: never.
        conceal_ms: of a gap, so much is bridged by what the Opus decoder makes up: 0, 20, 40 or 60.
        late_ms: sound that is later than this is dropped, once newer sound is here; None: nothing is.

    Raises:
        ValueError: a value out of its bounds.
    """

    slow_below_ms: int = 300
    conceal_ms: int = MOST_CONCEALED_MS
    late_ms: int | None = 2_000

    def __post_init__(self) -> None:
        if not 0 <= self.slow_below_ms <= MOST_SLOW_MS:
            raise ValueError(f"slow_below_ms is 0 to {MOST_SLOW_MS}, not {self.slow_below_ms}")
        if self.conceal_ms not in (0, 20, 40, MOST_CONCEALED_MS):
            raise ValueError(f"conceal_ms is 0, 20, 40 or {MOST_CONCEALED_MS}, not {self.conceal_ms}")
        if self.late_ms is not None and not 0 <= self.late_ms <= MOST_LATE_MS:
            raise ValueError(f"late_ms is 0 to {MOST_LATE_MS}, not {self.late_ms}")


@dataclass(frozen=True, slots=True)
class Lateness:
    """
    What a live listener heard otherwise than it was sent, so far.

    Args:
        slowed_ms: sound added by slower speech.
        concealed_ms: made up.
        expired_ms: speech dropped.
        loss: share of the last 2 s that was made up or dropped, 0 to 1; for `BitRateHint.loss`.
    """

    slowed_ms: int = 0
    concealed_ms: int = 0
    expired_ms: int = 0
    loss: float = 0.0

    def plus(self, later: Lateness) -> Lateness:
        """Both, one after the other."""
        return Lateness(
            self.slowed_ms + later.slowed_ms,
            self.concealed_ms + later.concealed_ms,
            self.expired_ms + later.expired_ms,
            later.loss,
        )


class LivePlayout(Playout):
    """
    Args:
        live: the listener's wishes.
        start_ticks, level: as of `Playout`.
    """

    def __init__(self, live: Live, *, start_ticks: int = START_TICKS, level: int = 1) -> None:
        super().__init__(start_ticks=start_ticks, level=level)
        self._conceal_ticks = seconds_to_ticks(live.conceal_ms / 1000)
        self._bound = None if live.late_ms is None else seconds_to_ticks(live.late_ms / 1000)
        self._concealable: set[int] = set()
        self._bridge: int | None = None
        """Ticks made up since the last frame that had no successor; None: no bridge stands."""
        self.late_ticks = 0
        """How far what is heard lies behind an unbroken run from the first frame on."""
        self.concealed_ticks = 0
        """Made up so far."""
        self.expired_ticks = 0
        """Dropped so far."""

    def conceals(self, track: int) -> None:
        """The decoder of this track can make something up."""
        self._concealable.add(track)

    def delay(self, ticks: int) -> None:
        """What is heard has become so much later."""
        self.late_ticks += ticks

    @property
    def in_time(self) -> bool:
        """Whether what is heard may become later by a frame and nothing is dropped for it."""
        return self._bound is None or self.late_ticks + FRAME_TICKS <= self._bound

    # ------------------------------------------------------------ frames

    def render(self) -> Frame | None:
        """As `Playout.render`; a `concealed` frame stands before its pts, where the clock stands too."""
        expired = self._expired()
        if expired and self._audible and self._bridge is None:
            return self._fade_away()
        if expired:
            self._drop(expired)
        if self._bridge is not None and (self.paused or not self._enough()):
            return self._conceal(self._bridge)
        stalled = self.stall_ticks
        frame = super().render()
        self.late_ticks += self.stall_ticks - stalled
        return frame

    def _commit(self, track: HeldTrack, goes_on: bool) -> Frame:
        mend = 0 if self._bridge is None else self._bridge // FRAME_TICKS + 1
        bridge = not goes_on and self._may_bridge(track)
        frame = super()._commit(track, goes_on or bridge)
        self._bridge = 0 if bridge else None
        return replace(frame, bridge=bridge, mend=mend, fade_from=None if mend else frame.fade_from)

    def _may_bridge(self, track: HeldTrack) -> bool:
        """Whether what follows this frame, which nobody holds, can be made up if it has to be."""
        after = self._next + FRAME_TICKS
        able = self._conceal_ticks > 0 and track.number in self._concealable and not self.paused
        return able and self._held.reach(after) == after

    def _conceal(self, so_far: int) -> Frame:
        """20 ms made up; the last of them fade out."""
        assert self._current is not None, "a bridge begins with a frame"
        made = so_far + FRAME_TICKS
        over = self.paused or made >= self._conceal_ticks
        self.concealed_ticks += FRAME_TICKS
        self.late_ticks += 0 if self.paused else FRAME_TICKS
        self._bridge, self._audible = None if over else made, not over
        return Frame(self._next, self._current.number, fade_out=over, concealed=made // FRAME_TICKS)

    @property
    def _need(self) -> int:
        """Over a bridge, as much as it may be long; longer than a gap is none."""
        return super()._need if self._bridge is None else self._conceal_ticks

    # ------------------------------------------------------------ expiry

    def _expired(self) -> int:
        """Ticks to drop now: what is too late and has enough behind it; no small piece of more."""
        over = 0 if self._bound is None else self.late_ticks - self._bound
        if over <= 0 or self.paused or not self.started:
            return 0
        one_more = FRAME_TICKS if self._audible and self._bridge is None else 0  # to fade out with
        spare = (self.buffer_ticks() - one_more - REBUFFER_TICKS) // FRAME_TICKS * FRAME_TICKS
        over = -(-over // FRAME_TICKS) * FRAME_TICKS
        return min(over, spare) if spare >= min(over, LEAST_DROPPED) else 0

    def _drop(self, ticks: int) -> None:
        self._next += ticks
        self.expired_ticks += ticks
        self.late_ticks -= ticks
        self._held.retire(self._next)

    def _fade_away(self) -> Frame:
        """The last frame before what is dropped."""
        frame = super().render()
        assert frame is not None, "more than a frame is held"
        self._audible, self._bridge = False, None
        return replace(frame, fade_out=True, bridge=False)
