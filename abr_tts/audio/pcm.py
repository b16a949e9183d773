"""
Samples as integers, as floats and as bytes: the only conversions of the house.

Sample arrays are mono, shape (n,). int16 has full scale at -32768 and 32767, float32 at
±1.0. Knows numpy and nothing else, because engine workers run it under interpreters that
have no more. It must not know rates, frames or codecs other than the two that code a
sample at a time: 16-bit linear PCM and G.711 µ-law.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

FULL_SCALE = 32768.0
"""int16 steps in 1.0 of float: a power of two, so that int16 → float32 → int16 is exact."""

ULAW_BIAS = 132
"""Added to a 16-bit magnitude before its exponent is taken: 33 in the 14-bit scale of ITU-T
G.711 (table 2a), times four."""

ULAW_CLIP = 32635
"""Largest 16-bit magnitude that µ-law codes, so that the bias does not overflow 15 bits."""


def to_float(samples: NDArray[np.int16]) -> NDArray[np.float32]:
    """
    int16, shape (n,) → float32, shape (n,): x / 32768, exact.

    Raises:
        ValueError: not int16, or not one-dimensional.
    """
    check_samples(samples, np.int16)
    return samples.astype(np.float32) * np.float32(1 / FULL_SCALE)


def to_int16(samples: NDArray[np.floating[Any]]) -> NDArray[np.int16]:
    """
    float, shape (n,) → int16, shape (n,): rounded to nearest, clipped, never wrapped.

    What is not finite becomes 0: a click of full scale is worse than a lost sample.

    Raises:
        ValueError: not floating point (integers have another full scale), or not one-dimensional.
    """
    _check_float(samples)
    scaled = np.rint(np.where(np.isfinite(samples), samples, 0) * FULL_SCALE)
    return np.clip(scaled, -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)


def count_bad(samples: NDArray[np.floating[Any]]) -> int:
    """Samples that are NaN or infinite, which `to_int16` silences."""
    _check_float(samples)
    return int(samples.size - np.count_nonzero(np.isfinite(samples)))


def encode_pcm16(samples: NDArray[np.int16]) -> bytes:
    """
    int16, shape (n,) → 2n bytes, little-endian.

    Raises:
        ValueError: not int16, or not one-dimensional.
    """
    check_samples(samples, np.int16)
    return samples.astype("<i2", copy=False).tobytes()


def decode_pcm16(data: bytes) -> NDArray[np.int16]:
    """
    2n bytes, little-endian → int16, shape (n,), writable.

    Raises:
        ValueError: an odd number of bytes; `ByteJoiner` carries half samples over.
    """
    if len(data) % 2:
        raise ValueError(f"{len(data)} bytes are not whole 16-bit samples")
    return np.frombuffer(data, "<i2").astype(np.int16)


def ulaw_encode(samples: NDArray[np.int16]) -> bytes:
    """
    int16, shape (n,) → n bytes of ITU-T G.711 µ-law.

    Raises:
        ValueError: not int16, or not one-dimensional.
    """
    check_samples(samples, np.int16)
    codes: NDArray[np.uint8] = _ulaw_codes()[samples.view(np.uint16)]
    return codes.tobytes()


def ulaw_decode(data: bytes) -> NDArray[np.int16]:
    """n bytes of ITU-T G.711 µ-law → int16, shape (n,), within ±32124."""
    return _ulaw_levels()[np.frombuffer(data, np.uint8)]


class ByteJoiner:
    """
    Joins 16-bit samples whose two bytes arrived in different chunks.

    `rest` is the byte that waits for its other half: b"" or one byte.
    """

    def __init__(self) -> None:
        self.rest = b""

    def push(self, data: bytes) -> NDArray[np.int16]:
        """Any bytes → the whole samples that they complete, int16, shape (n,)."""
        joined = self.rest + data
        whole = len(joined) & ~1
        self.rest = joined[whole:]
        return decode_pcm16(joined[:whole])


def check_samples(samples: NDArray[Any], dtype: type[np.generic]) -> None:
    """
    Hold an array to the house's form: one dimension, exactly `dtype`.

    Raises:
        ValueError: it is not.
    """
    if samples.dtype != dtype or samples.ndim != 1:
        wanted = np.dtype(dtype).name
        raise ValueError(f"want {wanted} samples, shape (n,); got {samples.dtype}, shape {samples.shape}")


def _check_float(samples: NDArray[Any]) -> None:
    if samples.dtype.kind != "f" or samples.ndim != 1:
        raise ValueError(f"want float samples, shape (n,); got {samples.dtype}, shape {samples.shape}")


@cache
def _ulaw_levels() -> NDArray[np.int16]:
    """The 256 outputs of a µ-law decoder: sign, three bits of exponent, four of mantissa, inverted."""
    code = ~np.arange(256, dtype=np.uint8)
    exponent, mantissa = (code >> 4 & 7).astype(np.int32), (code & 15).astype(np.int32)
    magnitude = ((8 * mantissa + ULAW_BIAS) << exponent) - ULAW_BIAS
    return np.where(code & 128, -magnitude, magnitude).astype(np.int16)


@cache
def _ulaw_codes() -> NDArray[np.uint8]:
    """The µ-law code of each int16, indexed by its bits as uint16."""
    sample = np.arange(65536, dtype=np.uint16).view(np.int16).astype(np.int32)
    biased = np.minimum(np.abs(sample), ULAW_CLIP) + ULAW_BIAS
    exponent = np.frexp(biased)[1].astype(np.int32) - 8
    mantissa = biased >> (exponent + 3) & 15
    codes: NDArray[np.int32] = ~(np.where(sample < 0, 128, 0) | exponent << 4 | mantissa) & 255
    return codes.astype(np.uint8)
