"""
What one listener heard of one utterance: the simulator's record of it, and its sound. Pure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from abr_tts.sim.result import Utterance

Int16 = NDArray[np.int16]


@dataclass(slots=True)
class Ear:
    """
    Grows while an utterance is heard.

    Args:
        audio_s: its true length.
        asked_at: on `time.monotonic()`, as all times here.
    """

    audio_s: float
    asked_at: float
    rate: int = 0
    """Of the sound, Hz."""
    first_at: float | None = None
    """When the first frame sounded."""
    ended_at: float = math.inf
    complete: bool = False
    stalls: int = 0
    stall_s: float = 0.0
    runs: list[tuple[str, float]] = field(default_factory=list)
    """(rung, seconds) of what was heard, in order."""
    pieces: list[Int16] = field(default_factory=list)
    silences: list[tuple[int, float]] = field(default_factory=list)
    """(samples of speech heard before, seconds) of each wait in mid-speech."""
    samples: int = 0
    wire_bytes: int = 0
    concealed_s: float = 0.0
    """Seconds that a decoder made up because their packets were lost."""
    hole_s: float = 0.0
    """Of those, what lies in holes too long to be made up: it counts as stalled."""
    recovered_s: float = 0.0
    """Seconds decoded from the copy in the packet behind (FEC)."""
    fault: str = ""

    def frame(self, at: float, samples: Int16, rung: str, stalls: int, stall_s: float) -> None:
        """
        A frame sounds.

        Args:
            samples: int16, at `rate`.
            rung: "" for one that earns nothing.
            stalls, stall_s: of the utterance so far; what is new stood before this frame.
        """
        if self.first_at is None:
            self.first_at = at
        if stall_s > self.stall_s:
            self.silences.append((self.samples, stall_s - self.stall_s))
        self.stalls, self.stall_s = stalls, stall_s
        self.pieces.append(samples)
        self.samples += len(samples)
        if rung:
            seconds = len(samples) / self.rate
            if self.runs and self.runs[-1][0] == rung:
                self.runs[-1] = (rung, self.runs[-1][1] + seconds)
            else:
                self.runs.append((rung, seconds))

    def speech(self) -> Int16:
        """What was heard without the waits: it lies on the source sample by sample."""
        return np.concatenate(self.pieces) if self.pieces else np.zeros(0, np.int16)

    def as_heard(self) -> Int16:
        """What came out of the loudspeaker: the waits are silence."""
        speech, parts, at = self.speech(), [], 0
        for sample, seconds in self.silences:
            parts += [speech[at:sample], np.zeros(round(seconds * self.rate), np.int16)]
            at = sample
        return np.concatenate([*parts, speech[at:]])

    def utterance(self, zero: float, first_pcm_at: float | None) -> Utterance:
        """
        The record that `sim.score` judges.

        Args:
            zero: second 0 of the network's time.
            first_pcm_at: when the engine's first samples were there; None: they never were.
        """
        record = Utterance(self.audio_s, self.asked_at - zero)
        record.ended_at, record.complete = self.ended_at - zero, self.complete
        record.stalls, record.stall_s = self.stalls, self.stall_s + self.hole_s
        record.runs, record.wire_bytes = tuple(self.runs), self.wire_bytes
        if self.first_at is not None:
            record.startup_s = self.first_at - self.asked_at
            if first_pcm_at is not None:
                record.delivery_s = self.first_at - first_pcm_at
        return record
