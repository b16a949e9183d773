"""
Samples to the bytes of a format: what a body or a message of a door carries. One object a speech, from its
first sample to its last, so that nothing is heard where chunks meet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from ...audio import wav
from ...audio.encoded import KBPS, MPEG_RATES, FrameEncoder
from ...audio.ogg import OggOpus
from ...audio.pcm import encode_pcm16, to_float, to_int16
from ...audio.resample import SOXR, Resampler, StreamResampler
from ...engine.base import Samples
from ...units import convert_length
from ..speech.workshop import Workshop

T = TypeVar("T")

LOWEST_HZ, HIGHEST_HZ = 8_000, 48_000
"""Sample rates that a client may ask for."""

OPUS_HZ = 48_000
"""What Opus is decoded at (RFC 7845 section 5.1); a client may ask for it by this name alone."""


@dataclass(frozen=True, slots=True)
class Form:
    """
    Args:
        name: what requests call it.
        content_type: of a body in it.
        rates: Hz that it has; empty: any from `LOWEST_HZ` to `HIGHEST_HZ`.
        needs_av: PyAV makes it, of the extra `formats`.
    """

    name: str
    content_type: str
    rates: tuple[int, ...] = ()
    needs_av: bool = False

    def has(self, rate: int) -> bool:
        """Whether it can be had at this rate."""
        return rate in self.rates if self.rates else LOWEST_HZ <= rate <= HIGHEST_HZ


FORMS = {
    form.name: form
    for form in (
        Form("mp3", "audio/mpeg", MPEG_RATES, True),
        Form("opus", "audio/ogg", (OPUS_HZ,)),
        Form("aac", "audio/aac", MPEG_RATES, True),
        Form("flac", "audio/flac", (), True),
        Form("wav", "audio/wav"),
        Form("pcm", "audio/pcm"),
    )
}
"""By name."""


class Container(Protocol):
    """One speech in one format."""

    def begin(self) -> bytes:
        """What stands before the first sample."""

    def push(self, samples: Samples) -> bytes:
        """The next samples, int16 at the engine's rate → what they complete, perhaps nothing."""

    def finish(self) -> bytes:
        """The rest."""


class Plain:
    """pcm and wav: samples at the rate that is asked for, little-endian."""

    def __init__(self, name: str, rates: tuple[int, int], resampler: Resampler, whole: int | None) -> None:
        self._head = b""
        if name == "wav":
            self._head = wav.header(rates[1], None if whole is None else convert_length(whole, *rates))
        self._rate = _Rate(*rates, resampler)

    def begin(self) -> bytes:
        """The header of a WAV; of PCM nothing."""
        return self._head

    def push(self, samples: Samples) -> bytes:
        """See `Container`."""
        return encode_pcm16(self._rate.push(samples))

    def finish(self) -> bytes:
        """See `Container`."""
        return encode_pcm16(self._rate.finish())


class Framed:
    """mp3, aac and flac."""

    def __init__(self, name: str, rates: tuple[int, int], resampler: Resampler, kbps: int | None) -> None:
        self._rate = _Rate(*rates, resampler)
        self._encoder = FrameEncoder(name, rates[1], kbps or KBPS)

    def begin(self) -> bytes:
        """See `Container`."""
        return self._encoder.begin()

    def push(self, samples: Samples) -> bytes:
        """See `Container`."""
        return self._encoder.push(self._rate.push(samples))

    def finish(self) -> bytes:
        """See `Container`."""
        return self._encoder.push(self._rate.finish()) + self._encoder.finish()


class _Rate:
    """int16 of one rate to int16 of another; samples pass unchanged where the two are the same."""

    def __init__(self, in_rate: int, out_rate: int, resampler: Resampler) -> None:
        same = in_rate == out_rate
        self._stream = None if same else StreamResampler(in_rate, out_rate, resampler)

    def push(self, samples: Samples) -> Samples:
        return samples if self._stream is None else to_int16(self._stream.push(to_float(samples)))

    def finish(self) -> Samples:
        return np.zeros(0, np.int16) if self._stream is None else to_int16(self._stream.finish())


class OggStream:
    """
    Packets of a speech (`speech.Packets`) to Ogg pages.

    Args:
        serial: 32 bits at random.
        input_rate: Hz of the engine, for players that show it.
    """

    def __init__(self, serial: int, input_rate: int) -> None:
        self._ogg = OggOpus(serial, input_rate=input_rate)

    def begin(self) -> bytes:
        """The two header pages."""
        return self._ogg.begin()

    def push(self, packets: Sequence[bytes], end: int | None = None) -> bytes:
        """The next packets; with the last ones, the ticks of the whole."""
        return self._ogg.pages(packets, end)

    def finish(self) -> bytes:
        """An end, where the last packets had none: of a speech without a sound."""
        return self._ogg.finish()


def find(name: str) -> Form:
    """
    The format of this name.

    Raises:
        KeyError: there is none.
    """
    return FORMS[name]


def make(
    name: str,
    in_rate: int,
    out_rate: int,
    *,
    resampler: Resampler = SOXR,
    kbps: int | None = None,
    whole: int | None = None,
) -> Container:
    """
    Args:
        name: any of `FORMS` but `opus`, whose packets a speech gives itself.
        in_rate, out_rate: Hz of the engine, and what is asked for.
        kbps: of mp3 and aac.
        whole: samples of the whole speech, where they are known: for the sizes of a WAV.

    Raises:
        MissingDependency: PyAV is not installed.
        ValueError: a rate or bitrate that the format does not have.
    """
    if not find(name).has(out_rate):
        raise ValueError(f"{name} cannot be had at {out_rate} Hz")
    if name in ("pcm", "wav"):
        return Plain(name, (in_rate, out_rate), resampler, whole)
    return Framed(name, (in_rate, out_rate), resampler, kbps)


async def in_thread(workshop: Workshop, work: Callable[[], T]) -> T:
    """What `work` gives, run on a codec thread; raises what it raises."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def done(value: T) -> None:
        if not future.done():
            future.set_result(value)

    def failed(error: Exception) -> None:
        if not future.done():
            future.set_exception(error)

    workshop.submit(work, done, failed)
    return await future
