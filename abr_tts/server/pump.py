"""
The pump of one connection: bytes in, events taken one by one, bytes out, timers.

Nothing waits: after each event the events of the connection are taken, then what it has to send, then
its timer. What a message means is for whoever derives from this. All faults are told in one place, `fail`.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from contextlib import suppress

from ..errors import NOTHING, AbrError, Internal, MessageTooBig
from ..wire import messages as m
from ..wire.connection import Connection, Failed, Received
from .load.hits import limit_of
from .sending.line import Line
from .sending.outbox import Entry
from .watching.logs import ids
from .watching.metrics import Metrics

log = logging.getLogger(__name__)

MOST_WAITING = 1024
"""Messages that wait for a client at which nothing more of it is read, until it has taken some: of speech
64 kB are under way at most, so what waits beyond are answers to one who asks and does not read. A guess."""

LOOK_S = 0.1
"""Seconds between two looks whether it has taken some."""


class Pump(ABC):
    """
    Args:
        line: what carries its messages.
        connection: its protocol, on the server's side.
        metrics: of the server.
    """

    def __init__(self, line: Line, connection: Connection, metrics: Metrics) -> None:
        self._line, self._connection, self._metrics = line, connection, metrics
        self._loop = asyncio.get_running_loop()
        self._outbox = line.open(self._written)
        self.last_fault: AbrError | None = None
        """The last one that the peer was told of."""
        self._timer: asyncio.TimerHandle | None = None
        self._room = asyncio.Event()
        self._over = False
        """It only waits for what was sent to be taken: whatever still comes to it, no timer is set again."""

    # ------------------------------------------------------------ life

    async def run(self) -> None:
        """Serve until the peer or we close. Whatever happens, nothing of it stays."""
        try:
            self._follow()
            await self._read()
        finally:
            self._over = True
            self._forget_all()
            if self._timer:
                self._timer.cancel()
            self._outbox.close(self._connection.close_code or 1000, self._connection.close_reason)
            await self._outbox.wait_closed()

    async def _read(self) -> None:
        try:
            while (data := await self._line.receive()) is not None:
                self._connection.receive(data, self._loop.time())
                self._settle()
                self._pace(self._loop.time())
                while self._outbox.waiting > MOST_WAITING:
                    await self._wait_for_room()
        except MessageTooBig as error:
            error.detail["limit"] = self._connection.limits.message_bytes
            self._note(error)
            self._connection.close(error.close, error.message)

    async def _wait_for_room(self) -> None:
        self._room.clear()
        with suppress(TimeoutError):  # the outbox does not tell of a connection that is lost
            async with asyncio.timeout(LOOK_S):
                await self._room.wait()

    def probe(self, padding: int) -> tuple[int, int]:
        """Send a probe (`Connection.probe`), if nothing is under way that it would wait for."""
        sample = self._outbox.sample()
        if self._outbox.waiting or (sample and sample.unacked_bytes + sample.user_bytes):
            return 0, 0
        sent = self._connection.probe(padding)
        self._follow()
        return sent

    def go_away(self, deadline_s: float) -> None:
        """Tell the peer that the server drains."""
        if self._connection.peer is not None:
            self._connection.send(m.GoingAway(round(deadline_s * 1000), "the server is stopping"))
            self._follow()

    def shut(self) -> None:
        """Close now, because the server stops."""
        self._connection.close(1012, "the server is stopping")
        self._follow()

    # ------------------------------------------------------------ for whoever derives from it

    @abstractmethod
    def _dispatch(self, message: m.Message, stream_id: str) -> None:
        """Do what a message asks; what it raises is told."""

    @abstractmethod
    def _pace(self, now: float) -> None:
        """After a message: tell a peer that sends too much to go slower, before it is refused."""

    @abstractmethod
    def _written(self, entry: Entry, at: float) -> None:
        """The kernel has all of a message."""

    @abstractmethod
    def _drop(self, stream_id: str, reason: str) -> None:
        """A stream is over, if there is one of this name."""

    @abstractmethod
    def _forget_all(self) -> None:
        """The connection is gone."""

    # ------------------------------------------------------------ at work

    def _settle(self) -> None:
        """After any event: what happened, then what comes of it."""
        for event in self._connection.events_received():
            if isinstance(event, Failed):
                self._note(event.error)
                if event.scope != NOTHING and event.stream_id is not None:
                    self._drop(event.stream_id, event.error.code)
            else:
                self._take(event)
        self._follow()

    def _follow(self) -> None:
        """What the connection has to send, whether it is over, when to look again."""
        self._flush()
        if self._connection.closed:
            self._outbox.close(self._connection.close_code or 1000, self._connection.close_reason)
        self._arm()

    def _take(self, event: Received) -> None:
        try:
            self._dispatch(event.message, event.stream_id or "")
        except Exception as error:
            self.fail(error, event.stream_id)

    def fail(self, error: Exception, stream_id: str | None) -> None:
        """Tell the peer of a fault, and end what it ends. Every error of a session comes here."""
        if not isinstance(error, AbrError):
            log.error(
                "a fault of the server's own", exc_info=error, extra=ids(stream_id, self._connection.session)
            )
            error = Internal("a fault of the server's own; it has been logged")
        self._note(error)
        self._connection.fail(error, stream_id)
        if error.scope != NOTHING and stream_id is not None:
            self._drop(stream_id, error.code)
        self._follow()

    def _note(self, error: AbrError) -> None:
        self.last_fault = error
        self._metrics.errors.labels(error.code).inc()
        if limit := limit_of(error):
            self._metrics.hit(limit)

    def _flush(self, owner: object | None = None, message: m.Message | None = None) -> None:
        for data in self._connection.data_to_send():
            self._outbox.put(Entry(data, owner, message))

    def _arm(self) -> None:
        if self._timer:
            self._timer.cancel()
        due = None if self._over else self._connection.get_timer()
        self._timer = None if due is None else self._loop.call_at(due, self._on_timer)

    def _on_timer(self) -> None:
        self._connection.handle_timer(self._loop.time())
        self._settle()
