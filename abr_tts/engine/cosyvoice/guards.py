"""
A sentence's edges: the tick before its first sound and the noise after its last are faded away.

Pure: samples in, as many samples out, the last few held back until it is known whether more come.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
"""Mono, shape (n,), full scale at ±1.0."""


class Guards:
    """
    Fades for the sentences of one request. No sample is lost or added.

    Args:
        rate: Hz.
        fade_in_ms: raised-cosine fade at the start of each sentence; 0: none.
        tail_ms: the same at its end. So much is held back until the next piece or the end comes.
    """

    def __init__(self, rate: int, fade_in_ms: float, tail_ms: float) -> None:
        self._rise = _ramp(round(rate * fade_in_ms / 1000))
        self._fall = _ramp(round(rate * tail_ms / 1000))[::-1]
        self._at = 0
        self._held: Floats = np.zeros(0, np.float32)

    def push(self, samples: Floats) -> Floats:
        """The next samples of this sentence; returns what may be heard now."""
        left = self._rise[self._at : self._at + samples.size]
        if left.size:
            samples = samples.copy()
            samples[: left.size] *= left
        self._at += samples.size
        if not self._fall.size:
            return samples
        whole = np.concatenate([self._held, samples])
        keep = max(whole.size - self._fall.size, 0)
        self._held = whole[keep:]
        return whole[:keep]

    def end(self) -> Floats:
        """The sentence is over: its last samples. The next `push` begins another."""
        rest, self._held, self._at = self._held, np.zeros(0, np.float32), 0
        return rest * self._fall[self._fall.size - rest.size :] if rest.size else rest


def _ramp(size: int) -> Floats:
    """From 0 to 1, the halves of its steps at both ends."""
    turn = np.pi * (np.arange(size) + 0.5) / max(size, 1)
    return (0.5 - 0.5 * np.cos(turn)).astype(np.float32)
