"""
What a listener holds: tracks as ranges of pts, ordered by rank and by age.

It books packets by number and position and refuses those that break the rules of tracks. It
must not know sound, time, or which frame plays next and why: that is `playout`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..errors import PlayoutError
from ..units import FRAME_TICKS

MAX_TRACKS = 64
"""Live tracks of one stream; each may own a decoder. A server that upgrades piecewise over the
longest lead (30 s) in pieces of 1 s needs half as many; a guess, on the safe side."""


@dataclass(slots=True, eq=False)
class HeldTrack:
    """
    One track: a contiguous run of frames, `start` to `next` (pts, exclusive).

    Packets run from `start - 960·preroll` on, `duration` frames each; those before `start`
    warm the decoder up and are never played. Within its rank this track wins over older ones
    from `at` on.
    """

    number: int
    rank: int
    start: int
    preroll: int = 0
    duration: int = 1
    at: int = field(init=False)
    next: int = field(init=False)

    def __post_init__(self) -> None:
        self.at, self.next = self.start, self.first

    @property
    def first(self) -> int:
        """The pts of its first packet."""
        return self.start - self.preroll * FRAME_TICKS

    def holds(self, pts: int) -> bool:
        """Whether the frame at `pts` is here and may be played."""
        return self.start <= pts < self.next

    def same_as(self, other: HeldTrack) -> bool:
        """Whether both were opened with the same words: a track told twice is no fault."""
        return (self.rank, self.first, self.start, self.duration) == (
            other.rank, other.first, other.start, other.duration,
        )  # fmt: skip


class Held:
    """
    All tracks of one stream.

    Args:
        level: conformance. 0: a single track of rank 0, from pts 0, with at most one packet of
            pre-roll; 1 and above: two ranks, any number of tracks one after another.
    """

    def __init__(self, level: int) -> None:
        self._level = level
        self._tracks: dict[int, HeldTrack] = {}
        self._retired: set[int] = set()
        self._seen = False

    def __contains__(self, number: int) -> bool:
        return number in self._tracks

    def __iter__(self) -> Iterator[HeldTrack]:
        """The live tracks, oldest first."""
        return iter(self._tracks.values())

    def open(self, track: HeldTrack) -> None:
        """
        A track opens. The same words again change nothing.

        Raises:
            PlayoutError: `track_in_use`, `bad_track`, `beyond_level` or `too_many_tracks`.
        """
        live = self._tracks.get(track.number)
        if live is not None:
            if not live.same_as(track):
                raise PlayoutError(f"track {track.number} is open already, as another one", "track_in_use")
            return
        self._check(track)
        self._retired.discard(track.number)
        self._tracks[track.number] = track
        self._seen = True

    def _check(self, track: HeldTrack) -> None:
        aligned = track.start % FRAME_TICKS == 0 and track.start >= 0
        if not aligned or track.preroll < 0 or track.duration < 1 or track.rank not in (0, 1):
            raise PlayoutError(f"track {track.number} cannot be: {track}", "bad_track")
        if self._level == 0:
            simple = track.rank == 0 and track.start == 0 and track.preroll <= track.duration
            if self._seen or not simple:
                raise PlayoutError("a level 0 client plays one track, rank 0, from pts 0", "beyond_level")
        if len(self._tracks) >= MAX_TRACKS:
            raise PlayoutError(f"more than {MAX_TRACKS} live tracks", "too_many_tracks")

    def hold(self, number: int, pts: int, packets: int) -> int:
        """
        `packets` consecutive packets arrive, the first at `pts`.

        Returns:
            How many of them, from the first, are to be skipped: they were here before, or
            their track was played to its end and is gone.

        Raises:
            PlayoutError: `unknown_track`, `bad_pts` or `gap`.
        """
        if number in self._retired:
            return packets
        track = self._find(number)
        step = track.duration * FRAME_TICKS
        if pts < track.first or (pts - track.first) % step:
            raise PlayoutError(f"track {number} has no packet at pts {pts}", "bad_pts")
        if pts > track.next:
            raise PlayoutError(f"track {number} goes on at pts {track.next}, not {pts}", "gap")
        skipped = min(packets, (track.next - pts) // step)
        track.next += (packets - skipped) * step
        return skipped

    def switch(self, number: int, at: int) -> None:
        """
        Within its rank, track `number` wins from `at` on.

        Raises:
            PlayoutError: `unknown_track`.
        """
        if number not in self._retired:
            self._find(number).at = at

    def _find(self, number: int) -> HeldTrack:
        try:
            return self._tracks[number]
        except KeyError:
            raise PlayoutError(f"no track {number} was opened", "unknown_track") from None

    def reach(self, pts: int, rank: int | None = None) -> int:
        """The pts up to which frames are held without a hole from `pts` on, by any track (of `rank`)."""
        goes_on = True
        while goes_on:
            goes_on = False
            for track in self._tracks.values():
                if track.start <= pts < track.next and rank in (None, track.rank):
                    pts, goes_on = track.next, True
        return pts

    def in_force(self, rank: int, pts: int, until: int) -> HeldTrack | None:
        """
        Of the tracks of `rank` that hold the frames from `pts` to `until` (inclusive), the one
        whose turn it is: the newest that wins by now, else the oldest.
        """
        oldest = newest = None
        for track in self._tracks.values():
            if track.rank == rank and track.start <= pts and until < track.next:
                oldest = oldest or track
                if track.at <= pts:
                    newest = track
        return newest or oldest

    def retire(self, played: int) -> None:
        """Forget tracks that are passed and that a newer track of their rank has taken over from."""
        if len(self._tracks) < 2:
            return
        passed_on: set[int] = set()
        for track in reversed(list(self)):
            if track.rank in passed_on and track.next <= played:
                del self._tracks[track.number]
                self._retired.add(track.number)
            if track.at + FRAME_TICKS <= played:
                passed_on.add(track.rank)
