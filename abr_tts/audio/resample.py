"""
Changing the sample rate, in a stream or a frame at a time, by soxr or by what is given instead.

soxr's HQ float32 streams have zero net delay and give the bits of one shot however the input
is cut; int16 mode dithers and is not used. Another `Resampler`, such as that of `torch_resample`,
keeps the same lengths and is no later, so that nothing but samples depends on which it is. Knows
samples and rates; it must not know who plays them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Protocol

import numpy as np
import soxr
from numpy.typing import NDArray

from ..units import FRAMES_PER_SECOND, convert_length, frame_samples
from .pcm import check_samples

QUALITY = "HQ"
"""soxr's recipe: 20-bit precision, pass band to 0.913 of Nyquist, linear phase."""

LOOKAHEAD_S = 312 / 48_000
"""Seconds beyond a frame that an Opus encoder of any mode wants with it (see `opus.track_lookahead`)."""

LAG_STEP_S, LAG_PROBE_S = 0.005, 2.0
"""`lag_frames` pushes silence in steps this long, for so long: longer than any lump of soxr."""

NAMES = ("soxr", "torchaudio")
"""What `by_name` knows."""

Float32 = NDArray[np.float32]


class Chunks(Protocol):
    """The filter's state of one stream."""

    def resample_chunk(self, samples: Float32, last: bool) -> Float32:
        """
        Next input, float32, shape (n,), n ≥ 0 → what is ready, float32, shape (m,), m ≥ 0.

        Output sample k lies at the time of input sample k·in/out: no delay. With `last` silence
        follows, and all that the input's length gives comes out, or a little more.
        """


class Resampler(Protocol):
    """
    A way to change rates. Those that are equal are alike and may stand for each other.

    None may be later than `lag_frames` says of soxr: a stream is paced by that alone, so that its
    decisions, and a replay of them, are the same by any resampler.
    """

    def stream(self, in_rate: int, out_rate: int) -> Chunks:
        """The state of a new stream, between two rates that differ."""

    def whole(self, samples: Float32, in_rate: int, out_rate: int) -> Float32:
        """One shot: float32, shape (n,) → float32, n·out/in samples, give or take one."""


@dataclass(frozen=True, slots=True)
class Soxr:
    """soxr, at the one quality of this house."""

    def stream(self, in_rate: int, out_rate: int) -> Chunks:
        """Bit for bit one shot, however it is cut."""
        chunks: Chunks = soxr.ResampleStream(in_rate, out_rate, 1, dtype="float32", quality=QUALITY)
        return chunks

    def whole(self, samples: Float32, in_rate: int, out_rate: int) -> Float32:
        """Bit for bit the stream."""
        out: Float32 = soxr.resample(samples, in_rate, out_rate, QUALITY)
        return out


SOXR = Soxr()
"""What is used where nothing else is asked for."""


def by_name(name: str, device: str = "auto") -> Resampler:
    """
    The resampler of one of NAMES; `device` is for torchaudio alone, see `torch_resample.find`.

    Raises:
        MissingDependency: its library is not installed, or cannot be loaded.
        ValueError: no such name or device.
    """
    if name == "soxr":
        return SOXR
    if name == "torchaudio":
        from . import torch_resample

        return torch_resample.find(device)
    raise ValueError(f"no resampler is called {name!r}; there are: {', '.join(NAMES)}")


@cache
def lag_frames(in_rate: int, out_rate: int) -> int:
    """
    Frames of later input that must be pushed before an output frame and its lookahead are surely out.

    With k + lag_frames(…) whole frames pushed, in whatever chunks, `StreamResampler` has handed
    out k frames and LOOKAHEAD_S more, by any resampler. Measured on soxr itself, which hands its
    output out in lumps: 3 between 16, 22.05, 24 and 48 kHz (up to 42 ms late), up to 9 with 8 kHz,
    1 when the rates are equal.
    """
    stream, step = StreamResampler(in_rate, out_rate), np.zeros(round(in_rate * LAG_STEP_S), np.float32)
    taken = given = 0
    late = 0.0
    while taken < in_rate * LAG_PROBE_S:
        given += len(stream.push(step))
        taken += len(step)
        late = max(late, taken / in_rate - given / out_rate)
    step_s = 0.0 if in_rate == out_rate else LAG_STEP_S
    return ceil((late + step_s + LOOKAHEAD_S) * FRAMES_PER_SECOND)


class StreamResampler:
    """
    A stream of float32 samples from `in_rate` to `out_rate` Hz.

    The concatenated output is `convert(whole input)` however the input was cut, bit for bit by
    soxr; when a piece is handed out depends on the cuts (see `lag_frames`). With equal rates
    samples pass through.
    """

    def __init__(self, in_rate: int, out_rate: int, resampler: Resampler = SOXR) -> None:
        self.in_rate, self.out_rate = in_rate, out_rate
        self._taken = self._given = 0
        self._finished = False
        self._stream: Chunks | None = None
        if in_rate != out_rate:
            self._stream = resampler.stream(in_rate, out_rate)

    def push(self, samples: Float32) -> Float32:
        """
        Next input, float32, shape (n,), n ≥ 0 → what is ready, float32, shape (m,), m ≥ 0.

        Raises:
            ValueError: wrong dtype or shape, or the stream was finished.
        """
        return self._run(samples, last=False)

    def finish(self) -> Float32:
        """The rest, so that the whole is round(n·out/in) samples long; then nothing may follow."""
        out = self._run(np.zeros(0, np.float32), last=True)
        self._finished = True
        return out

    def _run(self, samples: Float32, last: bool) -> Float32:
        check_samples(samples, np.float32)
        if self._finished:
            raise ValueError("the resampler was finished")
        self._taken += len(samples)
        out = samples
        if self._stream is not None:
            out = self._stream.resample_chunk(np.ascontiguousarray(samples), last=last)
        if last:
            out = fit(out, convert_length(self._taken, self.in_rate, self.out_rate) - self._given)
        self._given += len(out)
        return out


def convert(samples: Float32, in_rate: int, out_rate: int, resampler: Resampler = SOXR) -> Float32:
    """One shot: float32, shape (n,) → float32, shape (round(n·out/in),), half up."""
    stream = StreamResampler(in_rate, out_rate, resampler)
    return np.concatenate([stream.push(samples), stream.finish()])


def resample_window(
    prev: Float32,
    frame: Float32,
    following: Float32,
    in_rate: int,
    out_rate: int,
    resampler: Resampler = SOXR,
) -> Float32:
    """
    One 20 ms frame at another rate, from itself and its neighbours, without any state.

    Args:
        prev, frame, following: float32, each shape (in_rate // 50,); silence where there is none.

    Returns:
        float32, shape (out_rate // 50,): what the stream gives there, to -97 dB or better.

    Raises:
        ValueError: a wrong shape, or a rate that does not divide into 20 ms frames.
    """
    size, out_size = frame_samples(in_rate), frame_samples(out_rate)
    if not len(prev) == len(frame) == len(following) == size:
        raise ValueError(f"want three frames of {size}; got {len(prev)}, {len(frame)}, {len(following)}")
    if in_rate == out_rate:
        return frame
    window = np.concatenate([prev, frame, following])
    check_samples(window, np.float32)
    return fit(resampler.whole(window, in_rate, out_rate), 3 * out_size)[out_size : 2 * out_size]


def fit(samples: Float32, length: int) -> Float32:
    """The samples cut or filled with zeros to exactly `length`."""
    if len(samples) >= length:
        return samples[:length]
    return np.concatenate([samples, np.zeros(length - len(samples), np.float32)])
