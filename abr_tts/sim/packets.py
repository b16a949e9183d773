"""
How large packets are, without a codec: a model of speech under variable bitrate.

A frame of speech has the same weight at every rung, and it depends on the utterance's seed
and its place alone: two controllers that send the same frame at the same rung send the same
bytes, whatever they sent before.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import NamedTuple

from ..control.ladder import Rung
from ..stream.track import EncodeJob
from ..units import FRAME_TICKS, FRAMES_PER_SECOND


class Sizes(NamedTuple):
    """Bytes of Opus packets: mean and standard deviation in speech, and in the pauses between."""

    speech: float
    speech_sd: float
    pause: float
    pause_sd: float


OPUS = {
    8: Sizes(20.4, 4.7, 12.7, 4.6),
    12: Sizes(30.4, 6.3, 17.3, 6.3),
    16: Sizes(43.0, 7.1, 24.9, 7.9),
    24: Sizes(62.4, 8.0, 34.4, 11.2),
    32: Sizes(82.2, 8.9, 46.6, 13.8),
    48: Sizes(121.4, 11.2, 70.2, 18.9),
    64: Sizes(162.3, 21.3, 152.0, 26.8),
    96: Sizes(242.7, 29.8, 229.4, 34.7),
}
"""
By kbit/s, of 20 ms packets of `audio.opus.Encoder`: 68 s of espeak-ng, en-us and cmn, at 24 kHz;
a pause is a frame below -50 dBFS (measured by tools/bench/packet_sizes.py). Up to 48 it is
hybrid, which saves in pauses, from 64 on CELT, which does not.
"""

SPEECH_S, PAUSE_S = (0.5, 4.2), (0.1, 0.6)
"""Seconds of a run of speech and of the pause behind it, uniform: 13 % pauses, as measured."""

LEAST_BYTES = 3
"""No packet is smaller: a TOC byte and a little (the smallest that was measured was 4)."""


@cache
def sizes(kbps: float) -> Sizes:
    """The table at any bitrate, linear between its lines of the same family and beyond the ends."""
    family = [line for line in OPUS if (line >= 64) == (kbps >= 64)]
    low = max([line for line in family if line <= kbps], default=family[0])
    high = min([line for line in family if line >= kbps], default=family[-1])
    if low >= high:
        scale = kbps / low
        return Sizes(*(value * scale for value in OPUS[low]))
    share = (kbps - low) / (high - low)
    return Sizes(*(a + share * (b - a) for a, b in zip(OPUS[low], OPUS[high], strict=True)))


@cache
def _blank(size: int) -> bytes:
    """One object for all packets of a size: only their length is ever looked at."""
    return bytes(size)


class SpeechSizes:
    """
    The packet sizes of one utterance.

    Args:
        seed: text; the utterance's own.
        frames: of the utterance; beyond it is padding, which weighs as a pause.
    """

    def __init__(self, seed: str, frames: int) -> None:
        rng = Random(seed)
        self._weights: list[tuple[bool, float]] = []
        speech = True
        while len(self._weights) < frames:
            run = rng.uniform(*(SPEECH_S if speech else PAUSE_S))
            self._weights += [(speech, rng.gauss(0.0, 1.0)) for _ in range(round(run * FRAMES_PER_SECOND))]
            speech = not speech

    def __len__(self) -> int:
        """Frames that have a weight: the utterance's, and what was left of its last run."""
        return len(self._weights)

    def bytes_of(self, rung: Rung, frame: int) -> int:
        """Bytes of the packet of `frame` (below 0: pre-roll) at `rung`."""
        if rung.codec != "opus":
            return round(rung.kbps * 1000 / 8 / FRAMES_PER_SECOND)
        table = sizes(rung.kbps)
        speech, weight = self._weights[frame] if 0 <= frame < len(self._weights) else (False, 0.0)
        if speech:
            return max(LEAST_BYTES, round(table.speech + weight * table.speech_sd))
        return max(LEAST_BYTES, round(table.pause + weight * table.pause_sd))

    def packets(self, job: EncodeJob) -> list[bytes]:
        """What stands for `job.run()`: packets of the right sizes."""
        first = job.pts // FRAME_TICKS
        size = self.bytes_of
        return [_blank(size(job.rung, frame)) for frame in range(first, first + job.frames)]
