"""
mp3, AAC (ADTS) and FLAC as streams of frames, by FFmpeg's encoders, which PyAV brings (extra `formats`).

No muxer is used: each frame leaves the moment that it is encoded. Nothing at the end of a stream
says how long it was, and nothing at its beginning. PyAV is loaded by `prepare` or the first encoder. Lossy
formats begin with the encoder's delay, which no header tells: mp3 1105 samples, AAC 1024.
"""

from __future__ import annotations

from fractions import Fraction
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import MissingDependency, to_install
from .pcm import check_samples

MPEG_RATES = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
"""Hz that MPEG audio layer 3 has (ISO/IEC 11172-3, 13818-3 and what is called MPEG 2.5)."""

ADTS_RATES = (96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000)
"""Hz by index (ISO/IEC 14496-3, table 1.18)."""

KBPS = 64
"""Of mp3 and AAC if nothing else is asked for: speech at 24 kHz in one channel; half of 128 in two."""

ENCODERS = {
    "mp3": ("libmp3lame", "s16p", {"reservoir": "0"}),
    "aac": ("aac", "fltp", {}),
    "flac": ("flac", "s16", {"compression_level": "2"}),
}
"""Format → encoder, its samples, options. Without a reservoir each mp3 frame can be decoded when it comes;
FLAC's level 2 has frames of 27 ms, higher ones of 105."""

NEEDS_AV = f"mp3, aac and flac need PyAV: {to_install('formats')}"
"""What is told where it is not installed."""

Int16 = NDArray[np.int16]


class FrameEncoder:
    """
    One stream: `begin`, `push` any number of times, `finish`.

    Args:
        name: `mp3`, `aac` or `flac`.
        rate: Hz of the samples.
        kbps: of mp3 and AAC.

    Raises:
        MissingDependency: PyAV is not installed.
        ValueError: a rate or bitrate that the format does not have.
    """

    def __init__(self, name: str, rate: int, kbps: int = KBPS) -> None:
        self._av = _library()
        codec, layout, options = ENCODERS[name]
        self._name, self._rate = name, rate
        if name != "flac" and rate not in MPEG_RATES:
            raise ValueError(f"{name} has no {rate} Hz; it has {', '.join(map(str, MPEG_RATES))}")
        self._context: Any = self._av.CodecContext.create(codec, "w")
        self._context.sample_rate, self._context.layout, self._context.format = rate, "mono", layout
        self._context.bit_rate, self._context.time_base = kbps * 1000, Fraction(1, rate)
        self._context.options = options
        try:
            self._context.open()
        except self._av.FFmpegError as fault:
            raise ValueError(f"{name} at {rate} Hz and {kbps} kbit/s: {fault}") from None
        self._taken = 0

    def begin(self) -> bytes:
        """What stands before the first frame: FLAC's STREAMINFO, its length unknown (RFC 9639 section 8)."""
        if self._name != "flac":
            return b""
        info = bytes(self._context.extradata)
        return b"fLaC" + bytes([0x80]) + len(info).to_bytes(3, "big") + info

    def push(self, samples: Int16) -> bytes:
        """Samples, int16, shape (n,) → the frames that they complete."""
        check_samples(samples, np.int16)
        if not len(samples):
            return b""
        frame = self._av.AudioFrame.from_ndarray(samples[np.newaxis, :], format="s16", layout="mono")
        frame.sample_rate, frame.time_base, frame.pts = self._rate, Fraction(1, self._rate), self._taken
        self._taken += len(samples)
        return self._bytes(self._context.encode(frame))

    def finish(self) -> bytes:
        """The rest; nothing may follow."""
        return self._bytes(self._context.encode(None))

    def _bytes(self, packets: list[Any]) -> bytes:
        frames = [bytes(packet) for packet in packets]
        if self._name == "aac":
            frames = [adts_header(self._rate, len(frame)) + frame for frame in frames if frame]
        return b"".join(frames)


def adts_header(rate: int, size: int) -> bytes:
    """
    The 7 bytes before an AAC-LC frame of `size` bytes, mono, without a checksum (ISO/IEC 14496-3, 1.A.2).
    """
    length = size + 7
    bits = 0xFFF1 << 40  # sync word, MPEG-4, no checksum
    bits |= 1 << 38 | ADTS_RATES.index(rate) << 34 | 1 << 30  # low complexity, rate, one channel
    bits |= length << 13 | 0x7FF << 2  # buffer fullness: variable bitrate
    return bits.to_bytes(7, "big")


def available() -> bool:
    """Whether PyAV is installed; it is not loaded."""
    return find_spec("av") is not None


def prepare() -> None:
    """
    Load PyAV where it is installed, so that the first encoder need not: 0.05 to 0.3 s, over a second from a
    cold disk, and 16 MB (measured).

    Raises:
        MissingDependency: it is installed and cannot be loaded.
    """
    if available():
        _library()


def _library() -> Any:
    try:
        import av
    except ImportError:
        raise MissingDependency(NEEDS_AV) from None
    return av
