"""Sound made slower, and its joins as `audio.seam` measures them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from abr_tts.stream.slowing import Slower


@dataclass(frozen=True)
class Join:
    """`heard` around a join, and the two whole tracks that it joins, from 40 ms before it on: float64."""

    heard: np.ndarray
    tracks: tuple[np.ndarray, np.ndarray]
    at: int
    lag: int

    @property
    def sent(self) -> tuple[np.ndarray, np.ndarray]:
        size = self.at // 2
        old, new = self.tracks
        return old[self.at - size : self.at + size], new[self.at : self.at + 2 * size]


def slowed(
    pcm: np.ndarray, rate: int, slow=lambda frame: True
) -> tuple[np.ndarray, list[tuple[int, int, int]]]:
    """All of `pcm`, slower in the frames that `slow` says; and (place in it, in the sound, lag) of joins."""
    slower, size, joins, out = Slower(rate), rate // 50, [], []
    given = 0
    for number, first in enumerate(range(0, len(pcm), size)):
        frame = pcm[first : first + size]
        lag = slower.push(frame, slow(number))
        if lag:
            joins.append((first, given, lag))
        given += len(frame) + lag
        out.append(slower.take(rate))
    return np.concatenate(out), joins


def joins_of(pcm: np.ndarray, rate: int) -> Iterator[Join]:
    """Each join of `pcm` made slower that has 60 ms on both sides."""
    sound, joins = slowed(pcm, rate)
    size = rate // 50
    before, after = 2 * size, 3 * size
    source, out = pcm / 32768.0, sound / 32768.0
    for first, at, lag in joins:
        if first - lag - before >= 0 and first + after <= len(pcm) and at + after <= len(out):
            tracks = [source[place - before : place + after] for place in (first, first - lag)]
            yield Join(out[at - before : at + after], (tracks[0], tracks[1]), before, lag)
