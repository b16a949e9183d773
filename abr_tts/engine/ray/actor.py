"""
The worker as an actor: one engine of `kinds.KINDS`, in a process of Ray's, on any machine.

The engine has a thread of its own and is called by no other, one request at a time, as in a worker
process; Ray's event loop beside it hands out what the engine makes, answers pings, and takes
cancels. Streams are async generators of records (`ipc`), PCM as bare bytes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import Any, Optional, Union

from ...errors import EngineError
from .. import ipc, work
from ..base import Engine

Record = Union[bytes, ipc.Record]
"""What a stream is made of: PCM16 bytes, and about it what a worker process would say."""


INLINE = 96 * 1024
"""Bytes of PCM handed out in one piece at most. Up to 100 kB (`max_direct_call_object_size`) Ray sends a
result along with its notice; a larger one takes the way through the object store, twice as long
(measured: 192 kB 3.8 ms, 32 kB 1.9 ms)."""


class Stream:
    """From the engine's thread to Ray's loop: the records of one request."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._records: deque[Record] = deque()
        self._news = asyncio.Event()
        self.is_wanted = True

    def put(self, record: Record) -> None:
        """From the thread."""
        self._records.append(record)
        self._loop.call_soon_threadsafe(self._news.set)

    async def records(self) -> AsyncGenerator[Record, None]:
        """From the loop: up to the one that ends it. Leaving early means that no more is wanted."""
        try:
            while True:
                await self._news.wait()
                self._news.clear()
                while self._records:
                    record = self._next()
                    yield record
                    if isinstance(record, (ipc.Ready, ipc.End, ipc.Fault)):
                        return
        finally:
            self.is_wanted = False

    def _next(self) -> Record:
        """The next record; of PCM as much as has gathered, because each piece costs Ray about 1 ms."""
        record = self._records.popleft()
        if not isinstance(record, bytes):
            return record
        pieces, size = [record], len(record)
        while self._records and isinstance(after := self._records[0], bytes) and size + len(after) <= INLINE:
            pieces.append(after)
            size += len(after)
            self._records.popleft()
        return b"".join(pieces)

    # What `work.Hearer` asks.

    def wanted(self, request: int) -> bool:
        """Whether the listener is still there."""
        return self.is_wanted

    def pcm(self, request: int, data: memoryview) -> None:
        """The next PCM."""
        self.put(bytes(data))

    def tell_bad(self, count: int) -> None:
        """Samples were not finite."""
        self.put(ipc.Log(logging.WARNING, f"the engine made {count} samples that are not finite; silenced"))


class Speaker:
    """
    The actor.

    Args:
        kind, options: of the engine, as in `spec.EngineSpec`.
    """

    def __init__(self, kind: str, options: dict[str, Any]) -> None:
        self._kind = kind
        self._options = options
        self._engine: Optional[Engine] = None
        self._jobs: queue.SimpleQueue[tuple[Stream, Callable[[Stream], Record]]] = queue.SimpleQueue()
        self._current: Optional[Stream] = None
        self._undone = 0
        self._idle = asyncio.Event()
        self._idle.set()
        threading.excepthook = self._on_thread_exception
        threading.Thread(target=self._work, name="engine", daemon=True).start()

    async def load(self) -> AsyncGenerator[Record, None]:
        """Load the engine: `Loading` any number of times, then `Ready` or a `Fault`."""
        async for record in self._do(self._load):
            yield record

    async def ask(self, ask: Union[ipc.Say, ipc.Convert]) -> AsyncGenerator[Record, None]:
        """Speak: PCM any number of times, then `End` or a `Fault`."""
        async for record in self._do(lambda stream: self._speak(stream, ask)):
            yield record

    async def idle(self) -> None:
        """Returns when the engine's thread has nothing to do: after a cancel, within a chunk."""
        await self._idle.wait()

    async def ping(self) -> int:
        """The process's id: it lives."""
        return os.getpid()

    async def _do(self, job: Callable[[Stream], Record]) -> AsyncGenerator[Record, None]:
        stream = Stream()
        self._undone += 1
        self._idle.clear()
        self._jobs.put((stream, job))
        async for record in stream.records():
            yield record

    # -- the engine's thread --------------------------------------------------------------

    def _work(self) -> None:
        while True:
            stream, job = self._jobs.get()
            self._current = stream
            try:
                last = job(stream)
            except EngineError as error:
                last = ipc.Fault(0, error.code, error.message, fatal=False)
            except Exception as error:
                last = work.fatal(0, error, stream.put)
            self._current = None
            stream.put(last)
            stream._loop.call_soon_threadsafe(self._done)

    def _done(self) -> None:
        self._undone -= 1
        if not self._undone:
            self._idle.set()

    def _load(self, stream: Stream) -> Record:
        try:
            engine = work.make(self._kind)
            engine.load(self._options, work.Telling(stream.put))
            ready = work.ready(engine)
        except Exception as error:
            return work.fatal(0, error, stream.put)
        self._engine = engine
        return ready

    def _speak(self, stream: Stream, ask: Union[ipc.Say, ipc.Convert]) -> Record:
        assert self._engine is not None, "the pool asks after Ready"
        out = work.Outlet(stream, ask.id)
        if stream.is_wanted:
            work.ask(self._engine, ask, out)
        return ipc.End(ask.id, out.samples, out.bad)

    def _on_thread_exception(self, args: Any) -> None:
        """An engine's own thread died: what it should have made will never come."""
        if (stream := self._current) is not None:
            stream.put(work.fatal(0, args.exc_value or args.exc_type(), stream.put))
