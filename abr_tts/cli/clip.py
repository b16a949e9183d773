"""A WAV file of somebody's speech, read whole. Knows files, and nothing of voices."""

from __future__ import annotations

import wave
from typing import TYPE_CHECKING, Any

from .failure import Failure

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LEAST_HZ, MOST_HZ = 1_000, 1_000_000
"""Rates of a file that are believed: beyond them no device records, and a damaged header is likely."""


def read_clip(path: str) -> tuple[npt.NDArray[np.float32], int]:
    """
    The sound of a WAV file: float32, full scale at ±1.0, shape (n,) or (n, 2); and its rate in Hz.

    Raises:
        Failure: it cannot be read, is no WAV file of 8, 16, 24 or 32 bits, has more channels, or a rate
            that cannot be.
    """
    try:
        with wave.open(path, "rb") as file:
            channels, width, rate = file.getnchannels(), file.getsampwidth(), file.getframerate()
            data = file.readframes(file.getnframes())
    except (wave.Error, EOFError, RuntimeError) as fault:  # the last of a chunk that leads out of the file
        raise Failure(f"{path} is no WAV file of PCM: {str(fault) or 'it ends too soon'}") from None
    except OSError as fault:
        raise Failure(f"{path} cannot be read: {fault.strerror or fault}") from None
    if width > 4:
        raise Failure(f"{path} has samples of {8 * width} bits; 8 to 32 can be read")
    if not LEAST_HZ <= rate <= MOST_HZ:
        raise Failure(f"{path} has a rate of {rate} Hz; {LEAST_HZ} to {MOST_HZ} can be read")
    if channels > 2:
        raise Failure(f"{path} has {channels} channels; one or two can be read")
    sound = _samples(data[: len(data) // (width * channels) * width * channels], width)
    return (sound.reshape(-1, 2) if channels == 2 else sound), rate


def _samples(data: bytes, width: int) -> npt.NDArray[np.float32]:
    """PCM of 1 to 4 bytes a sample, little-endian, as floats; of one byte they are unsigned."""
    import numpy as np

    raw: npt.NDArray[Any]
    if width == 1:
        raw = (np.frombuffer(data, np.uint8).astype(np.int32) - 128) << 24
    elif width == 3:
        wide = np.zeros((len(data) // 3, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)
        raw = wide.view("<i4")[:, 0]
    else:
        raw = np.frombuffer(data, f"<i{width}").astype(np.int32) << (32 - 8 * width)
    return (raw / 2**31).astype(np.float32)
