"""
What one listener heard, frame by frame, and when. Pure; times are seconds since the request.

The listening calls `frame` and `look`; picture and report read. It knows no server.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..units import FRAME_TICKS, ticks_to_seconds

FRAME_S = ticks_to_seconds(FRAME_TICKS)
"""Seconds of one frame."""

APART_S = 0.25
"""Seconds between two frames from which they count as two spells, though no stall was told: the
listening program itself stood still."""

Int16 = npt.NDArray[np.int16]


class Spell(NamedTuple):
    """From `begin` to `end` one rung was heard, or (`rung` is "") silence that was no speech."""

    begin: float
    end: float
    rung: str


class Change(NamedTuple):
    """At `at` what is heard went from one rung to another; `pts` is the first frame of the new one."""

    at: float
    pts: int
    source: str
    target: str


@dataclass(slots=True)
class Account:
    """
    Of one arm.

    Args:
        name: `adaptive` or `fixed`.
        title: for people.
    """

    name: str
    title: str
    sample_rate: int = 0
    first_audio_s: float | None = None
    first_sound_s: float | None = None
    spells: list[Spell] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    seconds_at: dict[str, float] = field(default_factory=dict)
    """Seconds of speech heard at each rung."""
    bank: list[tuple[float, float]] = field(default_factory=list)
    """(when, seconds of speech in hand)."""
    stalls: int = 0
    stall_s: float = 0.0
    bytes: int = 0
    rendered: int = 0
    """Samples of speech."""
    length: int | None = None
    """Samples of the whole speech, once its end was told."""
    complete: bool = False
    """Heard to the end; else the listening was cut off."""
    sound: list[Int16] = field(default_factory=list)
    """What came out of the loudspeaker: speech, and silence where it waited."""

    def frame(self, at: float, samples: Int16, rung: str, stalls: int, stall_s: float) -> None:
        """
        A frame was heard.

        Args:
            samples: int16, mono.
            stalls, stall_s: of the whole stream so far; what is new stood before this frame.
        """
        waited = stall_s - self.stall_s
        if waited > 0:
            end = self.spells[-1].end if self.spells else at - waited
            self.spells.append(Spell(end, max(at, end), ""))
            self.sound.append(np.zeros(round(waited * self.sample_rate), np.int16))
        self.stalls, self.stall_s = stalls, stall_s
        self._note_change(at, rung)
        self._heard(at, rung)
        self.rendered += len(samples)
        self.seconds_at[rung] = self.seconds_at.get(rung, 0.0) + len(samples) / self.sample_rate
        self.sound.append(samples)

    def look(self, at: float, bank_s: float) -> None:
        """So much speech is in hand now."""
        self.bank.append((at, bank_s))

    @property
    def heard_s(self) -> float:
        """Seconds of speech heard."""
        return self.rendered / self.sample_rate if self.sample_rate else 0.0

    @property
    def rung(self) -> str:
        """Heard last."""
        return next((spell.rung for spell in reversed(self.spells) if spell.rung), "")

    @property
    def end(self) -> float:
        """When the last frame was heard."""
        return self.spells[-1].end if self.spells else 0.0

    @property
    def waits(self) -> list[Spell]:
        """The stalls."""
        return [spell for spell in self.spells if not spell.rung]

    @property
    def lost_samples(self) -> int:
        """
        Samples of the speech that were passed over, below 0 if any were heard twice: its true
        length, or as far as a listening that was cut off had come, less what was rendered.
        """
        if not self.complete or self.length is None:
            return 0
        return self.length - self.rendered

    def waveform(self) -> Int16:
        """All that was heard, in one array."""
        return np.concatenate(self.sound) if self.sound else np.zeros(0, np.int16)

    def _note_change(self, at: float, rung: str) -> None:
        before = self.rung
        if before and before != rung:
            frame = self.sample_rate // round(1 / FRAME_S)
            self.changes.append(Change(at, self.rendered // frame * FRAME_TICKS, before, rung))

    def _heard(self, at: float, rung: str) -> None:
        last = self.spells[-1] if self.spells else None
        if last is not None and last.rung == rung and at - last.end < APART_S:
            self.spells[-1] = Spell(last.begin, at + FRAME_S, rung)
            return
        begin = last.end if last is not None and at - last.end < APART_S else at
        self.spells.append(Spell(begin, max(at, begin) + FRAME_S, rung))
