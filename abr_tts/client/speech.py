"""
One speech on its way to one listener: messages in at one side, samples out at the other.

The client's pump calls `on_message`; the listener iterates. Between them stands the player,
which decodes only what is asked for: a listener who does not pull leaves `played` where it
is, and the server pauses. Knows nothing of sockets; what it has to say goes over a `Link`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import NOTHING, EmptyText, PlayoutError
from ..stream.player import Player
from ..stream.reporter import Position
from ..units import samples_to_ticks, seconds_to_ticks, ticks_to_seconds
from ..wire import messages as m
from .asking import Asking
from .clock import FrameClock
from .events import Event, Expired, in_whole
from .faults import from_wire
from .heard import HeardText
from .parts import Parts
from .stats import SpeechStats

FRAMES_A_TURN = 8
"""Frames handed to a listener who never waits before the event loop gets a turn: some 2 ms of
decoding, so that other streams and the socket are not held up."""

MOST_AHEAD_TICKS = seconds_to_ticks(900)
"""Speech that is held at most: a server keeps its lead below ten minutes (`stream.max_lead_s`), so
one that does not would fill the memory of a listener who does not pull."""

Int16: TypeAlias = npt.NDArray[np.int16]


class Link(Protocol):
    """What a speech needs of its client."""

    def now(self) -> float:
        """Seconds on the client's monotonic clock."""

    def send(self, message: m.Message, speech: Speech | None = None) -> None:
        """Queue a message about the speech."""

    async def flushed(self, speech: Speech | None = None) -> None:
        """Wait until what was queued is handed to the socket."""

    def move(self, speech: Speech) -> None:
        """The server is done with the speech, but not the speech: ask for the rest elsewhere."""

    def settled(self, speech: Speech) -> None:
        """The speech is over, one way or another: tell the server, and forget it."""


class Speech:
    """
    An async iterator of frames: int16, mono, 20 ms each (the last one shorter), at
    `sample_rate` Hz. Leaving the loop early cancels the stream. A speech is heard once.

    Raises, while iterating:
        StreamError: the server's reason, as its own class (EmptyText, UnknownVoice, …), after
            everything that had arrived before was handed out.
        ConnectionFault, ConnectionLost: the connection ended; likewise.
    """

    def __init__(
        self,
        link: Link,
        request: m.StreamStart,
        player: Player,
        *,
        realtime: bool = False,
        events: Callable[[Event], None] | None = None,
        another: Callable[[int | None], Player] | None = None,
    ) -> None:
        self.stats = SpeechStats()
        self._link, self._events = link, events
        self._player = Parts(player, another)
        self._text = HeardText(request.text)
        self._asking = Asking(request, self._text)
        self.received = False
        """All of it has come: no connection is needed any more."""
        self._told_pause = False
        self._requested = link.now()
        self._clock = FrameClock() if realtime else None
        self._news = asyncio.Event()
        self._fault: Exception | None = None
        self._settled = self._over = self._heard = False
        self._run = 0
        self._feeder: asyncio.Task[None] | None = None

    # ------------------------------------------------------------ the listener's side

    @property
    def stream_id(self) -> str:
        """The stream's UUID; another one where it had to be asked for anew."""
        return self._asking.stream_id

    @property
    def handle(self) -> int | None:
        """The small integer of the stream on its connection, once it has started there."""
        return self._asking.handle

    @property
    def sample_rate(self) -> int:
        """Hz of the samples handed out; 0 until the stream has started."""
        return self.stats.sample_rate

    @property
    def rung(self) -> str:
        """The rung of the frame handed out last, empty before the first."""
        return self._player.rung_played or ""

    @property
    def buffer_ms(self) -> float:
        """Speech that has arrived and was not handed out."""
        return self._player.buffer_ms

    @property
    def heard(self) -> int:
        """
        Characters of the text that were heard: `text[:speech.heard]` is what a listener knows.

        Heard is what this iterator has handed out; whoever hands it on to a loudspeaker that
        queues asks `heard_at`. Whole clauses are exact, inside one the time tells, rounded down to
        the start of a word.
        """
        if self.stats.complete:
            return len(self._text.text)
        return self._heard_by(self._player.played)

    @property
    def heard_text(self) -> str:
        """The text up to there, for the history of a language model that was interrupted."""
        return self._text.text[: self.heard]

    def heard_at(self, seconds: float) -> int:
        """As `heard`, when only the first `seconds` of what was handed out have sounded."""
        return min(self.heard, self._heard_by(self._player.media_at(seconds_to_ticks(seconds))))

    @property
    def rest(self) -> str:
        """
        The text from the clause on that has not come to its end: what to ask for where a server cannot
        go on (`ResumeLost`). What was heard of that clause is then heard again.
        """
        if self.stats.complete:
            return ""
        reach = self._player.played + seconds_to_ticks((self._player.buffer_ms + 1) / 1000)
        before = self._asking.said if reach >= self._player.begins else 0
        return self._text.text[max(before, self._text.clause_at(reach)) :]

    def _heard_by(self, ticks: int) -> int:
        player = self._player
        return self._text.at(
            min(ticks, player.played), player.played + seconds_to_ticks(player.buffer_ms / 1000)
        )

    def __aiter__(self) -> AsyncIterator[Int16]:
        if self._heard:
            raise RuntimeError("a speech is heard once; ask for another")
        self._heard = True
        return self._frames()

    async def read(self) -> Int16:
        """The whole speech as one array."""
        frames = [frame async for frame in self]
        return np.concatenate(frames) if frames else np.zeros(0, np.int16)

    def pause(self) -> None:
        """Hand out nothing more, after a frame that fades out, until `resume`; not a stall."""
        self._player.pause()
        self._told_pause = True
        self._say([m.Pause(self._asking.ref)])

    def resume(self) -> None:
        """Go on with the sample after the last."""
        self._player.resume()
        self._say([m.Resume(self._asking.ref)])
        self._news.set()

    def cancel(self) -> int:
        """
        Stop: the server is told, the iteration ends. After the end it does nothing.

        Returns:
            `heard`, which stands in `stats` as well.
        """
        self._over = True
        if not self._settled:
            self._link.send(m.Cancel(self._asking.ref), self)
            self._settle()
        self.stats.heard = self.heard
        return self.stats.heard

    async def _frames(self) -> AsyncIterator[Int16]:
        step = self._when_held if self._clock is None else self._when_due
        try:
            while (frame := await step()) is not None:
                if len(frame):
                    yield frame
        finally:
            self.cancel()

    async def _when_held(self) -> Int16 | None:
        """The next frame as soon as it can be rendered, None after the last."""
        while not self._player.can_render or self._over:
            if self._over:
                return None
            await self._more()
        self._run += 1
        if self._run % FRAMES_A_TURN == 0:
            await asyncio.sleep(0)
        return self._take(self._player.render())

    async def _when_due(self) -> Int16 | None:
        """The next frame when its time has come, None after the last."""
        assert self._clock is not None
        while not self._over:
            delay = self._clock.wait(self._link.now())
            if delay > 0:
                await asyncio.sleep(delay)
            frame = self._player.render()
            if frame is None and (self._fault or not self._player.started):
                await self._more()
                continue
            self._clock.tick(self._link.now())
            if frame is not None:
                return self._take(frame)
        return None

    async def _more(self) -> None:
        """Wait for news; a fault is raised only here, when all that was held is handed out."""
        if self._fault is not None:
            raise self._fault
        self._run = 0
        self._news.clear()
        await self._news.wait()

    def _take(self, frame: Int16 | None) -> Int16 | None:
        if frame is None:
            return None
        stats = self.stats
        if stats.first_sound_ms is None:
            stats.first_sound_ms = self._ms()
        stats.seconds += len(frame) / stats.sample_rate
        stats.rungs = dict(self._player.seconds_played)
        stats.switches, stats.stalls = self._player.switches, self._player.stalls
        stats.stall_ms = self._player.stall_ms
        self._note_lateness()
        self._note_end()
        return frame

    def _note_lateness(self) -> None:
        late, stats = self._player.lateness, self.stats
        dropped_ms = late.expired_ms - stats.expired_ms
        stats.slowed_ms, stats.concealed_ms = late.slowed_ms, late.concealed_ms
        stats.expired_ms = late.expired_ms
        if dropped_ms > 0:
            self.happened(Expired(ticks_to_seconds(self._player.played), dropped_ms / 1000))

    # ------------------------------------------------------------ the client's side

    def feed(self, text: AsyncIterable[str]) -> None:
        """Send what `text` yields as it comes; its own exception becomes the speech's."""
        self._feeder = asyncio.get_running_loop().create_task(self._feed(text))

    def on_message(self, message: m.Message, size: int) -> None:
        """
        A message of this stream, of `size` bytes; never raises.

        One that breaks the rules of tracks ends the stream: the player could go on without it,
        but would wait for ever for the sound that it lacks.
        """
        self.stats.bytes += size
        try:
            self._accept(message)
        except Exception as fault:
            self.cancel_with(fault)
        self._news.set()

    def fail(self, fault: Exception) -> None:
        """The stream has ended on the server's side or with its connection."""
        if self._is_all(fault):
            self._end_here()
        elif not self._settled:
            self._fault = fault
            self._settle()

    def cancel_with(self, fault: Exception) -> None:
        """Something on this side went wrong: stop the stream, and raise it to the listener."""
        if self._is_all(fault):
            self._end_here()
        elif not self._settled:
            self._fault = fault
            self._link.send(m.Cancel(self._asking.ref), self)
            self._settle()

    def _is_all(self, fault: Exception) -> bool:
        """Whether there was nothing to say in what a further server was asked for: the speech is whole."""
        return isinstance(fault, EmptyText) and self._player.begins > 0 and not self._settled

    def _end_here(self) -> None:
        self._link.send(m.Cancel(self._asking.ref), self)
        rate = self._player.receiving.out_rate or self.stats.sample_rate
        self._player.on_message(m.StreamEnd(1, 0, rate, 1, ""))
        self.received = True
        self._note_end()
        self._news.set()

    def lost(self) -> None:
        """The connection is lost, and another one will come: what is held is heard meanwhile."""
        self._asking.lost()

    def unwanted(self) -> list[m.Message]:
        """What ends it on another connection, if it was cancelled without one."""
        return self._asking.unwanted()

    def again(self) -> list[m.Message]:
        """What asks for the rest on another connection."""
        player = self._player.receiving
        return self._asking.again(player.wanted, player.played)

    def happened(self, event: Event) -> None:
        """Tell whoever listens to events; what that raises is raised to the listener."""
        try:
            if self._events and not self._settled:
                self._events(event)
        except Exception as fault:
            self.cancel_with(fault)

    def position(self) -> Position:
        """What the next report says."""
        return self._player.position

    def _accept(self, message: m.Message) -> None:
        if isinstance(message, m.Error) and message.scope != NOTHING:
            return self.fail(from_wire(message))
        self._player.on_message(message)
        event = in_whole(message, self._player.begins, self._asking.said)
        if isinstance(message, m.StreamStarted):
            self._note_start(message)
        elif isinstance(message, m.Audio):
            self._note_audio(message)
        elif isinstance(event, m.Mark):
            self._text.mark(event)
        elif isinstance(message, m.StreamEnd):
            self._note_length(message)
        if isinstance(event, m.Track | m.Switch | m.Mark | m.Error) and self._events:
            self._events(event)
        self._note_end()

    def _note_start(self, message: m.StreamStarted) -> None:
        self.stats.voice, self.stats.sample_rate = message.voice, self._player.receiving.out_rate or 0
        self._say(self._asking.started(message))
        if self._told_pause:
            self._say([(m.Pause if self._player.paused else m.Resume)(message.stream)])

    def _note_length(self, message: m.StreamEnd) -> None:
        ticks = samples_to_ticks(message.length, message.sample_rate)
        moved = message.reason == m.MOVED and self._player.can_grow
        if moved and self._asking.elsewhere(message.chars, self.stats.voice):
            self._player.grow(ticks)
            self._text.end(self._player.begins)
            return self._link.move(self)
        self.received = True
        self._text.end(self._player.begins + ticks)

    def refused_here(self) -> None:
        """A server that stops has not begun: all of what it was asked is to be asked elsewhere."""
        self._asking.elsewhere(0)
        self._link.move(self)

    def _note_audio(self, message: m.Audio) -> None:
        if self.stats.first_audio_ms is None:
            self.stats.first_audio_ms = self._ms()
        if message.pts - self._player.receiving.played > MOST_AHEAD_TICKS:
            raise PlayoutError("the server sends on without regard to what was played", "too_far_ahead")

    async def _feed(self, text: AsyncIterable[str]) -> None:
        try:
            async for piece in text:
                self._say(self._asking.add(piece))
                await self._link.flushed(self)
            self._say(self._asking.end())
        except Exception as fault:
            self.cancel_with(fault)
        finally:
            if isinstance(text, AsyncGenerator):  # a model that nobody listens to shall stop now
                await text.aclose()

    def _say(self, messages: list[m.Message]) -> None:
        for message in messages:
            if not self._settled:
                self._link.send(message, self)

    def _note_end(self) -> None:
        if self._player.finished and not self._over:
            self.stats.complete = self._over = True
            if not self._settled:
                self._settle()

    def _settle(self) -> None:
        self._settled = True
        if self._feeder is not None and self._feeder is not asyncio.current_task():
            self._feeder.cancel()
        self._link.settled(self)
        self._news.set()

    def _ms(self) -> float:
        return (self._link.now() - self._requested) * 1000
