"""
Messages of one call on their way to its stream, in order, one write at a time.

HTTP/2 takes what its window and the kernel's queue have room for, which may be far more than the link carries
and cannot be asked. So nothing is known here of what is under way (`sample` is None): the reports alone keep
it small, and what waits here can still be taken back.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from ...wire.messages import Ping
from ..sending.line import OnWritten
from ..sending.outbox import Entry
from . import codec

log = logging.getLogger(__name__)

GOODBYE = 0
"""Value of the ping that is our goodbye; all others count from 1."""

DONE = 1000
"""Close code of a WebSocket where nothing is wrong."""


class CallOutbox:
    """
    Args:
        context: of the call (`grpc.aio.ServicerContext`), without a serialiser.
        on_written: called with each entry once gRPC has taken it, and when that was.
        on_over: called once nothing more is going to be written.
        close_timeout_s: seconds that what is queued may take after `close`.
    """

    def __init__(
        self, context: Any, on_written: OnWritten, on_over: Callable[[], None], close_timeout_s: float
    ) -> None:
        self._context, self._on_written, self._on_over = context, on_written, on_over
        self._close_timeout_s = close_timeout_s
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Entry] = deque()
        self._writer: asyncio.Task[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._over = asyncio.Event()
        self.farewell: tuple[int, str] | None = None
        """The close code and its reason, once this side has closed."""
        self.cut = False
        """Whether something was not written, because the peer is gone or does not read."""

    def put(self, entry: Entry) -> None:
        """Send `entry` after what is queued. After `close` it is dropped."""
        if self.farewell is None:
            self._waiting.append(entry)
            self._go_on()

    @property
    def waiting(self) -> int:
        """Messages that wait here."""
        return len(self._waiting)

    def discard(self, owner: object) -> None:
        """Drop what waits of `owner`; what is being written cannot be stopped."""
        self._waiting = deque(entry for entry in self._waiting if entry.owner is not owner)

    def close(self, code: int, reason: str) -> None:
        """Write what is queued, a ping if there is a fault to be told, and no more, in the time for it."""
        if self.farewell is None:
            self.farewell = (code, reason)
            if code != DONE:
                self._waiting.append(Entry(codec.encode(Ping(GOODBYE))))
            self._deadline = self._loop.call_later(self._close_timeout_s, self.abort)
            self._go_on()

    def abort(self) -> None:
        """Write nothing more: the peer is gone, or does not read."""
        self.cut = True
        self._waiting.clear()
        if self._writer:
            self._writer.cancel()
        self._end()

    async def wait_closed(self) -> None:
        """Return when all is written after `close`, or the call is lost."""
        await self._over.wait()

    def sample(self) -> None:
        """The kernel cannot be asked."""
        return None

    def _go_on(self) -> None:
        if self._over.is_set() or self._writer is not None:
            return
        if self._waiting:
            self._writer = asyncio.ensure_future(self._write())
        elif self.farewell:
            self._end()

    async def _write(self) -> None:
        """All that waits. Of a call that is gone gRPC says so by any of its errors; its line is told too."""
        try:
            while self._waiting:
                entry = self._waiting.popleft()
                await self._context.write(entry.data)
                self._loop.call_soon(self._on_written, entry, self._loop.time())
        except Exception:
            log.debug("the call is gone", exc_info=True)
            self.cut = True
            self._waiting.clear()
            self._end()
        finally:
            self._writer = None
        self._go_on()

    def _end(self) -> None:
        if self._deadline:
            self._deadline.cancel()
        if not self._over.is_set():
            self._over.set()
            self._on_over()
