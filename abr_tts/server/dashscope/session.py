"""
One connection at the DashScope door: what its protocol (`machine`) wants is done, what it says is written.

The native door's outbox writes it, so that at most one message is between here and the kernel, and what is
cancelled is never sent. Everything runs on the event loop.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from contextlib import suppress

from ...errors import AbrError, IdleTimeout, Internal, MessageTooBig, MissingDependency, Unsupported
from ...wire.messages import Mark
from ..config import Settings
from ..doors import formats
from ..doors.asking import Ask
from ..doors.desk import Visit
from ..doors.speech import Speech
from ..sending.line import WebSocketLine
from ..sending.outbox import BINARY_FRAME, TEXT_FRAME, Entry, frame
from ..speech.surroundings import Services
from .asked import Asked
from .events import Begin, EndText, Event, Failed, Flush, Message, Say, Stop, limits_of
from .machine import Machine
from .speaking import Form, OfPackets, OfSamples, Speaking

log = logging.getLogger(__name__)

QUEUED_BYTES = 262_144
"""Bytes that wait for a client at which nothing more of it is read, until it has taken some. A guess."""

LOOK_S = 1.0
"""Seconds between two looks whether it has taken some, where nobody tells."""

ON_THE_LOOP = frozenset({"pcm", "wav"})
"""Formats that cost next to nothing; others are encoded on a thread."""


class Session:
    """
    Args:
        line: its WebSocket.
        visit: who comes.
        services: what all share.
    """

    def __init__(self, line: WebSocketLine, visit: Visit, services: Services) -> None:
        self._line, self._visit, self._services = line, visit, services
        settings: Settings = services.settings
        self._loop = asyncio.get_running_loop()
        self._machine = Machine(limits_of(settings), settings.dashscope.voices, self._loop.time())
        self._outbox = line.open(self._written)
        self._patience_s = settings.limits.idle_timeout_s
        self._speaking: Speaking | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._taken_at = 0.0
        self._room = asyncio.Event()
        self._counted: AbrError | None = None
        visit.on_shut = self._shut
        visit.on_going_away = lambda seconds: self._tell(self._machine.go_away)

    async def run(self) -> None:
        """Serve until the client or we close. Whatever happens, nothing of it stays."""
        try:
            self._follow()
            await self._read()
        except Exception:
            log.exception("a fault of the server's own at the DashScope door")
            self._tell(
                lambda: self._machine.fail(Internal("a fault of the server's own; it has been logged"))
            )
        finally:
            self._stop_speaking("lost")
            for timer in (self._timer, self._watch):
                if timer:
                    timer.cancel()
            self._outbox.close(self._machine.close_code or 1000, self._machine.close_reason)
            await self._outbox.wait_closed()
            if self._tasks:
                await asyncio.wait(self._tasks)

    @property
    def close_code(self) -> int:
        """What it ended with: ours first, where it was we who closed."""
        return self._machine.close_code or self._line.close_code or 1006

    async def _read(self) -> None:
        try:
            while (data := await self._line.receive()) is not None:
                self._machine.receive(data, self._loop.time())
                self._follow()
                while self._outbox.queued_bytes > QUEUED_BYTES:
                    await self._wait_for_room()
        except MessageTooBig as error:  # the socket is closed already
            self._visit.note(error)

    async def _wait_for_room(self) -> None:
        self._room.clear()
        with suppress(TimeoutError):  # the outbox does not tell of a connection that is lost
            async with asyncio.timeout(LOOK_S):
                await self._room.wait()

    # ------------------------------------------------------------ after whatever happens

    def _follow(self) -> None:
        """Do what is to be done, write what is to be written, look at the clock when it is time."""
        for event in self._machine.events():
            self._do(event)
        for message in self._machine.messages():
            self._write(message)
        if self._machine.close_code is not None:
            self._outbox.close(self._machine.close_code, self._machine.close_reason)
        due = self._machine.get_timer()
        if self._timer:
            self._timer.cancel()
        self._timer = None if due is None else self._loop.call_at(due, self._on_timer)

    def _on_timer(self) -> None:
        self._machine.handle_timer(self._loop.time())
        self._follow()

    def _do(self, event: Event) -> None:
        speech = self._speaking.speech if self._speaking else None
        try:
            match event:
                case Begin():
                    self._begin(event.asked)
                case Say() if speech:
                    speech.add_text(event.text)
                case Flush() if speech:
                    speech.flush()
                case EndText() if speech:
                    speech.end_text()
                case Stop():
                    self._stop_speaking(event.reason)
                case Failed() if event.error is not self._counted:
                    self._visit.note(event.error)
        except AbrError as error:
            self._machine.fail(error)
            for more in self._machine.events():
                self._do(more)

    # ------------------------------------------------------------ speech

    def _begin(self, asked: Asked) -> None:
        opus = asked.format == "opus"
        ask = Ask(
            "", True, asked.voice, asked.language, asked.speed, asked.instruct,
            opus=opus, kbps=asked.kbps if opus else None,
        )  # fmt: skip
        try:
            speech = self._visit.open(ask, self._outbox if opus else None)
        except AbrError as error:
            self._counted = error
            raise
        try:
            form = self._form(asked, speech)
        except BaseException:
            speech.close("unsupported")
            raise
        self._speaking = Speaking(speech, form, self)
        self._machine.started()
        task = self._loop.create_task(self._speaking.run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _form(self, asked: Asked, speech: Speech) -> Form:
        if asked.format == "opus":
            return OfPackets(secrets.randbits(32), asked.sample_rate, asked.gain)
        try:
            container = formats.make(
                asked.format, speech.rate, asked.sample_rate, resampler=self._services.resampler
            )
        except MissingDependency as fault:
            raise Unsupported(str(fault)) from None
        workshop = None if asked.format in ON_THE_LOOP else self._services.workshop
        return OfSamples(container, asked.gain, workshop)

    def _stop_speaking(self, reason: str) -> None:
        speaking, self._speaking = self._speaking, None
        if speaking:
            self._outbox.discard(speaking)
            speaking.stop(reason)

    # ------------------------------------------------------------ what a task's speech says (Listener)

    def sentence(self, mark: Mark) -> None:
        """See `Listener`."""
        self._tell(lambda: self._machine.sentence(mark.begin, mark.end))

    async def audio(self, data: bytes) -> None:
        """See `Listener`."""
        speaking = self._speaking
        assert speaking is not None, "one that was stopped sends nothing"
        self._tell(lambda: self._machine.audio(data))
        await speaking.taken.wait()

    def spoken(self) -> None:
        """See `Listener`."""
        self._speaking = None
        self._tell(lambda: self._machine.finish(self._loop.time()))

    def failed(self, error: AbrError, counted: bool) -> None:
        """See `Listener`."""
        self._counted = error if counted else None
        self._tell(lambda: self._machine.fail(error))

    def _shut(self, error: AbrError) -> None:
        self._counted = error if self._speaking else None  # a speech that runs has failed of it
        self._tell(lambda: self._machine.shut(error))

    def _tell(self, said: Callable[[], None]) -> None:
        said()
        self._follow()

    # ------------------------------------------------------------ writing

    def _write(self, message: Message) -> None:
        data = frame(TEXT_FRAME, message.text.encode())
        if message.audio is not None:
            data += frame(BINARY_FRAME, message.audio)
        owner = self._speaking if message.audio is not None else None
        if self._watch is None:
            self._taken_at = self._loop.time()
            self._watch = self._loop.call_later(self._patience_s, self._look)
        self._outbox.put(Entry(data, owner, message, framed=True))

    def _written(self, entry: Entry, at: float) -> None:
        self._services.metrics.sent_bytes.inc(len(entry.data))
        self._taken_at = at
        self._room.set()
        if isinstance(entry.owner, Speaking):
            entry.owner.taken.set()

    def _look(self) -> None:
        """Whether the client has taken nothing for so long that it is given up."""
        waits = self._outbox.queued_bytes + self._outbox.user_bytes
        left_s = self._taken_at + self._patience_s - self._loop.time()
        if waits and left_s <= 0:
            self._visit.note(IdleTimeout(f"the client took nothing for {self._patience_s:g} seconds"))
            self._outbox.abort()
            self._watch = None
        else:
            self._watch = self._loop.call_later(max(left_s, 0.001), self._look) if waits else None
