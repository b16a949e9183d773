"""
The timeline: what an engine has said so far, by absolute sample index.

Every rung and every layer reads the same samples from here, whatever chunks the engine cut
them into. It counts samples at the engine's rate and offers whole frames in ticks; it must
not know codecs, tracks, or why a sample is wanted.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from ..units import FRAME_TICKS, frame_samples
from .pcm import check_samples

BLOCK = 8192
"""Samples in one block of storage: 16 kB, a third of a second at 24 kHz. Appending never
copies what is already held, and at most one block is held beyond what was released."""


class Timeline:
    """
    int16 samples of one utterance at `rate` Hz, appended at the end, released from the start.

    Raises:
        ValueError: a rate that does not divide into 20 ms frames.
    """

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self.produced = 0
        """Samples appended so far."""
        self.held_from = 0
        """First sample that can still be read."""
        self.ended = False
        self._frame = frame_samples(rate)
        self._blocks: deque[NDArray[np.int16]] = deque()
        self._base = 0
        """Sample index of the first block's first sample; a multiple of BLOCK."""

    @property
    def length(self) -> int | None:
        """Samples of the whole utterance, None until it has ended."""
        return self.produced if self.ended else None

    @property
    def held_samples(self) -> int:
        """Samples that are stored and not released."""
        return self.produced - self.held_from

    @property
    def ready(self) -> int:
        """Ticks up to which whole frames can be read; the last frame of an ended timeline is padded."""
        padding = self._frame - 1 if self.ended else 0
        return (self.produced + padding) // self._frame * FRAME_TICKS

    def append(self, samples: NDArray[np.int16]) -> None:
        """
        Add int16 samples, shape (n,), n ≥ 0, at the end. They are copied.

        Raises:
            ValueError: wrong dtype or shape, or the timeline has ended.
        """
        check_samples(samples, np.int16)
        if self.ended:
            raise ValueError("samples after the end of the timeline")
        taken = 0
        while taken < len(samples):
            offset = self.produced % BLOCK
            if not self._blocks or self.produced == self._base + BLOCK * len(self._blocks):
                self._add_block()
            piece = samples[taken : taken + BLOCK - offset]
            self._blocks[-1][offset : offset + len(piece)] = piece
            taken += len(piece)
            self.produced += len(piece)

    def end(self) -> None:
        """Nothing more comes. Ending twice is no fault."""
        self.ended = True

    def read(self, first: int, stop: int) -> NDArray[np.int16]:
        """
        Samples first … stop - 1, a copy: int16, shape (stop - first,).

        Zeros stand before sample 0 and, once ended, past the length.

        Raises:
            LookupError: some of them are released or not produced yet.
            ValueError: `stop` lies before `first`.
        """
        if stop < first:
            raise ValueError(f"cannot read from {first} back to {stop}")
        begin, end = max(first, 0), min(stop, self.produced)
        if stop > self.produced and not self.ended:
            raise LookupError(f"sample {stop - 1} is not produced; there are {self.produced}")
        out = np.zeros(stop - first, np.int16)
        if begin < end:
            if begin < self.held_from:
                raise LookupError(f"sample {begin} is released; held from {self.held_from}")
            self._copy(begin, out[begin - first : end - first])
        return out

    def release(self, sample: int) -> None:
        """Forget everything before `sample`; going backwards or past the end does no harm."""
        self.held_from = max(self.held_from, min(sample, self.produced))
        while self._blocks and self._base + BLOCK <= self.held_from:
            self._blocks.popleft()
            self._base += BLOCK

    def _add_block(self) -> None:
        if not self._blocks:
            self._base = self.produced - self.produced % BLOCK
        self._blocks.append(np.empty(BLOCK, np.int16))

    def _copy(self, begin: int, out: NDArray[np.int16]) -> None:
        """Fill `out` from sample `begin` on; all of it is held."""
        done = 0
        while done < len(out):
            index, offset = divmod(begin + done - self._base, BLOCK)
            piece = self._blocks[index][offset : offset + len(out) - done]
            out[done : done + len(piece)] = piece
            done += len(piece)
