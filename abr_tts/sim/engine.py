"""
An engine as a schedule: which chunk of speech is there when. No sound is made here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

MEDIAN_S, SPREAD = 5.5, 0.6
"""Seconds of speech in an utterance: log-normal. The median is a sentence or two of an
assistant's answer; with this spread nine in ten lie within the bounds."""

SHORTEST_S, LONGEST_S = 2.0, 20.0
"""Bounds of an utterance; what falls outside is drawn again."""

REST_S = (2.0, 6.0)
"""Seconds of silence between two utterances, uniform: the listener's turn."""


@dataclass(frozen=True, slots=True)
class EngineModel:
    """
    How an engine delivers speech.

    Args:
        real_time_factor: seconds of work for one second of speech.
        spread: of the work for one chunk about that, log-normal (sigma); 0: every chunk takes the same.
        chunk_s: speech in one chunk; the last of a clause is shorter.
        late_s: seconds of extra work before an utterance's first chunk.
        clause_s: bounds of the length of a clause, uniform.
        rate: Hz of its samples.
    """

    real_time_factor: float = 0.3
    chunk_s: float = 0.4
    late_s: float = 0.0
    clause_s: tuple[float, float] = (1.5, 4.0)
    rate: int = 22_050
    spread: float = 0.0

    def clauses(self, audio_s: float, rng: Random) -> list[list[tuple[float, int]]]:
        """
        Cut `audio_s` seconds of speech into clauses of chunks.

        Returns:
            By clause, (seconds after the clause was begun, samples) of each chunk.
        """
        clauses: list[list[tuple[float, int]]] = []
        left = round(audio_s * self.rate)
        while left > 0:
            length = min(left, round(rng.uniform(*self.clause_s) * self.rate))
            clauses.append(list(self._chunks(length, 0.0 if clauses else self.late_s, rng)))
            left -= length
        return clauses

    def _chunks(self, samples: int, late_s: float, rng: Random) -> Iterator[tuple[float, int]]:
        size = max(1, round(self.chunk_s * self.rate))
        extra_s = late_s
        for begin in range(0, samples, size):
            end = min(samples, begin + size)
            if self.spread:  # of mean 1, so that the whole takes as long as without
                luck = rng.lognormvariate(-(self.spread**2) / 2, self.spread)
                extra_s += self.real_time_factor * (luck - 1) * (end - begin) / self.rate
            yield extra_s + self.real_time_factor * end / self.rate, end - begin


NEURAL = EngineModel()
"""A streaming neural model on a GPU: three times as fast as speech, chunks of 0.4 s."""

EMBEDDED = EngineModel(real_time_factor=1 / 750, chunk_s=0.06)
"""espeak-ng: 60 ms chunks at some 750 times real time."""

SLOW = EngineModel(real_time_factor=0.9, chunk_s=4.0, late_s=3.0)
"""Hardly faster than speech, and late: what must never be taken for a bad network."""


def conversation(seed: str) -> Iterator[tuple[float, float]]:
    """Without end: (seconds of speech, seconds of rest after it) of utterance after utterance."""
    rng = Random(seed)
    while True:
        length = rng.lognormvariate(0.0, SPREAD) * MEDIAN_S
        if SHORTEST_S <= length <= LONGEST_S:
            yield length, rng.uniform(*REST_S)
