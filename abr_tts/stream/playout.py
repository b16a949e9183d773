"""
The listener's buffer: which track plays which frame, where sound fades, when it stalls.

It decides by pts and rank alone. `protocol/vectors/playout.json` binds it, and every other
player of the protocol, case by case; the reading of the rules is `playout.md` beside it. It
must not know samples, codecs or clocks: whoever calls `render` keeps the time.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import PlayoutError
from ..units import FRAME_TICKS, seconds_to_ticks
from .held import Held, HeldTrack

START_TICKS = seconds_to_ticks(0.2)
"""Contiguous sound needed before the first frame: 200 ms, rule 1 of the player."""

REBUFFER_TICKS = seconds_to_ticks(0.2)
"""Contiguous sound needed to go on after a stall: 200 ms, rule 6."""

UP_TICKS = seconds_to_ticks(0.2)
"""Sound that a higher rank must hold before it is taken: ten frames, rule 3."""

AS_FAST_AS_POSSIBLE = 0
"""`start_ticks` of a reader without a clock, who calls `render` only while `can_render`."""


@dataclass(frozen=True, slots=True)
class Frame:
    """
    One frame to put out, and how.

    Args:
        pts: where it stands, a multiple of 960.
        track: whose frame is heard (at the end of the fade).
        fade_from: the track that the frame fades from, over its whole length; it holds `pts` too.
        fade_in: the first 5 ms rise from silence.
        fade_out: the last 5 ms fall to silence.
        bridge: nothing holds the frame behind it; what is made up may follow (live mode, as all below).
        concealed: it is made up, the first (1), second … since the last true one; it stands before `pts`.
        mend: it fades from the frame that would be made up as the first (1), second …, over its length.
    """

    pts: int
    track: int
    fade_from: int | None = None
    fade_in: bool = False
    fade_out: bool = False
    bridge: bool = False
    concealed: int = 0
    mend: int = 0


class Playout:
    """
    The player's rules as one object: arrivals in, frames out.

    Args:
        start_ticks: contiguous sound wanted before the first frame. Less than 200 ms suits a
            proven link; `AS_FAST_AS_POSSIBLE` suits a reader without a clock.
        level: conformance, see `Held`.
    """

    def __init__(self, *, start_ticks: int = START_TICKS, level: int = 1) -> None:
        self._held = Held(level)
        self._start_ticks = start_ticks
        self._next = 0
        self._end: int | None = None
        self._current: HeldTrack | None = None
        self._audible = False
        """The last frame put out did not end in silence."""
        self._dry = False
        """No frame stood ready behind the last one."""
        self._stalled = False
        self.paused = False
        """The listener paused; the frame that fades out may be still to come."""
        self.stalls = 0
        """Times that the listener waited for sound in mid-speech."""
        self.stall_ticks = 0
        """Silence that `render` gave for those stalls."""

    # ------------------------------------------------------------ arrivals

    def open(self, track: int, rank: int, start: int, preroll: int = 0, duration: int = 1) -> None:
        """
        A track opens; its packets run from `start - 960·preroll` on, `duration` frames each.

        Raises:
            PlayoutError: `track_in_use`, `bad_track`, `beyond_level` or `too_many_tracks`;
                nothing has changed.
        """
        self._held.open(HeldTrack(track, rank, start, preroll, duration))

    def hold(self, track: int, pts: int, packets: int) -> int:
        """
        `packets` consecutive packets arrive, the first at `pts`.

        Returns:
            How many of them, from the first, were here before or come for a track that is
            gone: the caller skips these.

        Raises:
            PlayoutError: `unknown_track`, `bad_pts` or `gap`; nothing has changed.
        """
        return self._held.hold(track, pts, packets)

    def switch(self, track: int, at: int) -> None:
        """
        Within its rank `track` wins from `at` on (without this: from its start on).

        Retunes inside a track (fades of length 0) are not told here.

        Raises:
            PlayoutError: `unknown_track`.
        """
        self._held.switch(track, at)

    def end(self, ticks: int) -> None:
        """
        The true length is known, in ticks; nothing new comes. The same length again is no fault.

        Raises:
            PlayoutError: `end_changed`, and the first length stands.
        """
        if self._end is not None and self._end != ticks:
            raise PlayoutError(f"the stream ended at {self._end}, now it is {ticks}", "end_changed")
        self._end = ticks

    def pause(self) -> None:
        """The listener pauses: the next frame fades out, then the media clock stands."""
        self.paused = True

    def resume(self) -> None:
        """The listener goes on."""
        self.paused = False

    # ------------------------------------------------------------ what may be seen

    @property
    def started(self) -> bool:
        """Whether the first frame was put out."""
        return self._next > 0

    @property
    def finished(self) -> bool:
        """Whether everything was put out."""
        return self._end is not None and self._next >= self._end

    @property
    def end_ticks(self) -> int | None:
        """The true length, None while it is not known."""
        return self._end

    @property
    def played(self) -> int:
        """Ticks put out so far; at the end, the true length."""
        return self._next if self._end is None else min(self._next, self._end)

    def buffer_ticks(self) -> int:
        """Ticks held without a hole from `played` on, at any rank, not beyond the end."""
        reach = self._held.reach(self._next)
        return max(0, (reach if self._end is None else min(reach, self._end)) - self.played)

    @property
    def live(self) -> tuple[int, ...]:
        """The numbers of the tracks that are not gone, oldest first."""
        return tuple(track.number for track in self._held)

    @property
    def highest(self) -> tuple[tuple[int, int], ...]:
        """(track, pts of the last frame that came) of each live track that has any packet."""
        return tuple((t.number, t.next - FRAME_TICKS) for t in self._held if t.next > t.first)

    @property
    def wanted(self) -> tuple[tuple[int, int], ...]:
        """(track, pts of the next packet) of each live track: where a reconnect goes on."""
        return tuple((track.number, track.next) for track in self._held)

    @property
    def can_render(self) -> bool:
        """
        Whether `render` would give a frame now that need not fade out for want of the next.

        On a single track, what such a frame will be depends on nothing that is still to come.
        """
        if self.paused or self.finished or (self._waits and not self._enough()):
            return False
        return self._choose(self._next)[1]

    # ------------------------------------------------------------ frames

    def render(self) -> Frame | None:
        """
        The next frame; it is committed and never changes.

        Returns:
            None for 20 ms of silence: before the start, in a stall, in a pause, after the end.
        """
        if self.finished or (self.paused and not self._audible):
            return None
        if self._waits and not self._enough():
            self._note_stall()
            return None
        track, goes_on = self._choose(self._next)
        assert track is not None, "a frame is held wherever sound goes on"
        return self._commit(track, goes_on)

    def _commit(self, track: HeldTrack, goes_on: bool) -> Frame:
        pts, before = self._next, self._current
        last = self._is_last(pts)
        frame = Frame(
            pts,
            track.number,
            before.number if before and self._audible and before is not track else None,
            fade_in=self.started and not self._audible,
            fade_out=not last and (self.paused or not goes_on),
        )
        self._next = pts + FRAME_TICKS
        self._current = track
        self._audible = not frame.fade_out
        self._dry = self._held.reach(self._next) == self._next
        self._stalled = False
        self._held.retire(self._next)
        return frame

    def _is_last(self, pts: int) -> bool:
        return self._end is not None and pts + FRAME_TICKS >= self._end

    @property
    def _waits(self) -> bool:
        """Whether sound goes on only when enough of it is held."""
        return self._dry or not self.started

    def _enough(self) -> bool:
        """Whether what is held suffices to start, or to go on after a stall."""
        reach = self._held.reach(self._next)
        if self._end is not None and reach >= self._end:
            return True
        return reach - self._next >= max(self._need, FRAME_TICKS)

    @property
    def _need(self) -> int:
        """Ticks that suffice."""
        return REBUFFER_TICKS if self.started else self._start_ticks

    def _note_stall(self) -> None:
        if self.started:
            self.stalls += not self._stalled
            self._stalled = True
            self.stall_ticks += FRAME_TICKS

    # ------------------------------------------------------------ choice

    def _choose(self, pts: int) -> tuple[HeldTrack | None, bool]:
        """The track that plays the frame at `pts`, and whether sound goes on behind it."""
        until = pts if self._is_last(pts) else pts + FRAME_TICKS
        low = self._current is None or self._current.rank == 0
        # A low rank stays until the high one is ripe, yet an unripe one is better than silence.
        for rank in (0, 1) if low and not self._ripe(1, pts) else (1, 0):
            track = self._held.in_force(rank, pts, until)
            if track:
                return track, True
        return self._last_resort(pts), False

    def _ripe(self, rank: int, pts: int) -> bool:
        """Whether `rank` holds 200 ms from `pts` on, or all that is left."""
        need = pts + UP_TICKS
        return self._held.reach(pts, rank) >= (need if self._end is None else min(need, self._end))

    def _last_resort(self, pts: int) -> HeldTrack | None:
        """A track that holds the frame at `pts`, if none holds the next one too."""
        if self._current and self._current.holds(pts):
            return self._current
        return self._held.in_force(1, pts, pts) or self._held.in_force(0, pts, pts)
