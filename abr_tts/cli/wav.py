"""
WAV files of 16-bit mono speech, written while it arrives. Knows files, and nothing of speech.

A file gets its true length when it is closed. A pipe cannot be patched, so its header claims
the longest length there is, as ffmpeg and sox do; readers go on to the end of the stream.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import wave
from typing import BinaryIO, Protocol

import numpy as np
import numpy.typing as npt

from ..audio.wav import header

Int16 = npt.NDArray[np.int16]


class Output(Protocol):
    """Where speech goes."""

    async def write(self, samples: Int16, rate: int) -> None:
        """Take the next samples, int16 mono at `rate` Hz, the same rate every time."""

    async def close(self) -> None:
        """All of it was given; returns when it is where it belongs."""

    def abort(self) -> None:
        """It breaks off here; let go of everything."""


def pipe_header(rate: int) -> bytes:
    """The header of a WAV stream of unknown length: 44 bytes, PCM, 16 bits, mono, `rate` Hz."""
    return header(rate)


def pcm_bytes(samples: Int16) -> bytes:
    """Samples as WAV and raw players want them: little-endian, on any machine."""
    return samples.astype("<i2", copy=False).tobytes()


def _opened(path: str) -> BinaryIO:
    """Opened here, because `wave` complains on standard error of a file that it cannot open."""
    return open(path, "wb")


class WavFile:
    """
    A WAV file, begun at the first samples, so that a failure before leaves an old file alone.

    What was written before a failure stays and is playable.

    Args:
        target: a path, or an open binary file that can seek; that is not closed here.
    """

    def __init__(self, target: str | BinaryIO) -> None:
        self._target = target
        self._opened: BinaryIO | None = None
        self._file: wave.Wave_write | None = None

    async def write(self, samples: Int16, rate: int) -> None:
        """See `Output`."""
        if self._file is None:
            if isinstance(self._target, str):
                self._target = self._opened = _opened(self._target)
            self._file = wave.open(self._target, "wb")  # noqa: SIM115 -- closed by `close` or `abort`
            self._file.setparams((1, 2, rate, 0, "NONE", ""))
        self._file.writeframesraw(pcm_bytes(samples))

    async def close(self) -> None:
        """See `Output`."""
        if self._file is not None:
            self._file.close()
        if self._opened is not None:
            self._opened.close()

    def abort(self) -> None:
        """See `Output`."""
        for file in (self._file, self._opened):
            with contextlib.suppress(OSError):  # what went wrong first is what counts
                if file is not None:
                    file.close()


class WavPipe:
    """
    A WAV stream into a pipe, such as standard output.

    A reader who is slower than we are holds up this stream and nothing else: the pipe is
    written without blocking, so that the connection stays alive meanwhile.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._pipe = file.fileno()
        self._begun = False

    async def write(self, samples: Int16, rate: int) -> None:
        """See `Output`."""
        data = pcm_bytes(samples)
        if not self._begun:
            self._begun = True
            os.set_blocking(self._pipe, False)
            data = pipe_header(rate) + data
        while data:
            try:
                data = data[os.write(self._pipe, data) :]
            except BlockingIOError:
                await self._writable()

    async def close(self) -> None:
        """See `Output`."""
        self.abort()

    def abort(self) -> None:
        """See `Output`."""
        if self._begun:
            os.set_blocking(self._pipe, True)  # others may hold the same pipe

    async def _writable(self) -> None:
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_writer(self._pipe, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_writer(self._pipe)
