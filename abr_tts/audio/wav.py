"""
The header of a WAV file or stream of 16-bit mono speech. Knows sizes, and no samples.
"""

from __future__ import annotations

import struct

UNKNOWN = 0xFFFF_FFFF
"""Size of a chunk that ends with the stream: what ffmpeg writes to pipes."""

_BEFORE_DATA = 36
"""Bytes of a RIFF chunk before those of its data: "WAVE", the format, the head of the data."""


def header(rate: int, samples: int | None = None) -> bytes:
    """
    44 bytes: PCM, 16 bits, mono, `rate` Hz.

    Args:
        samples: how many follow; None: readers go on to the end of the stream.

    Raises:
        ValueError: more than 32 bits of size can say.
    """
    data = UNKNOWN if samples is None else 2 * samples
    riff = UNKNOWN if samples is None else data + _BEFORE_DATA
    if riff > UNKNOWN:
        raise ValueError(f"{samples} samples are more than a WAV file can hold")
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16)
    return struct.pack("<4sI4s", b"RIFF", riff, b"WAVE") + form + struct.pack("<4sI", b"data", data)
