"""
The connection of a client over its breaks: it dials again, and its speeches go on where they were.

A speech talks to the line and need not know which connection there is, or whether there is one. What is
said of a stream while there is none goes nowhere: it is said again when the stream is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from ..errors import AbrError, ConnectFailed, ConnectionLost
from ..wire import messages as m
from .backoff import Backoff, may_retry
from .events import Reconnected, Reconnecting
from .pump import Pump
from .speech import Speech

MOST_UNWANTED = 16
"""Speeches cancelled without a connection that the next one cancels: as many as a connection has by default;
others go after their time at the server."""


class Line:
    """
    Args:
        dial: opens a connection and waits for its welcome.
        backoff: when to dial again; None: a connection that is lost is lost.
    """

    def __init__(self, dial: Callable[[], Awaitable[Pump]], backoff: Backoff | None) -> None:
        self._dial, self._backoff = dial, backoff
        self._loop = asyncio.get_running_loop()
        self.pump: Pump | None = None
        """The connection on which new things are asked, while there is one."""
        self._leaving: list[Pump] = []
        """Connections to servers that stop, on which speeches are still under way."""
        self._goodbyes: set[asyncio.Task[None]] = set()
        self._later: set[asyncio.Task[None]] = set()
        self._lost: Exception = ConnectionLost("this client has no connection yet")
        self._hope = True
        """Another connection may fare better than the last one."""
        self._adrift: dict[str, Speech] = {}
        self._unwanted: list[list[m.Message]] = []
        """What tells a server that a speech which it holds for us is not wanted any more."""
        self._waiting = 0
        """Clips that wait for a connection."""
        self._task: asyncio.Task[None] | None = None
        self._back = asyncio.Event()

    async def connect(self) -> None:
        """The first connection; why it fails is raised."""
        pump = await self._dial()
        self._take(pump)
        if pump.leaving:
            self.away(pump)

    async def close(self) -> None:
        """Say goodbye; what has no connection ends. Twice is once."""
        self._lost, self._backoff = ConnectionLost("this client was closed"), None
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._back.set()
        for speech in list(self._adrift.values()):
            speech.cancel()
        for task in self._later:
            task.cancel()
        ends = (pump.close() for pump in self._pumps)
        await asyncio.gather(*ends, *self._later, *self._goodbyes)
        self.pump, self._leaving = None, []

    def open(self, speech: Speech, request: m.StreamStart) -> None:
        """
        Ask for a speech, at once or when there is a connection again.

        Raises:
            BadField, TooManyStreams: the server would refuse it.
            ConnectionLost, ConnectionFault, ConnectFailed: there is no connection, and none will be.
        """
        if self.pump is not None:
            wait_s = self.pump.requests.take(self.now())
            if wait_s:
                self._hold_back(speech, wait_s)
            else:
                self.pump.open(speech, request)
        else:
            self._hopeful()
            self._drift([speech], self._lost)

    def _hold_back(self, speech: Speech, wait_s: float) -> None:
        """The server wants requests to come slower: ask in a while, as if there were no connection yet."""
        speech.lost()
        self._adrift[speech.stream_id] = speech
        self._loop.call_later(wait_s, self._ask_late, speech)

    def _ask_late(self, speech: Speech) -> None:
        if self._adrift.get(speech.stream_id) is not speech or self.pump is None:
            return  # over by now, or asked with the others when there is a connection
        wait_s = self.pump.requests.take(self.now())
        del self._adrift[speech.stream_id]
        if wait_s:
            self._hold_back(speech, wait_s)
        else:
            self._ask(self.pump, speech)

    @property
    def speeches(self) -> int:
        """Speeches under way, with a connection or without."""
        return len(self._adrift) + sum(pump.speeches for pump in self._pumps)

    @property
    def _pumps(self) -> list[Pump]:
        """All connections."""
        return [*self._leaving, *([self.pump] if self.pump else [])]

    def _of(self, speech: Speech | None) -> Pump | None:
        """The connection that a speech is under way on."""
        return next((pump for pump in self._pumps if speech and pump.has(speech)), None)

    async def turn(self) -> Pump:
        """
        The connection, once there is one and the server takes another request.

        Raises:
            ConnectionLost, ConnectionFault, ConnectFailed: there is none, and none will be.
        """
        while True:
            if self.pump is None:
                self._hopeful()
                self._dial_again(self._lost)
                self._waiting += 1
                try:
                    await self._back.wait()
                finally:
                    self._waiting -= 1
                if self.pump is None:
                    raise self._lost
            wait_s = self.pump.requests.take(self.now())
            if not wait_s:
                return self.pump
            await asyncio.sleep(wait_s)

    def in_turn(self, begin: Callable[[Pump], None], speech: Speech) -> None:
        """
        Begin a speech that is no request of text: now, or when there is a connection that takes it.

        Raises:
            ConnectionLost, ConnectionFault, ConnectFailed, StreamError: what can be known now.
        """
        if self.pump is not None and not self.pump.requests.take(self.now()):
            return begin(self.pump)
        if self.pump is None:
            self._hopeful()

        async def later() -> None:
            try:
                begin(await self.turn())
            except asyncio.CancelledError:
                speech.fail(self._lost)
            except Exception as fault:
                speech.fail(fault)

        self._keep(self._later, later())

    def _hopeful(self) -> None:
        """Raise why there will be no connection, if there will be none."""
        if self._backoff is None or not self._hope:
            raise self._lost

    # ------------------------------------------------------------ what speeches need (Link)

    def now(self) -> float:
        """Seconds on the event loop's monotonic clock."""
        return self._loop.time()

    def send(self, message: m.Message, speech: Speech | None = None) -> None:
        """Queue a message; without a connection it goes nowhere."""
        pump = self._of(speech)
        if pump is not None:
            pump.send(message)

    async def flushed(self, speech: Speech | None = None) -> None:
        """Wait until what was queued is handed to a socket, and for as long as the server asked."""
        if self._of(speech) is None:
            await self._back.wait()
        if pump := self._of(speech) or self.pump:
            await asyncio.sleep(pump.requests.pause_s(self.now()))
            await pump.flushed()

    def settled(self, speech: Speech) -> None:
        """A speech is over."""
        if self._adrift.pop(speech.stream_id, None) and (words := speech.unwanted()):
            self._unwanted = [*self._unwanted, words][-MOST_UNWANTED:]
        pump = self._of(speech)
        if pump is not None:
            pump.settled(speech)
            self._leave(pump)
        task = self._task
        if not (self._adrift or self._waiting) and task is not None and task is not asyncio.current_task():
            task.cancel()
            self._task = None

    # ------------------------------------------------------------ servers that stop

    def away(self, pump: Pump) -> None:
        """A server stops: what runs there goes on, and from now on another is asked."""
        if pump is not self.pump or self._backoff is None:
            return
        self.pump, self._lost, self._hope = None, ConnectionLost("the server stops"), True
        self._leaving.append(pump)
        self._drift(list(self._adrift.values()), self._lost)
        self._leave(pump)

    def move(self, speech: Speech) -> None:
        """The server is done with the speech, but not the speech: ask for the rest elsewhere."""
        pump = self._of(speech)
        if pump is not None:
            pump.let_go(speech)
            self.away(pump)
            self._leave(pump)
        if self._backoff is None:
            return speech.fail(ConnectionLost("the server stops, and this client does not connect again"))
        if self.pump is None:
            return self._drift([speech], self._lost)
        speech.lost()
        self._ask(self.pump, speech)

    def _leave(self, pump: Pump) -> None:
        """Hang up where nothing is left of ours, so that the server need not wait."""
        if pump in self._leaving and not pump.speeches and self._backoff is not None:
            self._leaving.remove(pump)
            self._keep(self._goodbyes, pump.close())

    def _keep(self, tasks: set[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    # ------------------------------------------------------------ breaks

    def lose(self, pump: Pump, speeches: list[Speech], reason: Exception, close: int | None) -> None:
        """
        A connection has ended.

        Args:
            pump: which.
            speeches: that it had, and that may go on at another.
            reason: why it ended.
            close: the WebSocket's close code.
        """
        if pump not in self._pumps:
            return  # it never greeted, or was left
        hope = _passes(reason, close)
        if pump is self.pump:
            self.pump, self._lost, self._hope = None, reason, hope
        else:
            self._leaving.remove(pump)
        if self._backoff is not None and hope:
            self._drift([one for one in speeches if not one.received], reason)
            speeches = [one for one in speeches if one.received]
        self._give_up(speeches, reason)

    def _drift(self, speeches: list[Speech], reason: Exception) -> None:
        """They have no connection now; dial, if it is not done already, or go on at the one that there is."""
        for speech in speeches:
            speech.lost()
            self._adrift[speech.stream_id] = speech
        if speeches and self.pump is not None:
            self._go_on(speeches)
        elif speeches:
            self._dial_again(reason)

    def _dial_again(self, reason: Exception) -> None:
        if self._task is None or self._task.done():
            self._back.clear()
            self._task = self._loop.create_task(self._reconnect(reason))

    async def _reconnect(self, reason: Exception) -> None:
        backoff, fault = self._backoff, reason
        assert backoff is not None
        while self.pump is None:
            retry_after = getattr(fault, "retry_after", None)
            wait = backoff.next(self.now(), retry_after) if _passes(fault, None) else None
            if wait is None:
                self._hope = _passes(fault, None)
                self._lost = reason if self._hope else fault
                backoff.reset()
                self._back.set()
                self._give_up(list(self._adrift.values()), self._lost)
                return
            self._tell(Reconnecting(backoff.attempts, wait, str(fault)))
            await asyncio.sleep(wait)
            try:
                pump = await self._dial()
            except (AbrError, ConnectFailed, ConnectionLost) as again:
                fault = again
                continue
            if pump.leaving:
                fault = ConnectionLost("the server stops")
                await pump.close()
            elif pump.lost is None:
                self._take(pump)
                self._go_on(list(self._adrift.values()))

    def _take(self, pump: Pump) -> None:
        self.pump = pump
        for words in self._unwanted:
            pump.disown(words)
        self._unwanted = []
        self._back.set()
        if self._backoff is not None:
            self._backoff.reset()

    def _go_on(self, speeches: list[Speech]) -> None:
        """Those without a connection, on the one that there is now."""
        for speech in speeches:
            assert self.pump is not None
            self._adrift.pop(speech.stream_id, None)
            self._ask(self.pump, speech)
            speech.happened(Reconnected())

    def _ask(self, pump: Pump, speech: Speech) -> None:
        try:
            pump.reopen(speech)
        except AbrError as fault:
            speech.fail(fault)

    def _tell(self, event: Reconnecting) -> None:
        for speech in list(self._adrift.values()):
            speech.happened(event)

    def _give_up(self, speeches: list[Speech], reason: Exception) -> None:
        for speech in speeches:
            speech.fail(reason)


def _passes(reason: Exception, close: int | None) -> bool:
    """Whether another connection may fare better."""
    if isinstance(reason, AbrError):
        return may_retry(reason.close, reason.code)
    return not reason.final if isinstance(reason, ConnectFailed) else may_retry(close)
