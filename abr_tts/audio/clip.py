"""
Uplink sound, both ways: samples to packets of 20 ms, and packets to mono at 16 kHz.

A client has `ClipEncoder`. A server takes two steps, because the first is cheap and the second is not:
`ClipFormat.check` holds a packet to what was said of the clip, on the event loop; `ClipDecoder` decodes
and resamples, on a codec thread. Knows samples and codecs; it must not know streams, or what the sound
is for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import BadAudio, OpusError, Unsupported
from ..units import FRAME_TICKS, FRAMES_PER_SECOND, TICKS_PER_SECOND, frame_samples, ticks_to_samples
from .libopus import Library
from .opus import RATES, Decoder, Encoder
from .pcm import FULL_SCALE, decode_pcm16, encode_pcm16, to_float, to_int16, ulaw_decode
from .resample import StreamResampler

OUT_RATE = 16_000
"""Hz of what comes out: what speech encoders of cloning and conversion read."""

CODECS = ("opus", "pcm16", "ulaw")
"""What a clip may come in."""

RATE_MOST = 48_000
"""Hz of a clip at most: more holds nothing that is kept at 16 kHz."""

OPUS_DELAY_TICKS = 312
"""What an Opus encoder holds back, and a decoder therefore gives too much at the start (RFC 7845
section 4.2, pre-skip; OPUS_GET_LOOKAHEAD at 48 kHz)."""

OPUS_KBPS = 48
"""Bitrate of a clip that `ClipEncoder` makes: transparent to speech, and an eighth of PCM's bytes at
24 kHz. A clip is cloned from, so it is worth more than what is only heard."""

_STEREO = 0x04
"""Bit of an Opus packet's first byte: it has two channels (RFC 6716 section 3.1)."""


@dataclass(frozen=True, slots=True)
class ClipFormat:
    """
    What a clip is said to be.

    Raises:
        Unsupported: a codec that there is not.
        BadAudio: a rate that the codec cannot have, or other than one or two channels.
    """

    codec: str
    rate: int
    channels: int = 1

    def __post_init__(self) -> None:
        if self.codec not in CODECS:
            raise Unsupported(f"no codec {self.codec!r} of uplink sound; there is {', '.join(CODECS)}",
                              codecs=list(CODECS))  # fmt: skip
        if self.codec == "opus":
            if self.rate not in RATES:
                raise BadAudio(
                    f"Opus has {', '.join(map(str, RATES))} Hz, not {self.rate}", rates=list(RATES)
                )
        elif self.rate % FRAMES_PER_SECOND or not 8_000 <= self.rate <= RATE_MOST:
            raise BadAudio(f"{self.rate} Hz is not a multiple of 50 Hz from 8000 to {RATE_MOST}")
        if self.channels not in (1, 2):
            raise BadAudio(f"sound has one channel or two, not {self.channels}")

    @property
    def packet_bytes(self) -> int | None:
        """Bytes of each packet; None where the codec gives each its own size."""
        if self.codec == "opus":
            return None
        width = 2 if self.codec == "pcm16" else 1
        return width * self.channels * frame_samples(self.rate)

    def check(self, packet: bytes) -> None:
        """
        Hold a packet to the format, as far as that can be seen without decoding it.

        Raises:
            BadAudio: it is something else.
        """
        size = self.packet_bytes
        if size is not None and len(packet) != size:
            odd = ", an odd number" if self.codec == "pcm16" and len(packet) % 2 else ""
            raise BadAudio(
                f"a packet of {len(packet)} bytes{odd}: 20 ms of {self.codec} at {self.rate} Hz in "
                f"{self.channels} channel{'s' * (self.channels - 1)} are {size}",
                expected=size,
            )
        if self.codec == "opus" and packet[0] & _STEREO and self.channels == 1:
            raise BadAudio("an Opus packet of two channels in a clip of one")


class ClipDecoder:
    """
    Packets in, one clip out.

    Args:
        form: what they are.
        library: libopus.
    """

    def __init__(self, form: ClipFormat, library: Library) -> None:
        self._form = form
        self._opus = Decoder(library) if form.codec == "opus" else None
        rate = TICKS_PER_SECOND if self._opus else form.rate
        self._skip = OPUS_DELAY_TICKS if self._opus else 0
        self._resampler = StreamResampler(rate, OUT_RATE)
        self._parts: list[NDArray[np.int16]] = []

    def push(self, packets: Sequence[bytes]) -> None:
        """
        The next packets, each checked by the format.

        Raises:
            BadAudio: one is not what it should be; nothing of use follows.
        """
        sound = np.concatenate([self._decode(packet) for packet in packets])
        drop = min(self._skip, len(sound))
        self._skip -= drop
        self._parts.append(to_int16(self._resampler.push(sound[drop:])))

    def finish(self) -> NDArray[np.int16]:
        """All of it: int16, shape (n,), mono, `OUT_RATE` Hz; then nothing may follow."""
        self._parts.append(to_int16(self._resampler.finish()))
        if self._opus:
            self._opus.close()
        return np.concatenate(self._parts)

    def _decode(self, packet: bytes) -> NDArray[np.float32]:
        """20 ms of mono at the decoder's rate, float32."""
        if self._opus:
            return self._decode_opus(self._opus, packet)
        samples = decode_pcm16(packet) if self._form.codec == "pcm16" else ulaw_decode(packet)
        sound = to_float(samples)
        if self._form.channels == 2:
            sound = (sound[0::2] + sound[1::2]) * np.float32(0.5)
        return sound

    def _decode_opus(self, decoder: Decoder, packet: bytes) -> NDArray[np.float32]:
        """A decoder of one channel gives the mean of two (RFC 6716 leaves that to it; libopus does)."""
        try:
            sound = decoder.decode(packet)
        except OpusError as error:
            raise BadAudio(f"an Opus packet that cannot be decoded: {error}") from None
        if len(sound) != FRAME_TICKS:
            raise BadAudio(f"an Opus packet of {len(sound) / 48:g} ms; each must have 20")
        return sound


class ClipEncoder:
    """
    Samples of any rate in, packets of 20 ms out.

    Args:
        codec: `opus` or `pcm16`.
        rate: Hz of the samples; what the codec cannot have is resampled to 48 000.
        library: libopus; for `opus` alone.

    Raises:
        Unsupported: another codec.
        ValueError: Opus without its library, or a rate of nothing.
    """

    def __init__(self, codec: str, rate: int, library: Library | None) -> None:
        if codec not in ("opus", "pcm16"):
            raise Unsupported(f"no codec {codec!r} to send; there is opus, pcm16")
        if codec == "opus" and library is None:
            raise ValueError("there is no libopus to encode with")
        if rate <= 0:
            raise ValueError(f"{rate} Hz is no sample rate")
        whole = rate % FRAMES_PER_SECOND == 0 and 8_000 <= rate <= RATE_MOST
        fits = rate in RATES if codec == "opus" else whole
        self.form = ClipFormat(codec, rate if fits else RATE_MOST)
        """What it makes, to be told in `audio_start`; mono."""
        self._opus = None
        if codec == "opus" and library is not None:
            self._opus = Encoder(library, kbps=OPUS_KBPS, rate=self.form.rate)
        self._resampler = StreamResampler(rate, self.form.rate)
        self._frame = frame_samples(self.form.rate)
        self._rest = np.zeros(0, np.float32)

    def push(self, samples: NDArray[np.int16] | NDArray[np.floating[Any]]) -> list[bytes]:
        """
        The next samples, int16 or float (full scale at ±1.0), shape (n,), or (n, 2), whose mean is taken.

        Returns:
            The packets that they complete.

        Raises:
            ValueError: another type or shape.
        """
        return self._cut(self._resampler.push(mono(samples)))

    def finish(self) -> list[bytes]:
        """The rest, filled up with silence; of Opus, with what the encoder held back."""
        tail = ticks_to_samples(OPUS_DELAY_TICKS, self.form.rate) if self._opus else 0
        packets = self._cut(np.concatenate([self._resampler.finish(), np.zeros(tail, np.float32)]))
        missing = -len(self._rest) % self._frame
        packets += self._cut(np.zeros(missing, np.float32))
        if self._opus:
            self._opus.close()
        return packets

    def _cut(self, sound: NDArray[np.float32]) -> list[bytes]:
        sound = np.concatenate([self._rest, sound])
        whole = len(sound) // self._frame * self._frame
        self._rest = sound[whole:]
        return [self._encode(frame) for frame in sound[:whole].reshape(-1, self._frame)]

    def _encode(self, frame: NDArray[np.float32]) -> bytes:
        return self._opus.encode(frame) if self._opus else encode_pcm16(to_int16(frame))


def mono(samples: NDArray[Any]) -> NDArray[np.float32]:
    """
    int16 or float, shape (n,) or (n, 2) → float32, shape (n,).

    Raises:
        ValueError: another type or shape.
    """
    if samples.dtype == np.int16:
        sound = samples.astype(np.float32) * np.float32(1 / FULL_SCALE)
    elif samples.dtype.kind == "f":
        sound = np.where(np.isfinite(samples), samples, 0).astype(np.float32)
    else:
        raise ValueError(f"want int16 or float samples, not {samples.dtype}")
    if sound.ndim == 2 and sound.shape[1] == 2:
        sound = (sound[:, 0] + sound[:, 1]) * np.float32(0.5)
    if sound.ndim != 1:
        raise ValueError(f"want samples of shape (n,) or (n, 2), not {samples.shape}")
    return sound
