"""
The listener in live mode: as `player`, and made slower, bridged over gaps, brought back in time.

`live` decides what is bridged and dropped, `slowing` makes slower; here both become sound, and positions
stay those of the speech: a sample that is heard twice counts once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque

import numpy as np
from numpy.typing import NDArray

from ..audio.opus import Library
from ..audio.resample import SOXR, Resampler
from ..units import (
    FRAME_TICKS,
    TICKS_PER_SECOND,
    frame_samples,
    samples_to_ticks,
    seconds_to_ticks,
    ticks_to_ms,
)
from .live import Lateness, Live, LivePlayout
from .mixing import cross_fade, fade_out
from .player import Player
from .playout import START_TICKS, Frame, Playout
from .slowing import Slower

REMEMBERED = 512
"""Places kept at which sound and speech part: some minutes of the slowest speech, far more than waits in
any loudspeaker."""

LOSS_FRAMES = 100
"""Calls over which losses are told as a share: 2 s, a few reports."""

FRAME_MS = 20

Int16 = NDArray[np.int16]
Float32 = NDArray[np.float32]


class LivePlayer(Player):
    """
    Args:
        live: the listener's wishes.
        library, out_rate, level, start_ticks, resampler: as of `Player`.
    """

    def __init__(
        self,
        live: Live,
        library: Library | None,
        out_rate: int | None = None,
        level: int = 1,
        *,
        start_ticks: int = START_TICKS,
        resampler: Resampler = SOXR,
    ) -> None:
        self.live = live
        super().__init__(library, out_rate, level, start_ticks=start_ticks, resampler=resampler)
        self._slow_below = seconds_to_ticks(live.slow_below_ms / 1000)
        self._slower: Slower | None = None
        self._made_up: list[Float32] = []
        self._slowed = 0
        """Samples that slowing has added."""
        self._given = 0
        """Samples given."""
        self._lost: deque[int] = deque(maxlen=LOSS_FRAMES)
        """Ticks made up or dropped in each call."""
        self._places = [(0, 0)]
        """From so many ticks given on, sound is so many ticks of speech further."""

    def _new_playout(self, start_ticks: int, level: int) -> Playout:
        self._live = LivePlayout(self.live, start_ticks=start_ticks, level=level)
        return self._live

    def _opened(self, track: int) -> None:
        if self._decoders[track].conceals:
            self._live.conceals(track)

    # ------------------------------------------------------------ sound

    def render(self) -> Int16 | None:
        """As `Player.render`, but for the length: slower sound is longer, what is dropped is missing."""
        if self.out_rate is None:
            return None
        size = frame_samples(self.out_rate)
        if self._slower is None:
            self._slower = Slower(self.out_rate)
        before = self._live.concealed_ticks + self._live.expired_ticks
        while self._slower.waiting < size and (sound := super().render()) is not None:
            self._take_in(self._slower, sound)
        self._lost.append(self._live.concealed_ticks + self._live.expired_ticks - before)
        if not self._slower.waiting:
            return None
        sound = self._slower.take(size)
        if not self.finished:
            sound = np.pad(sound, (0, size - len(sound)))  # silence follows, or it would be a whole frame
        self._given += len(sound)
        return sound

    def _take_in(self, slower: Slower, sound: Int16) -> None:
        assert self.frame is not None and self.out_rate is not None, "it has just been rendered"
        frame = self.frame
        self._note_place(frame.pts, samples_to_ticks(self._given + slower.waiting, self.out_rate))
        whole = not (frame.fade_in or frame.fade_out or frame.concealed or frame.mend)
        added = slower.push(sound, whole and self._is_short)
        self._slowed += added
        self._live.delay(samples_to_ticks(added, self.out_rate))
        if frame.fade_out:
            slower.cut()

    def _note_place(self, pts: int, given: int) -> None:
        if pts - given != self._places[-1][1]:
            self._places = [*self._places, (given, pts - given)][-REMEMBERED:]

    @property
    def _is_short(self) -> bool:
        """Little is held, more is to come, and slower speech does no harm."""
        held, end = self._live.buffer_ticks(), self._live.end_ticks
        more = end is None or self._live.played + held < end
        return held < self._slow_below and more and self._live.in_time

    def _sound(self, frame: Frame) -> Float32:
        assert self.out_rate is not None, "a track was opened, so the rate is known"
        if frame.concealed:
            sound = self._made_up[frame.concealed]
            return fade_out(sound, self.out_rate) if frame.fade_out else sound
        before = self._made_up[frame.mend] if frame.mend else None
        self._made_up = []
        if frame.bridge:
            count = self.live.conceal_ms // FRAME_MS
            self._made_up = self._decoders[frame.track].bridge(frame.pts, count)
        sound = super()._sound(frame)
        return sound if before is None else cross_fade(before, sound)

    def _track_sound(self, track: int, pts: int) -> Float32:
        assert self.frame is not None, "it is being rendered"
        if self.frame.bridge and track == self.frame.track:
            return self._made_up[0]
        return super()._track_sound(track, pts)

    # ------------------------------------------------------------ what may be seen

    @property
    def can_render(self) -> bool:
        """As of `Player`; sound that waits is sound."""
        return self._waiting_ticks > 0 or super().can_render

    @property
    def finished(self) -> bool:
        """As of `Player`."""
        return super().finished and not self._waiting_ticks

    @property
    def played(self) -> int:
        """As of `Player`: ticks of speech, whatever time they took."""
        return max(0, super().played - self._waiting_ticks)

    @property
    def buffer_ms(self) -> int:
        """As of `Player`."""
        return super().buffer_ms + int(ticks_to_ms(self._waiting_ticks))

    @property
    def lateness(self) -> Lateness:
        """As of `Player`."""
        live, rate = self._live, self.out_rate or TICKS_PER_SECOND
        lost = sum(self._lost) / (LOSS_FRAMES * FRAME_TICKS)
        return Lateness(
            round(self._slowed * 1000 / rate), int(ticks_to_ms(live.concealed_ticks)),
            int(ticks_to_ms(live.expired_ticks)), round(min(1.0, lost), 3),
        )  # fmt: skip

    def media_at(self, ticks: int) -> int:
        """As of `Player`."""
        place = bisect_right(self._places, ticks, key=lambda place: place[0]) - 1
        return ticks + self._places[max(0, place)][1]

    @property
    def _waiting_ticks(self) -> int:
        """Sound that was made and not given."""
        if self._slower is None or self.out_rate is None:
            return 0
        return samples_to_ticks(self._slower.waiting, self.out_rate)
