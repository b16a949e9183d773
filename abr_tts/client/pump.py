"""
The pump of one connection: bytes in, events out to their speeches, messages and timers.

It moves things and decides nothing: what bytes mean is `wire.connection`'s affair, when to
report is `reporter`'s, what a stream does with its messages is `speech`'s. After every input
it takes the events, then what is to be sent, then the timer. A connection that has ended
stays ended: whoever wants to go on opens another pump.
"""

from __future__ import annotations

import asyncio
from collections import deque

import aiohttp

from ..errors import CONNECTION, STREAM, AbrError, ConnectionLost
from ..stream.reporter import Position, Reporter
from ..wire.connection import Connection, Received
from ..wire.limits import Limits
from ..wire.messages import Audio, Error, Hello, Message, StreamStart, StreamStarted, Welcome
from .faults import from_wire
from .speech import Speech

GOODBYE_S = 1.0
"""Seconds that the last messages may take to reach the socket when the client closes."""

LIMITS = Limits()
"""What this side takes, and how long it waits for an answer: the protocol's defaults."""


class Pump:
    """
    One open WebSocket and everything that runs over it.

    Args:
        socket: freshly opened; the pump owns it from here on.
        where: the server's name for sentences, such as `localhost:8765`.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, where: str) -> None:
        self._socket, self._where = socket, where
        self._loop = asyncio.get_running_loop()
        self._connection = Connection("client", self.now(), LIMITS)
        self._reporter = Reporter(self.now())
        self._speeches: dict[str, Speech] = {}
        self._outgoing: deque[bytes] = deque()
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

    def open(self, speech: Speech, request: StreamStart) -> None:
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

    def send(self, message: Message) -> None:
        """Queue a message; after the end of the connection it goes nowhere."""
        if self.lost is None:
            self._connection.send(message)
            self._flush()

    async def flushed(self) -> None:
        """Wait until the queue is handed to the socket."""
        await self._empty.wait()

    def settled(self, speech: Speech) -> None:
        """Report the end of `speech` at once, so that the server may free it, and forget it."""
        if self._speeches.pop(speech.stream_id, None) and speech.handle is not None:
            if speech.stats.complete:
                self._report({speech.handle: speech.position()})
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
        if stream_id is None or stream_id not in self._speeches:
            return
        if isinstance(message, StreamStarted):
            self._reporter.open(message.stream, now)
        elif isinstance(message, Audio):
            self._reporter.audio(message.stream, message.track, message.pts, now)
        self._speeches[stream_id].on_message(message, size)

    # ------------------------------------------------------------ out

    def _flush(self) -> None:
        """Queue what the connection has to send, and arm the timer anew."""
        self._outgoing.extend(self._connection.data_to_send())
        if self._outgoing or self._connection.closed:
            self._empty.clear()
            self._work.set()
        self._arm()

    async def _write(self) -> None:
        try:
            while True:
                await self._work.wait()
                self._work.clear()
                while self._outgoing:
                    await self._socket.send_bytes(self._outgoing[0])
                    self._outgoing.popleft()
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
            self._report({s.handle: s.position() for s in self._speeches.values() if s.handle is not None})
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
        for speech in list(self._speeches.values()):
            speech.fail(reason)
        self._empty.set()
        self._arm()


def _sentence(where: str, code: int | None) -> str:
    number = f" (WebSocket close {code})" if code not in (None, 1006) else ""
    return f"the connection to {where} was lost{number}"
