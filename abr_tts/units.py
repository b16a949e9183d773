"""
The units of the house and the only conversions between them.

Media time is counted in *ticks* of 1/48 000 s from an utterance's first sample, because
every sample rate of the ladder divides a 20 ms frame evenly and Opus itself counts in
48 kHz (RFC 7845 section 4). Wall time is in seconds as `float`, on any monotonic clock.
"""

from __future__ import annotations

TICKS_PER_SECOND = 48_000
"""Ticks in one second of media: the clock of Opus (RFC 7845 section 4)."""

FRAME_TICKS = 960
"""Ticks in one frame: 20 ms, the frame that libopus codes best for speech (RFC 6716 2.1.4)."""

FRAMES_PER_SECOND = 50
"""Frames in one second: TICKS_PER_SECOND / FRAME_TICKS."""

FRAME_MS = 20
"""Milliseconds in one frame."""


def frame_samples(rate: int) -> int:
    """
    Samples of one 20 ms frame at `rate` Hz: 441 at 22 050, 320 at 16 000, 480 at 24 000.

    Raises:
        ValueError: a rate that does not divide evenly into frames.
    """
    samples, rest = divmod(rate, FRAMES_PER_SECOND)
    if rate <= 0 or rest:
        raise ValueError(f"{rate} Hz does not divide into 20 ms frames")
    return samples


def samples_to_ticks(samples: int, rate: int) -> int:
    """Ticks of `samples` at `rate` Hz, rounded half up; exact on frame boundaries."""
    return (2 * samples * TICKS_PER_SECOND + rate) // (2 * rate)


def ticks_to_samples(ticks: int, rate: int) -> int:
    """Samples at `rate` Hz of `ticks`, rounded half up; exact on frame boundaries."""
    return (2 * ticks * rate + TICKS_PER_SECOND) // (2 * TICKS_PER_SECOND)


def convert_length(samples: int, rate: int, out_rate: int) -> int:
    """Length at `out_rate` of `samples` at `rate`: round(n·out/rate), half up."""
    return (2 * samples * out_rate + rate) // (2 * rate)


def ticks_to_seconds(ticks: int) -> float:
    """Seconds of media in `ticks`."""
    return ticks / TICKS_PER_SECOND


def seconds_to_ticks(seconds: float) -> int:
    """Ticks in `seconds` of media, rounded."""
    return round(seconds * TICKS_PER_SECOND)


def ticks_to_ms(ticks: int) -> float:
    """Milliseconds of media in `ticks`."""
    return ticks * 1000 / TICKS_PER_SECOND


def bytes_to_kbps(size: float, seconds: float) -> float:
    """Kilobits a second of `size` bytes in `seconds`."""
    return size * 8 / 1000 / seconds
