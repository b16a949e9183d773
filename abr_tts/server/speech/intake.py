"""
One clip on its way in: packets are checked as they come, decoded on a codec thread, and at the end
there is the whole clip, or one error.

It holds what waits for the thread and what was decoded: at most `limits.uplink_s` of sound in all.
Knows neither the connection nor what the clip is for.
"""

from __future__ import annotations

from collections.abc import Callable

from ...audio.clip import OUT_RATE, ClipDecoder, ClipFormat
from ...audio.libopus import Library
from ...engine.base import Samples
from ...errors import AudioTooLong, BadAudio
from ...units import FRAME_MS, FRAME_TICKS, TICKS_PER_SECOND
from ...wire.messages import UplinkAudio
from .workshop import Workshop

BATCH = 50
"""Packets decoded in one go, a second of sound: some 2 ms of a thread, so that speech which somebody
waits for does not wait for a clip."""

SLACK_TICKS = TICKS_PER_SECOND
"""How urgent a clip is: as speech that is needed in a second."""


class Intake:
    """
    Args:
        form: what the clip is said to be.
        most_s: seconds of sound that it may have.
        workshop, library: the server's.
        done: called once with the whole clip, int16, mono, 16 kHz, after `end`.
        failed: called once with what is wrong with a packet, if anything is.
    """

    def __init__(
        self,
        form: ClipFormat,
        most_s: float,
        workshop: Workshop,
        library: Library,
        done: Callable[[Samples], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._form, self._most_s, self._workshop = form, most_s, workshop
        self._decoder = ClipDecoder(form, library)
        self._done, self._failed = done, failed
        self._waiting: list[bytes] = []
        self._packets = 0
        self._busy = self._ended = self._closed = False

    def push(self, message: UplinkAudio) -> None:
        """
        More of it.

        Raises:
            BadAudio: not what was said of the clip, or not what follows.
            AudioTooLong: more than it may have.
        """
        due = self._packets * FRAME_TICKS
        if message.pts != due:
            raise BadAudio(f"sound at pts {message.pts}, where {due} is next", expected=due)
        for packet in message.packets:
            self._form.check(packet)
        # An encoder of Opus holds a little back, for which its last packet may be needed.
        most = round(self._most_s * 1000) // FRAME_MS + (self._form.codec == "opus")
        self._packets += len(message.packets)
        if self._packets > most:
            raise AudioTooLong(f"more than {self._most_s:g} s of sound", limit=round(self._most_s * 1000))
        self._waiting.extend(message.packets)
        self._decode()

    def end(self) -> None:
        """
        No more of it comes; `done` follows.

        Raises:
            BadAudio: there was none.
        """
        if not self._packets:
            raise BadAudio("the clip ended before there was any sound")
        self._ended = True
        self._decode()

    def close(self) -> None:
        """It is not wanted any more; nothing is called."""
        self._closed = True
        self._waiting.clear()

    def _decode(self) -> None:
        """The next batch to a thread, one at a time; the rest of it when the end has come."""
        if self._busy or self._closed:
            return
        if self._waiting and (self._ended or len(self._waiting) >= BATCH):
            batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
            self._submit(lambda: self._decoder.push(batch), self._go_on)
        elif self._ended and not self._waiting:
            self._submit(self._decoder.finish, self._finished)

    def _submit(self, work: Callable[[], object], then: Callable[[object], None]) -> None:
        self._busy = True
        self._workshop.submit(work, then, self._fail, SLACK_TICKS)

    def _go_on(self, _: object) -> None:
        self._busy = False
        self._decode()

    def _finished(self, clip: object) -> None:
        if not self._closed:
            self._closed = True
            self._done(clip[: round(self._most_s * OUT_RATE)])  # type: ignore[index]  # of `finish`

    def _fail(self, error: Exception) -> None:
        if not self._closed:
            self.close()
            self._failed(error)
