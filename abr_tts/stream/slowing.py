"""
Speech made slower without another pitch: WSOLA (Verhelst and Roelands, ICASSP 1993), frame by frame.

Now and then a frame fades into the sound that stood a pitch period or a few before it, the place that
looks most like what would have followed, and goes on from there: so much sound is heard twice. Between
those joins nothing is touched, no sample waits, and the last sample given is always the last one taken.
It must not know why speech is to be slower, or where it stands.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..audio.pcm import to_float, to_int16
from ..units import frame_samples
from .mixing import cross_fade, rise

SPEED = 0.9
"""Of the voice's own pace: slower sounds drawn out (the house's rule for players)."""

SHORTEST_S, LONGEST_S = 0.0025, 0.015
"""What one join may repeat: a period of a voice of 400 Hz, and one of 67 Hz."""

AHEAD_S = 0.0075
"""Seconds that a join may repeat beyond what is owed, the tolerance of WSOLA: half of the longest."""

ALIKE = 0.6
"""Correlation of the two places from which on a join is taken at once: voiced speech has more, in
fricatives and at onsets it is less (by the meters of `audio.seam`)."""

LATEST_S = 0.020
"""Seconds owed from which on the best place is taken, however little it is alike: ten frames at 0.9."""

QUIET = 10 ** (-50 / 20)
"""RMS below which any join will do: it is not heard."""

Int16 = NDArray[np.int16]


class Slower:
    """
    Frames in, sound out, as a queue.

    Args:
        rate: Hz, a multiple of 50.
    """

    def __init__(self, rate: int) -> None:
        self._rate, self._size = rate, frame_samples(rate)
        self._shortest, self._longest = round(rate * SHORTEST_S), round(rate * LONGEST_S)
        self._past = np.zeros(0, np.int16)
        self._owed = 0.0
        """Samples that should have been added by now."""
        self._out = np.zeros(0, np.int16)

    @property
    def waiting(self) -> int:
        """Samples that were not taken yet."""
        return len(self._out)

    def push(self, frame: Int16, slow: bool) -> int:
        """
        The next 20 ms, or less at the very end.

        Args:
            frame: int16, shape (n,).
            slow: whether it is to take longer.

        Returns:
            Samples that were added.
        """
        self._owed = self._owed + len(frame) * (1 / SPEED - 1) if slow else 0.0
        whole = np.concatenate([self._past, frame])
        lag, likeness = self._lag(whole) if len(frame) == self._size else (0, 0.0)
        if lag:
            self._owed -= lag
            again = whole[len(self._past) - lag :][: self._size]
            frame = np.concatenate([_joined(frame, again, likeness), frame[-lag:]])
        self._out = np.concatenate([self._out, frame])
        self._past = whole[-self._longest :]
        return lag

    def take(self, count: int) -> Int16:
        """At most `count` samples, the oldest."""
        taken, self._out = self._out[:count], self._out[count:]
        return taken

    def cut(self) -> None:
        """What follows has nothing to do with what was: silence lies between."""
        self._past, self._owed = self._past[:0], 0.0

    def _lag(self, whole: Int16) -> tuple[int, float]:
        """How far before its last frame `whole` goes on best, and how alike it is; 0: no join now."""
        if len(whole) < self._longest + self._size or self._owed < self._shortest:
            return 0, 0.0
        sound = to_float(whole)
        frame = sound[-self._size :].astype(np.float64)
        most = min(self._longest, int(self._owed + self._rate * AHEAD_S))
        past = sound[-self._size - most :].astype(np.float64)
        alike = _likeness(past, frame)[: most - self._shortest + 1]
        best = int(np.argmax(alike))
        quiet = float(np.mean(frame**2)) < QUIET**2
        if alike[best] < ALIKE and not quiet and self._owed < self._rate * LATEST_S:
            return 0, 0.0
        return most - best, float(alike[best])


def _joined(old: Int16, new: Int16, likeness: float) -> Int16:
    """
    From `old` to `new`, as loud throughout as they are.

    A fade of equal gain is, of sounds that are the same; of others it dips, up to 3 dB, and is raised.
    """
    weight = rise(len(old)).astype(np.float64)
    power = 1 - 2 * weight * (1 - weight) * (1 - min(max(likeness, 0.0), 1.0))
    return to_int16((cross_fade(to_float(old), to_float(new)) / np.sqrt(power)).astype(np.float32))


def _likeness(sound: NDArray[np.float64], frame: NDArray[np.float64]) -> NDArray[np.float64]:
    """
    The correlation, -1 to 1, of `frame` with each stretch of `sound` of its length, by its beginning;
    weighed as both are heard in a fade between them, most in the middle.
    """
    weight = rise(len(frame)).astype(np.float64)
    both_heard = weight * (1 - weight)
    powers = np.correlate(sound**2, both_heard, "valid") * np.sum(both_heard * frame**2)
    product: NDArray[np.float64] = np.correlate(sound, both_heard * frame, "valid")
    return product / np.sqrt(np.maximum(powers, 1e-12))
