"""
The connection of a client over its breaks: it dials again, and its speeches go on where they were.

A speech talks to the line and need not know which connection there is, or whether there is one. What is
said of a stream while there is none goes nowhere: it is said again when the stream is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ..errors import AbrError, ConnectFailed, ConnectionLost
from ..wire import messages as m
from .backoff import Backoff, may_retry
from .events import Reconnected, Reconnecting
from .pump import Pump
from .speech import Speech


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
        """The connection, while there is one."""
        self._lost: Exception = ConnectionLost("this client has no connection yet")
        self._hope = True
        """Another connection may fare better than the last one."""
        self._adrift: dict[str, Speech] = {}
        self._task: asyncio.Task[None] | None = None
        self._back = asyncio.Event()

    async def connect(self) -> None:
        """The first connection; why it fails is raised."""
        self._take(await self._dial())

    async def close(self) -> None:
        """Say goodbye; what has no connection ends. Twice is once."""
        self._lost, self._backoff = ConnectionLost("this client was closed"), None
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        for speech in list(self._adrift.values()):
            speech.cancel()
        if self.pump is not None:
            await self.pump.close()
        self.pump = None

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
        elif self._backoff is None or not self._hope:
            raise self._lost
        else:
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
        return len(self._adrift) + (self.pump.speeches if self.pump else 0)

    def connected(self) -> Pump:
        """
        The connection.

        Raises:
            ConnectionLost, ConnectionFault: there is none now.
        """
        if self.pump is None:
            raise self._lost
        return self.pump

    # ------------------------------------------------------------ what speeches need (Link)

    def now(self) -> float:
        """Seconds on the event loop's monotonic clock."""
        return self._loop.time()

    def send(self, message: m.Message) -> None:
        """Queue a message; without a connection it goes nowhere."""
        if self.pump is not None:
            self.pump.send(message)

    async def flushed(self) -> None:
        """Wait until what was queued is handed to a socket, and for as long as the server asked."""
        await self._back.wait()
        if self.pump is not None:
            await asyncio.sleep(self.pump.requests.pause_s(self.now()))
        if self.pump is not None:
            await self.pump.flushed()

    def settled(self, speech: Speech) -> None:
        """A speech is over."""
        self._adrift.pop(speech.stream_id, None)
        if self.pump is not None:
            self.pump.settled(speech)
        task = self._task
        if not self._adrift and task is not None and task is not asyncio.current_task():
            task.cancel()
            self._task = None

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
        if pump is not self.pump:
            return  # it never greeted
        self.pump, self._lost = None, reason
        self._hope = _passes(reason, close)
        if self._backoff is not None and self._hope:
            self._drift([one for one in speeches if not one.received], reason)
            speeches = [one for one in speeches if one.received]
        self._give_up(speeches, reason)

    def _drift(self, speeches: list[Speech], reason: Exception) -> None:
        """They have no connection now; dial, if it is not done already."""
        for speech in speeches:
            speech.lost()
            self._adrift[speech.stream_id] = speech
        if speeches and (self._task is None or self._task.done()):
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
            if pump.lost is None:
                self._take(pump)
                self._go_on()

    def _take(self, pump: Pump) -> None:
        self.pump = pump
        self._back.set()
        if self._backoff is not None:
            self._backoff.reset()

    def _go_on(self) -> None:
        """Every speech on the connection that there is now."""
        adrift, self._adrift = list(self._adrift.values()), {}
        for speech in adrift:
            assert self.pump is not None
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
