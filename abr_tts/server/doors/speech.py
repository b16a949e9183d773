"""
One speech of a door: text in, samples or packets out, as an asynchronous iterator.

Behind it is the utterance of the native door, for which this is the connection (`Link`). A listener at a
door says nothing of itself, so what its socket has taken stands for what it has received and played: one
who does not read holds up the engine.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

import numpy as np

from ...engine.base import Samples
from ...errors import AbrError, ConnectionFault, Queued, StreamError, TextTooLong, UnknownScript
from ...stream.pacer import KernelSample
from ...units import FRAME_TICKS, samples_to_ticks, ticks_to_samples
from ...wire.messages import Audio, BitRateHint, Mark, Message, StreamEnd
from ..access.auth import Caller
from ..load.hits import limit_of
from ..load.quotas import Meter
from ..sending.outbox import Entry
from ..shared import Shared
from ..speech.reception import Accepted
from ..speech.utterance import Utterance
from ..watching.logs import ids
from .asking import Ask

log = logging.getLogger(__name__)

LOOK_EVERY_S = 0.1
"""Seconds between two looks at the kernel's queue: as often as a client would report."""


class Line(Protocol):
    """What carries packets, as far as the controller looks at it (`valve.Valve`)."""

    def sample(self) -> KernelSample | None:
        """What is under way; None when the connection is gone."""


@dataclass(frozen=True, slots=True)
class Sound:
    """
    PCM.

    Args:
        samples: int16, shape (n,), at the engine's rate.
        pts: ticks of the first.
        marks: clauses that begin in it.
    """

    samples: Samples
    pts: int
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Packets:
    """
    Opus.

    Args:
        packets: of 20 ms each.
        pts: ticks of the first; the speech's first packet has -960 and is decoded and dropped.
        end: ticks of the whole speech, in its last packets; None before.
        marks: clauses that begin in them.
    """

    packets: tuple[bytes, ...]
    pts: int
    end: int | None
    marks: tuple[Mark, ...]


class Delivery(Utterance):
    """An utterance whose listener does not report."""

    def taken(self, received: int, played: int) -> None:
        """So many bytes of the connection, and sound up to this pts, are taken: no word of the listener's."""
        self._account.taken(received, played)
        hint = BitRateHint(self.handle, received, played, 0)
        self._input(lambda now: self.core.report(hint, now))


class Speech:
    """
    Leave it as a context manager, or `close` it: until then it has its place.

    Args:
        stream_id: a UUID.
        ask, accepted: what was asked for, and what it gets.
        shared: what all sessions share; it was admitted there.
        caller, meter: who asks, and what that is held to.
        line: what carries its packets; None: what is written is taken as received.
        on_over: called once when it is over, with the reason.
        patient: it is to wait for those who listen.
    """

    def __init__(
        self,
        stream_id: str,
        ask: Ask,
        accepted: Accepted,
        shared: Shared,
        caller: Caller,
        meter: Meter,
        line: Line | None,
        on_over: Callable[[Speech, str], None],
        patient: bool = False,
    ) -> None:
        self._shared, self._caller, self._meter = shared, caller, meter
        self._line, self._on_over = line, on_over
        self._services, self._loop = shared.services, asyncio.get_running_loop()
        self.stream_id, self.voice, self.rate = stream_id, accepted.voice, accepted.voice.sample_rate
        self.opus = ask.opus
        self.closed = False
        self.warnings: list[AbrError] = []
        """What was told of it and ends nothing."""
        self._chars = len(ask.text)
        self._queue: deque[Sound | Packets] = deque()
        self._given: Sound | None = None
        self._unwritten: Audio | None = None
        self._marks: list[Mark] = []
        self._under_way: deque[tuple[int, int]] = deque()
        self._sent = self._received = self._played = 0
        self._fault: AbrError | None = None
        self._whole = False
        self._news = asyncio.Event()
        self._look_at: asyncio.TimerHandle | None = None
        request = ask.request(stream_id)
        self.utterance = Delivery(
            request, 0, accepted.voice, accepted.terms, self, self._services, patient=patient
        )

    def start(self) -> None:
        """Begin, with what there is of the text."""
        self.utterance.start(0, 0)

    # ------------------------------------------------------------ what the door asks

    def add_text(self, text: str) -> None:
        """
        More text of an open speech.

        Raises:
            RateLimited, TextTooLong: then it is as if this had not been said.
        """
        most = self._services.settings.limits.text_chars
        if self._chars + len(text) > most:
            raise TextTooLong(f"more than {most} characters of text", limit=most)
        self._meter.text(len(text), self._loop.time())
        self._chars += len(text)
        if not self.closed:
            self.utterance.add_text(text)

    def flush(self) -> None:
        """What text there is is to be spoken now, although its sentence may go on."""
        if not self.closed:
            self.utterance.flush()

    def end_text(self) -> None:
        """No more text comes."""
        if not self.closed:
            self.utterance.end_text()

    def __aiter__(self) -> Speech:
        return self

    async def __anext__(self) -> Sound | Packets:
        """
        The next piece. Of PCM, the one before is taken.

        Raises:
            AbrError: the speech failed.
        """
        if self._given is not None:
            given, self._given = self._given, None
            self._take(given)
        while not self._queue:
            if self._fault is not None:
                raise self._fault
            if self.closed or self._whole:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        piece = self._queue.popleft()
        self._given = piece if isinstance(piece, Sound) else None
        return piece

    def written(self, size: int) -> None:
        """The Opus packets that came last went to the socket, in so many bytes."""
        message, self._unwritten = self._unwritten, None
        if message is None or self.closed:
            return
        self._sent += size
        self._under_way.append((self._sent, message.pts + len(message.packets) * FRAME_TICKS))
        if self._look_at is None and self._line is not None:
            self._look_at = self._loop.call_later(LOOK_EVERY_S, self._look)
        self.utterance.written(Entry(bytes(size), self.utterance, message), self._loop.time())
        if self._line is None:
            self._acknowledge(self._sent)

    def cancel(self) -> None:
        """Nothing more comes: the engine stops within a chunk, and the iteration ends."""
        self.close("cancelled")

    def close(self, reason: str) -> None:
        """It is over, for this reason: `done`, `cancelled`, `lost` or the code of an error."""
        if self.closed:
            return
        self.closed = True
        if reason in ("cancelled", "lost"):
            self._queue.clear()
        self._remember()
        self.utterance.close(reason)
        if self._look_at:
            self._look_at.cancel()
        self._shared.admission.finish()
        self._shared.stream_ids.end(self.stream_id, self._loop.time())
        self._on_over(self, reason)
        self._news.set()

    def __enter__(self) -> Speech:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, AbrError):
            self.close(error.code)
        elif kind is not None:
            self.close("lost")
        else:
            self.close("done" if self._whole and not self._queue else "cancelled")

    # ------------------------------------------------------------ what the utterance asks (Link)

    def transmit(self, utterance: Utterance, message: Message) -> None:
        """What is no sound is written at once, for a door has no words for it."""
        if isinstance(message, Audio) and self.opus:
            self._unwritten = message
            self._put(Packets(message.packets, message.pts, self._end_of(message), self._taken_marks()))
            return
        if isinstance(message, Mark):
            self._marks.append(message)
        elif isinstance(message, StreamEnd):
            self._whole = True
            self._news.set()
        data = b""
        if isinstance(message, Audio):
            data = b"".join(message.packets)
            self._sent += len(data)
            self._put_sound(message, np.frombuffer(data, "<i2").astype(np.int16, copy=False))
        utterance.written(Entry(data, utterance, message), self._loop.time())

    def finished(self, utterance: Utterance) -> None:
        """It has its place until all is written: `close` gives it back."""

    def over(self, utterance: Utterance) -> None:
        """The listener has it all; the door is still told of its end."""

    def fault(self, utterance: Utterance, error: Exception) -> None:
        """It failed: told to whoever asks for the next piece."""
        if not isinstance(error, AbrError):
            log.error("a fault of the server's own in a speech", exc_info=error, extra=ids(self.stream_id))
            error = StreamError("a fault of the server's own; it has been logged")
        self.fail(error)

    def fail(self, error: AbrError) -> None:
        """End it with this error; one of the connection's ends at once, whatever waits to be taken."""
        if isinstance(error, ConnectionFault):
            self._queue.clear()
        if not self.closed:
            self._fault = error
            self._count(error)
            self.close(error.code)

    def waits(self, utterance: Utterance, place: int, seconds: float) -> None:
        """The engine has no room for it yet."""
        words = f"the engine is busy: this stream is number {place} of those that wait"
        self._count(Queued(words, retry_after=seconds, position=place))

    def warn_of_script(self, utterance: Utterance, names: str) -> None:
        """Part of the text cannot be pronounced; the speech goes on."""
        warning = UnknownScript(f"the engine cannot pronounce {names}; that part of the text may be lost")
        self.warnings.append(warning)
        self._count(warning)

    # ------------------------------------------------------------ inside

    def _count(self, error: AbrError) -> None:
        self._services.metrics.errors.labels(error.code).inc()
        if limit := limit_of(error):
            self._services.metrics.hit(limit)

    def _put(self, piece: Sound | Packets) -> None:
        self._queue.append(piece)
        self._news.set()

    def _put_sound(self, message: Audio, samples: Samples) -> None:
        """The last frame is filled up with silence, and cut to the speech's true length here."""
        first = ticks_to_samples(message.pts, self.rate)
        produced = self.utterance.core.produced
        cut = samples[: max(0, produced - first)]
        self._put(Sound(cut, message.pts, self._taken_marks()))

    def _end_of(self, message: Audio) -> int | None:
        """
        Ticks of the whole speech if these packets are its last: an encoder wants later samples
        (`track.encode_lag`), so it reaches the last sample made only when no more are coming.
        """
        made = samples_to_ticks(self.utterance.core.produced, self.rate)
        return made if message.pts + len(message.packets) * FRAME_TICKS >= made else None

    def _taken_marks(self) -> tuple[Mark, ...]:
        marks, self._marks = tuple(self._marks), []
        return marks

    def _take(self, sound: Sound) -> None:
        self._received += 2 * len(sound.samples)
        self._played = sound.pts + samples_to_ticks(len(sound.samples), self.rate)
        if not self.closed:
            self.utterance.taken(min(self._received, self._sent), self._played)

    def _look(self) -> None:
        """The kernel's count to the controller, again and again while something is under way."""
        self._look_at = None
        sample = self._line.sample() if self._line and not self.closed else None
        if sample is None:
            return
        self._services.metrics.outstanding_by_kernel.observe(sample.unacked_bytes + sample.user_bytes)
        self.utterance.sample(sample)
        self._acknowledge(self._sent - sample.unacked_bytes - sample.user_bytes)
        if self._under_way and self._look_at is None and not self.closed:
            self._look_at = self._loop.call_later(LOOK_EVERY_S, self._look)

    def _acknowledge(self, acked: int) -> None:
        """What the other end has, in whole messages, as a client would report it."""
        news = False
        while self._under_way and self._under_way[0][0] <= acked:
            self._received, self._played = self._under_way.popleft()
            news = True
        if news and not self.closed:
            self.utterance.taken(self._received, max(0, self._played))

    def _remember(self) -> None:
        policy = self.utterance.terms.policy
        if policy is not None and self._line is not None:
            self._shared.memory.keep(policy, self._caller, self.utterance.estimate())
