"""
Fades: from one track to another, from silence, to silence.

Gains are raised cosines of *equal gain*: both tracks carry the same speech, so equal power
would bump. Arrays are float32, shape (n,), n samples of one 20 ms frame at the output rate;
none is changed in place. It must not know which frames fade, or why.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..units import seconds_to_ticks, ticks_to_samples

SILENCE_FADE_TICKS = seconds_to_ticks(0.005)
"""Length of a fade from or to silence: 5 ms, rule 6 of the player."""

Float32 = NDArray[np.float32]


@lru_cache(maxsize=32)
def rise(count: int) -> Float32:
    """½ - ½·cos(π(n+½)/count) for n = 0 … count-1: float32, shape (count,)."""
    gain = 0.5 - 0.5 * np.cos(np.pi * (np.arange(count) + 0.5) / count)
    out: Float32 = gain.astype(np.float32)
    out.setflags(write=False)
    return out


def cross_fade(old: Float32, new: Float32) -> Float32:
    """From `old` to `new` over the whole of both; their gains add up to 1."""
    return old + (new - old) * rise(len(new))


def fade_in(frame: Float32, rate: int) -> Float32:
    """The first 5 ms at `rate` Hz rise from silence."""
    count = ticks_to_samples(SILENCE_FADE_TICKS, rate)
    return np.concatenate([frame[:count] * rise(count), frame[count:]])


def fade_out(frame: Float32, rate: int) -> Float32:
    """The last 5 ms at `rate` Hz fall to silence."""
    count = ticks_to_samples(SILENCE_FADE_TICKS, rate)
    return np.concatenate([frame[:-count], frame[-count:] * rise(count)[::-1]])
