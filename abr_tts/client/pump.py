"""
The pump of one connection: bytes in, events out to their speeches, messages and timers.

It moves things and decides nothing: what bytes mean is `wire.connection`'s affair, when to
report is `reporter`'s, what a stream does with its messages is `speech`'s. After every input
it takes the events, then what is to be sent, then the timer. A connection that has ended
stays ended: whoever wants to go on opens another pump.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

import aiohttp

from ..errors import CONNECTION, STREAM, AbrError, Busy, ConnectionLost
from ..stream.reporter import Position, Reporter
from ..wire.connection import Connection, Received
from ..wire.limits import Limits
from ..wire.messages import (
    Audio,
    AudioStart,
    Cancel,
    Error,
    FlowControl,
    GoingAway,
    Hello,
    Message,
    StreamStart,
    StreamStarted,
    Welcome,
)
from .faults import from_wire
from .requests import RequestPace
from .room import Room
from .speech import Speech
from .uplink import Uplink, Upload

GOODBYE_S = 1.0
"""Seconds that the last messages may take to reach the socket when the client closes."""

Away: TypeAlias = Callable[["Pump"], None]

Ended: TypeAlias = Callable[["Pump", list[Speech], Exception, int | None], None]

LIMITS = Limits()
"""What this side takes, and how long it waits for an answer: the protocol's defaults."""


class Pump:
    """
    One open WebSocket and everything that runs over it.

    Args:
        socket: freshly opened; the pump owns it from here on.
        where: the server's name for sentences, such as `localhost:8765`.
        ended: called once at the end: with the speeches that may go on elsewhere, why it ended, and
            the WebSocket's close code; they fail if nobody is called.
        away: called when the server says that it stops.
    """

    def __init__(
        self,
        socket: aiohttp.ClientWebSocketResponse,
        where: str,
        ended: Ended | None = None,
        away: Away | None = None,
    ) -> None:
        self._socket, self._where, self._ended, self._away = socket, where, ended, away
        self.leaving = False
        """The server has said that it stops."""
        self._loop = asyncio.get_running_loop()
        self._connection = Connection("client", self.now(), LIMITS)
        self._reporter = Reporter(self.now())
        self.requests = RequestPace()
        """What the server has said of the pace of requests."""
        self._speeches: dict[str, Speech | Upload] = {}
        self._uplinks: dict[str, tuple[Uplink, asyncio.Task[None]]] = {}
        self._outgoing: deque[bytes] = deque()
        self._room = Room(socket)
        self._work, self._empty = asyncio.Event(), asyncio.Event()
        self._empty.set()
        self._timer: asyncio.TimerHandle | None = None
        self._last_words: AbrError | None = None
        self.lost: Exception | None = None
        """Why the connection ended, once it has."""
        self.welcomed: asyncio.Future[Welcome] = self._loop.create_future()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, hello: Hello) -> None:
        """Say hello; `welcomed` gets the answer, or why there is none."""
        self._tasks = [self._loop.create_task(self._read()), self._loop.create_task(self._write())]
        self.send(hello)

    @property
    def speeches(self) -> int:
        """Speeches under way."""
        return len(self._speeches)

    def has(self, speech: Speech) -> bool:
        """Whether this speech is under way here."""
        return self._speeches.get(speech.stream_id) is speech

    def open(self, speech: Speech | Upload, request: StreamStart | AudioStart) -> None:
        """
        Ask for a stream; its messages go to `speech` until it is settled.

        Raises:
            BadField, TooManyStreams: the server would refuse it.
            ConnectionFault, ConnectionLost: what ended the connection, if it has ended.
        """
        if self.lost is not None:
            raise self.lost
        self._speeches[request.stream_id] = speech
        try:
            self.send(request)
        except AbrError:
            del self._speeches[request.stream_id]
            raise

    def reopen(self, speech: Speech) -> None:
        """
        Ask for the rest of a speech that another connection had.

        Raises:
            TooManyStreams: the server would refuse it.
        """
        messages = speech.again()
        self._speeches[speech.stream_id] = speech
        try:
            for message in messages:
                self.send(message)
        except AbrError:
            del self._speeches[speech.stream_id]
            raise

    def send_clip(self, uplink: Uplink, failed: Callable[[Exception], None]) -> None:
        """Send the clip of a stream that is open; `failed` is told what its samples raise."""

        async def run() -> None:
            try:
                await uplink.run()
                self._uplinks.pop(uplink.stream_id, None)
            except Exception as fault:
                failed(fault)

        self._room.hold_short()
        self._uplinks[uplink.stream_id] = uplink, self._loop.create_task(run())

    def settle_upload(self, upload: Upload) -> None:
        """Nobody waits for this voice any more: it is kept, or refused, or given up."""
        if self._speeches.pop(upload.stream_id, None):
            if upload.unwanted or upload.kept.cancelled():
                self.send(Cancel(upload.stream_id))
            self._stop_clip(upload.stream_id)
            self._connection.release(upload.stream_id)

    def _stop_clip(self, stream_id: str) -> None:
        _, task = self._uplinks.pop(stream_id, (None, None))
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    async def close(self) -> None:
        """Cancel what still runs, say so, and close; returns when the socket is gone."""
        for speech in list(self._speeches.values()):
            speech.cancel()
        if self.lost is None:
            self._connection.close(1000, "")
            self._flush()
            try:
                async with asyncio.timeout(GOODBYE_S):
                    await self._empty.wait()
            except TimeoutError:
                pass
        await self._socket.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._end(ConnectionLost("this client was closed"))

    # ------------------------------------------------------------ what speeches need (Link)

    def now(self) -> float:
        """Seconds on the event loop's monotonic clock."""
        return self._loop.time()

    def send(self, message: Message, speech: Speech | None = None) -> None:
        """Queue a message; after the end of the connection it goes nowhere."""
        if self.lost is None:
            self._connection.send(message)
            self._flush()

    async def flushed(self, speech: Speech | None = None) -> None:
        """Wait until the queue is handed to the socket."""
        await self._empty.wait()

    async def room(self, size: int) -> None:
        """Wait until so many bytes more may wait on this side."""
        await self._room.wait(size)

    def settled(self, speech: Speech) -> None:
        """Report the end of `speech` at once, so that the server may free it, and forget it."""
        self._stop_clip(speech.stream_id)
        if self._speeches.pop(speech.stream_id, None) and speech.handle is not None:
            if speech.stats.complete:
                self._report({speech.handle: speech.position()})
            self._reporter.close(speech.handle)
            self._connection.release(speech.stream_id)
            self._flush()

    def move(self, speech: Speech) -> None:
        """The rest of a speech is to be asked for elsewhere, which is not this one's affair."""
        speech.fail(ConnectionLost(f"{self._where} stops, and this client has no other connection"))

    def disown(self, words: list[Message]) -> None:
        """End a stream that another connection had, and that nobody here waits for."""
        with contextlib.suppress(AbrError):
            for message in words:
                self.send(message)

    def let_go(self, speech: Speech) -> None:
        """Forget a speech of which the server has no more; not a word of it is said."""
        if self._speeches.pop(speech.stream_id, None) and speech.handle is not None:
            self._reporter.close(speech.handle)
        self._connection.release(speech.stream_id)
        self._flush()

    # ------------------------------------------------------------ in

    async def _read(self) -> None:
        async for message in self._socket:
            if message.type not in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT):
                break
            self._receive(message.data)
        self._end(self._last_words or ConnectionLost(_sentence(self._where, self._socket.close_code)))
        await self._socket.close()

    def _receive(self, data: bytes | str) -> None:
        now = self.now()
        self._reporter.arrived(len(data), now)
        self._connection.receive(data, now)
        self._take_events(len(data), now)
        self._flush()

    def _take_events(self, size: int, now: float) -> None:
        for event in self._connection.events_received():
            if isinstance(event, Received):
                self._dispatch(event.message, event.stream_id, size, now)
            elif event.scope == CONNECTION:
                self._last_words = event.error
            elif event.scope == STREAM and event.stream_id in self._speeches:
                self._speeches[event.stream_id].fail(event.error)

    def _dispatch(self, message: Message, stream_id: str | None, size: int, now: float) -> None:
        if isinstance(message, Welcome):
            self._reporter.shortest_s = message.hint_ms / 1000
            if not self.welcomed.done():
                self.welcomed.set_result(message)
        elif isinstance(message, Error) and message.scope == CONNECTION:
            self._last_words = from_wire(message)
        elif isinstance(message, FlowControl) and message.stream is None:
            self.requests.told(message.rate, message.retry_after, now)
        elif isinstance(message, GoingAway):
            self.leaving = True
            if self._away:
                self._away(self)
        if stream_id is None or stream_id not in self._speeches:
            return
        if stream_id in self._uplinks:
            self._uplinks[stream_id][0].on_message(message)
        speech = self._speeches[stream_id]
        if isinstance(message, StreamStarted) and isinstance(speech, Speech):
            self._reporter.open(message.stream, now)
        elif isinstance(message, Audio):
            self._reporter.audio(message.stream, message.track, message.pts, now)
        elif isinstance(speech, Speech) and stream_id not in self._uplinks and self._is_refused(message):
            return speech.refused_here()
        speech.on_message(message, size)

    def _is_refused(self, message: Message) -> bool:
        """Whether the server stops and will not begin with a stream (protocol/SPEC.md, Moving)."""
        busy = isinstance(message, Error) and message.scope == STREAM and message.code == Busy.code
        return busy and self.leaving and self._ended is not None

    # ------------------------------------------------------------ out

    def _flush(self) -> None:
        """Queue what the connection has to send, and arm the timer anew."""
        data = self._connection.data_to_send()
        self._outgoing.extend(data)
        self._room.queued += sum(map(len, data))
        if self._outgoing or self._connection.closed:
            self._empty.clear()
            self._work.set()
        self._arm()

    async def _write(self) -> None:
        try:
            while True:
                await self._work.wait()
                self._work.clear()
                if self.lost is not None:
                    return
                while self._outgoing:
                    await self._socket.send_bytes(self._outgoing[0])
                    self._room.queued -= len(self._outgoing.popleft())
                self._empty.set()
                self._arm()
                if self._connection.closed:
                    await self._socket.close(code=self._connection.close_code or 1000)
                    return
        except (ConnectionError, RuntimeError, aiohttp.ClientError):
            self._empty.set()  # the reader sees the same end, and tells it

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        times = [self._connection.get_timer()]
        if not self._outgoing:  # no report into a clogged socket; the writer arms us again
            times.append(self._reporter.get_timer())
        due = [time for time in times if time is not None]
        if due and self.lost is None:
            self._timer = self._loop.call_at(min(due), self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        now = self.now()
        timer = self._connection.get_timer()
        if timer is not None and timer <= now:
            self._connection.handle_timer(now)
            self._take_events(0, now)
        if not self._outgoing:
            speeches = [one for one in self._speeches.values() if isinstance(one, Speech)]
            self._report({one.handle: one.position() for one in speeches if one.handle is not None})
        self._flush()

    def _report(self, positions: dict[int, Position]) -> None:
        now = self.now()
        rtt_ms = -1.0 if self._connection.rtt_ms is None else self._connection.rtt_ms
        for hint in self._reporter.poll(now, positions, rtt_ms):
            self._connection.send(hint)
        if positions and self._reporter.next_ping <= now:
            self._connection.ping(now)
            self._reporter.pinged(now)

    def _end(self, reason: Exception) -> None:
        if self.lost is not None:
            return
        self.lost = reason
        if not self.welcomed.done():
            self.welcomed.set_exception(reason)
            self.welcomed.exception()  # taken: closing before the welcome is nobody's fault
        self._lose(reason)
        self._empty.set()
        self._work.set()  # the writer goes, too
        self._arm()

    def _lose(self, reason: Exception) -> None:
        """Streams go on elsewhere, if anybody sees to it; a clip that is not sent to its end is lost."""
        speeches, self._speeches = self._speeches, {}
        moving: list[Speech] = []
        for stream_id, speech in speeches.items():
            if self._ended and isinstance(speech, Speech) and stream_id not in self._uplinks:
                moving.append(speech)
            else:
                speech.fail(reason)
        for stream_id in list(self._uplinks):
            self._stop_clip(stream_id)
        if self._ended:
            self._ended(self, moving, reason, self._socket.close_code)


def _sentence(where: str, code: int | None) -> str:
    number = f" (WebSocket close {code})" if code not in (None, 1006) else ""
    return f"the connection to {where} was lost{number}"
