"""
One task's speech on its way out: pieces of the core, in the format that was asked for, one message after
another. What is taken next waits until the socket has what came before.
"""

from __future__ import annotations

import asyncio
import logging
import math
from typing import Protocol

import numpy as np

from ...audio.ogg import OggOpus
from ...audio.pcm import to_int16
from ...engine.base import Samples
from ...errors import AbrError, Internal
from ...wire.messages import Mark
from ..doors import formats
from ..doors.speech import Packets, Sound, Speech
from ..speech.workshop import Workshop
from ..watching.logs import ids

log = logging.getLogger(__name__)

FULL_SCALE = 32_768
"""int16 of a float sample of 1."""

SILENT_DB = -128.0
"""The lowest output gain that Ogg-Opus has (RFC 7845 section 5.1): half a step of int16 becomes nothing."""


class Listener(Protocol):
    """What it needs of the connection."""

    def sentence(self, mark: Mark) -> None:
        """A sentence begins with what is sent next."""

    async def audio(self, data: bytes) -> None:
        """Send part of the speech, at least a byte; return when the kernel has it, or nobody wants it."""

    def spoken(self) -> None:
        """All was sent."""

    def failed(self, error: AbrError, counted: bool) -> None:
        """It ended before its time; whether the error is counted already."""


class Form(Protocol):
    """A speech's pieces to bytes."""

    def begin(self) -> bytes:
        """What stands before the first of them."""

    async def push(self, piece: Sound | Packets) -> bytes:
        """The next; perhaps nothing comes of it yet."""

    async def finish(self) -> bytes:
        """The rest."""


class OfSamples:
    """
    pcm, wav and mp3.

    Args:
        container: of this speech.
        gain: what samples are multiplied by.
        workshop: where it is encoded; None: at once, for it costs nothing.
    """

    def __init__(self, container: formats.Container, gain: float, workshop: Workshop | None) -> None:
        self._container, self._gain, self._workshop = container, gain, workshop

    def begin(self) -> bytes:
        """See `Form`."""
        return self._container.begin()

    async def push(self, piece: Sound | Packets) -> bytes:
        """See `Form`."""
        assert isinstance(piece, Sound), "asked for as PCM"
        samples = louder(piece.samples, self._gain)
        if self._workshop is None:
            return self._container.push(samples)
        return await formats.in_thread(self._workshop, lambda: self._container.push(samples))

    async def finish(self) -> bytes:
        """See `Form`."""
        if self._workshop is None:
            return self._container.finish()
        return await formats.in_thread(self._workshop, self._container.finish)


class OfPackets:
    """
    Ogg-Opus; its decoder makes it louder or softer.

    Args:
        serial: 32 bits that no other stream has.
        sample_rate: Hz that players show; a decoder gives 48 000, or any other that it is asked for.
        gain: what it multiplies samples by.
    """

    def __init__(self, serial: int, sample_rate: int, gain: float) -> None:
        gain_db = max(SILENT_DB, 20 * math.log10(gain)) if gain else SILENT_DB
        self._ogg = OggOpus(serial, input_rate=sample_rate, gain_db=gain_db)

    def begin(self) -> bytes:
        """See `Form`."""
        return self._ogg.begin()

    async def push(self, piece: Sound | Packets) -> bytes:
        """See `Form`."""
        assert isinstance(piece, Packets), "asked for as Opus"
        return self._ogg.pages(piece.packets, piece.end)

    async def finish(self) -> bytes:
        """See `Form`."""
        return self._ogg.finish()


def louder(samples: Samples, gain: float) -> Samples:
    """int16, each multiplied and clipped."""
    return samples if gain == 1 else to_int16(samples.astype(np.float32) * np.float32(gain / FULL_SCALE))


class Speaking:
    """
    Args:
        speech: begun.
        form: what it becomes.
        listener: the connection.
    """

    def __init__(self, speech: Speech, form: Form, listener: Listener) -> None:
        self.speech, self._form, self._listener = speech, form, listener
        self.stopped = False
        self.taken = asyncio.Event()
        """What was sent last is in the kernel, or is not wanted any more."""

    async def run(self) -> None:
        """Until all is sent, or it is stopped, or fails."""
        try:
            with self.speech:
                await self._send_all()
        except AbrError as error:
            self._fail(error, counted=True)
        except Exception as error:
            log.error(
                "a fault of the server's own in a task", exc_info=error, extra=ids(self.speech.stream_id)
            )
            self._fail(Internal("a fault of the server's own; it has been logged"), counted=False)

    def stop(self, reason: str) -> None:
        """Nothing more of it is wanted, for this reason: the engine stops within a chunk."""
        self.stopped = True
        self.speech.close(reason)
        self.taken.set()

    async def _send_all(self) -> None:
        head = self._form.begin()  # goes with the first sound: nobody needs it before
        async for piece in self.speech:
            if not self.stopped:
                await self._send(piece, head)
                head = b""
        if not self.stopped:
            await self._put(await self._form.finish())
        if not self.stopped:
            self._listener.spoken()

    async def _send(self, piece: Sound | Packets, head: bytes) -> None:
        for mark in piece.marks:
            self._listener.sentence(mark)
        data = head + await self._form.push(piece)
        await self._put(data)
        if isinstance(piece, Packets):
            self.speech.written(len(data))

    async def _put(self, data: bytes) -> None:
        if data and not self.stopped:
            self.taken.clear()
            await self._listener.audio(data)

    def _fail(self, error: AbrError, counted: bool) -> None:
        if not self.stopped:
            self._listener.failed(error, counted)
