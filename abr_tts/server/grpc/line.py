"""
One call as a session sees it: messages in, a goodbye, and how the peer left.

gRPC throws away what a client has not read yet when a call ends in an error. So our goodbye is a ping, and
the call goes on until the client has answered it, or for a while.
"""

from __future__ import annotations

import asyncio
from typing import Any

from grpc import aio

from ...errors import AbrError
from ...wire import messages as m
from ..sending.line import OnWritten
from ..sending.outbox import LINGER_S
from . import codec
from .outbox import DONE, GOODBYE, CallOutbox

LOST = 1006
"""Close code of a WebSocket for a client that has not said goodbye: the call was cancelled or lost."""

LAG_S = 0.05
"""
Seconds between the end of a call's messages and the word that the call is cancelled, at most: gRPC tells both
at once, but in either order (a guess: they come within the same turn of the loop).
"""


class CallLine:
    """
    Args:
        context: of the call, without serialisers.
        close_timeout_s: seconds that a close may take.
    """

    def __init__(self, context: Any, close_timeout_s: float) -> None:
        self._context, self._close_timeout_s = context, close_timeout_s
        self._listening: asyncio.Timeout | None = None
        self._until: float | None = None
        self.outbox: CallOutbox
        self.close_code: int | None = None

    def open(self, on_written: OnWritten) -> CallOutbox:
        """See `Line`."""
        self.outbox = CallOutbox(self._context, on_written, self._last_call, self._close_timeout_s)
        return self.outbox

    async def receive(self) -> bytes | None:
        """See `Line`. One that is too big has ended the call within gRPC."""
        try:
            async with asyncio.timeout_at(self._until) as self._listening:
                return await self._next()
        except TimeoutError:
            return None  # it was we who closed
        except asyncio.CancelledError:
            self._listening, self.close_code = None, LOST
            self.outbox.abort()
            raise
        finally:
            self._listening = None

    async def _next(self) -> bytes | None:
        """The next message; once we have closed none, as soon as the peer has seen that."""
        while (data := await self._context.read()) is not aio.EOF:
            if self._until is None:
                message: bytes = data
                return message
            if _is_answer(data):
                return None
        if self._until is None:
            await asyncio.sleep(LAG_S)
            self.close_code = DONE  # it has half-closed
        return None

    def _last_call(self) -> None:
        """Our goodbye is on its way, or will not be."""
        wait_s = 0.0 if self.outbox.cut else min(LINGER_S, self._close_timeout_s)
        self._until = asyncio.get_running_loop().time() + wait_s
        if self._listening is not None:
            self._listening.reschedule(self._until)


def _is_answer(data: bytes) -> bool:
    """Whether it answers the ping that is our goodbye."""
    try:
        return codec.decode(data, "client") == m.Pong(GOODBYE)
    except AbrError:
        return False
