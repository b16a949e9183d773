"""
One speech as the bytes of one answer: in the format that is asked for, and in events where events are.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TypeVar

import msgspec

from ...stream.pacer import KernelSample
from ...units import FRAME_TICKS, samples_to_ticks
from ..doors.formats import Container, Form, OggStream, in_thread
from ..doors.speech import Line, Packets, Sound, Speech
from ..speech.workshop import Workshop
from .models import AudioDelta, AudioDone, Usage

T = TypeVar("T")


class Encoding:
    """
    An asynchronous iterator over the bytes of a speech; the first come with the first sound.

    Args:
        speech: as samples, or as packets for Ogg.
        form: of the bytes.
        container: makes what samples go into; not called for Ogg.
        workshop: threads for what takes long.
    """

    def __init__(
        self, speech: Speech, form: Form, container: Callable[[], Container], workshop: Workshop
    ) -> None:
        self._speech, self._form, self._container = speech, form, container
        self._workshop = workshop
        self.frames = 0
        """Of 20 ms so far, the last one counted whole."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._ogg() if self._speech.opus else self._contained():
            if data:
                yield data

    async def _contained(self) -> AsyncIterator[bytes]:
        container = await self._worked(self._container)
        head, ticks = container.begin(), 0
        async for piece in self._speech:
            assert isinstance(piece, Sound), "samples were asked for"
            ticks += samples_to_ticks(len(piece.samples), self._speech.rate)
            self.frames = -(-ticks // FRAME_TICKS)
            data = await self._worked(partial(container.push, piece.samples))
            if data:
                yield head + data
                head = b""
        yield head + await self._worked(container.finish)

    async def _ogg(self) -> AsyncIterator[bytes]:
        ogg = OggStream(secrets.randbits(32), self._speech.rate)
        head = ogg.begin()
        async for piece in self._speech:
            assert isinstance(piece, Packets), "packets were asked for"
            self.frames = max(0, piece.pts) // FRAME_TICKS + len(piece.packets)
            yield head + ogg.push(piece.packets, piece.end)
            head = b""
        yield head + ogg.finish()

    async def _worked(self, work: Callable[[], T]) -> T:
        return await in_thread(self._workshop, work) if self._form.needs_av else work()


def event(data: bytes) -> bytes:
    """Sound as a server-sent event."""
    return _event(msgspec.json.encode(AudioDelta(base64.b64encode(data).decode())))


def done(chars: int, frames: int) -> bytes:
    """The last event."""
    return _event(msgspec.json.encode(AudioDone(Usage(chars, frames, chars + frames))))


def failed(body: bytes) -> bytes:
    """The last event of a speech that failed."""
    return _event(body)


def _event(body: bytes) -> bytes:
    return b"data: " + body + b"\n\n"


class Inflated:
    """
    A line on which each byte of sound takes more: the controller is told of sound alone, or it would think
    that a rung costs less of the link than it does.

    Args:
        line: what carries it.
    """

    def __init__(self, line: Line) -> None:
        self._line = line
        self._sound = self._carried = 1

    def carried(self, sound: int, size: int) -> None:
        """So many bytes of sound went out in `size` bytes."""
        self._sound += sound
        self._carried += size

    def sample(self) -> KernelSample | None:
        """What is under way, as bytes of sound."""
        sample, share = self._line.sample(), self._sound / self._carried
        if sample is None:
            return None
        return KernelSample(
            round(sample.unacked_bytes * share), round(sample.user_bytes * share), sample.min_rtt_ms
        )
