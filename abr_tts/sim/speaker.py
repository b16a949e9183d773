"""
The server's side of one utterance: an engine's schedule, the very stream core, packets.

It keeps the core's law (one input, drain, the next) and gives each output to whom it belongs.
It must not know the network: messages leave by `transmit`, and `sent` is called for them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from ..audio.libopus import Library
from ..control.controller import Controller
from ..stream.core import CoreSetup, StreamCore
from ..stream.outputs import Credit, Drained, Encode, Opened, Transmit
from ..stream.pacer import KernelSample
from ..units import FRAME_TICKS, FRAMES_PER_SECOND, ticks_to_seconds
from ..wire.messages import Audio, BitRateHint, Message, Switch
from .events import Alarm, Events
from .packets import SpeechSizes

NO_CODEC = Library("", "", "none", None, False, None, ModuleType("none"))
"""Stands where a core wants a libopus and packets are modelled: it is never called."""


@cache
def _silence(size: int) -> npt.NDArray[np.int16]:
    """Chunks have a few sizes, and a core copies what it is given."""
    return np.zeros(size, np.int16)


CHARACTERS_A_SECOND = 14
"""Of English speech at an ordinary rate: for the marks' offsets and the request's size."""


@dataclass(slots=True)
class Sent:
    """What went out for one utterance."""

    payload_bytes: int = 0
    """WebSocket payload of its own messages."""
    ticks: dict[str, int] = field(default_factory=dict)
    """Audio by rung, pre-roll and overlaps included."""
    switches: list[tuple[float, Switch]] = field(default_factory=list)
    """(second, message) of every change of what is sent."""
    first_pcm_at: float | None = None


@dataclass(frozen=True, slots=True)
class Speech:
    """
    What is to be said.

    Args:
        clauses: by clause, (seconds after it was begun, samples) of each chunk.
        rate: Hz of the engine.
        seed: of the packet sizes.
        library: None models packets; a libopus encodes them for real.
        voice: int16 samples that are spoken over and over; silence when None.
    """

    clauses: list[list[tuple[float, int]]]
    rate: int
    seed: str
    library: Library | None = None
    voice: npt.NDArray[np.int16] | None = None

    @property
    def samples(self) -> int:
        """Length of the whole."""
        return sum(size for clause in self.clauses for _, size in clause)


class Speaker:
    """
    Args:
        events: the world's.
        handle: the stream's number.
        speech: what is to be said.
        controller: what decides.
        transmit: takes each message for the socket.
        on_drained: called when the listener is known to have heard the end.
    """

    def __init__(
        self,
        events: Events,
        handle: int,
        speech: Speech,
        controller: Controller,
        transmit: Callable[[Speaker, Message], None],
        on_drained: Callable[[], None],
    ) -> None:
        self._events, self._speech = events, speech
        self._transmit, self._on_drained = transmit, on_drained
        self.handle, self.controller = handle, controller
        self.sent_record = Sent()
        frames = -(-speech.samples * FRAMES_PER_SECOND // speech.rate)
        self._sizes = None if speech.library else SpeechSizes(speech.seed, frames)
        self._clauses = deque(speech.clauses)
        self._credit = 0
        self._speaking = False
        self._position = 0
        self._inputs: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._busy = False
        self._rungs: dict[int, str] = {}
        self._alarm = Alarm(events, self._on_alarm)
        library = speech.library or NO_CODEC
        self.core = StreamCore(CoreSetup(handle, speech.rate, controller, library), events.now)

    def start(self, sent: int, received: int) -> None:
        """Begin; the connection has carried `sent` bytes, of which the client has `received`."""
        now = self._events.now
        self._drain()
        self._input(self.core.sent, sent, now, False)
        self._input(self.core.report, BitRateHint(self.handle, received, 0, 0), now)

    # ------------------------------------------------------------ what the connection says

    def sent(self, message: Message, size: int, own: bool) -> None:
        """A message of `size` bytes was taken by the kernel."""
        if own:
            self._count(message, size)
        self._input(self.core.sent, size, self._events.now, own)

    def report(self, report: BitRateHint | KernelSample) -> None:
        """What the listener or the kernel says."""
        self._input(self.core.report, report, self._events.now)

    def _count(self, message: Message, size: int) -> None:
        record = self.sent_record
        record.payload_bytes += size
        if type(message) is Audio:
            ticks = len(message.packets) * FRAME_TICKS
            rung = self._rungs[message.track]
            record.ticks[rung] = record.ticks.get(rung, 0) + ticks
        elif type(message) is Switch:
            self._rungs[message.track] = message.target
            record.switches.append((self._events.now, message))

    # ------------------------------------------------------------ the engine

    def _say_next(self) -> None:
        if self._speaking or not self._credit or not self._clauses:
            return
        self._credit -= 1
        self._speaking = True
        now = self._events.now
        begin = round(self._position / self._speech.rate * CHARACTERS_A_SECOND)
        clause = self._clauses.popleft()
        seconds = sum(size for _, size in clause) / self._speech.rate
        self._input(self.core.mark, begin, begin + round(seconds * CHARACTERS_A_SECOND), now)
        for index, (delay, size) in enumerate(clause):
            self._events.at(now + delay, self._on_chunk, size, index == len(clause) - 1)

    def _on_chunk(self, size: int, last: bool) -> None:
        now = self._events.now
        if self.sent_record.first_pcm_at is None:
            self.sent_record.first_pcm_at = now
        pcm = self._samples(size)
        self._position += size
        self._input(self.core.push_pcm, pcm, now)
        if last:
            self._speaking = False
            self._input(self.core.end_clause, now)
            self._say_next()
            if not self._speaking and not self._clauses:
                self._input(self.core.end_pcm, now)

    def _samples(self, size: int) -> npt.NDArray[np.int16]:
        voice = self._speech.voice
        if voice is None:
            return _silence(size)
        return np.take(voice, range(self._position, self._position + size), mode="wrap")

    # ------------------------------------------------------------ the core's law

    def _input(self, call: Callable[..., None], *args: Any) -> None:
        self._inputs.append((call, args))
        if self._busy:
            return
        self._busy = True
        while self._inputs:
            call, args = self._inputs.popleft()
            call(*args)
            self._drain()
        self._busy = False
        self._alarm.set(self.core.get_timer())

    def _on_alarm(self) -> None:
        self._input(self.core.handle_timer, self._events.now)

    def _drain(self) -> None:
        poll = self.core.poll
        while (output := poll()) is not None:
            if type(output) is Transmit:
                self._transmit(self, output.message)
            elif type(output) is Encode:
                job = output.job
                packets = self._sizes.packets(job) if self._sizes else job.run()
                self._inputs.append((self.core.encoded, (job, packets, self._events.now)))
            elif type(output) is Credit:
                self._credit += output.clauses
                self._say_next()
            else:
                self._notice(output.event)  # type: ignore[union-attr]

    def _notice(self, event: object) -> None:
        if isinstance(event, Opened):
            self._rungs[event.track] = event.rung.name
        elif isinstance(event, Drained):
            self._on_drained()

    @property
    def lead_s(self) -> float:
        """Seconds sent and not known to be played."""
        return ticks_to_seconds(self.core.lead)
