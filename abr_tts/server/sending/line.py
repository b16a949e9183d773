"""
What carries the messages of one session, whatever it is: a WebSocket, or a call of gRPC.

A session reads from it one message at a time, and writes to the outbox that belongs to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from aiohttp import WebSocketError, WSMsgType, web

from ...errors import MessageTooBig
from ...stream.pacer import KernelSample
from .outbox import Entry, Outbox

OnWritten = Callable[[Entry, float], None]
"""Told of each entry that has been handed over, and when that was."""


class Outlet(Protocol):
    """Messages on their way out, in order; `outbox.Outbox` says it in full."""

    @property
    def waiting(self) -> int:
        """Messages that wait here."""

    def put(self, entry: Entry) -> None:
        """Send `entry` after what is queued."""

    def discard(self, owner: object) -> None:
        """Drop what waits of `owner`."""

    def close(self, code: int, reason: str) -> None:
        """Say goodbye after what is queued, with a close code of the WebSocket."""

    async def wait_closed(self) -> None:
        """Return when the goodbye is said, or the peer is gone."""

    def sample(self) -> KernelSample | None:
        """What the kernel has under way; None where it cannot be known."""


class Line(Protocol):
    """One peer, as a session sees it."""

    @property
    def close_code(self) -> int | None:
        """What the peer closed with, 1006 where it said nothing; None: it has not closed."""

    def open(self, on_written: OnWritten) -> Outlet:
        """Where to write; called once, before anything else."""

    async def receive(self) -> bytes | str | None:
        """
        The next message, None when there is no more.

        Raises:
            MessageTooBig: one that was not even read; then there is no more.
        """


class WebSocketLine:
    """
    Args:
        socket: the WebSocket, prepared.
        transport: its transport.
        close_timeout_s: seconds that a close may take.
    """

    def __init__(
        self, socket: web.WebSocketResponse, transport: asyncio.Transport, close_timeout_s: float
    ) -> None:
        self._socket, self._transport, self._close_timeout_s = socket, transport, close_timeout_s

    @property
    def close_code(self) -> int | None:
        """See `Line`; the socket knows it."""
        return self._socket.close_code

    def open(self, on_written: OnWritten) -> Outbox:
        """See `Line`."""
        return Outbox(self._socket, self._transport, on_written, self._close_timeout_s)

    async def receive(self) -> bytes | str | None:
        """See `Line`; of a message that is far too big aiohttp says so, and has closed."""
        message = await self._socket.receive()
        if message.type in (WSMsgType.BINARY, WSMsgType.TEXT):
            data: bytes | str = message.data
            return data
        if isinstance(message.data, WebSocketError) and message.data.code == MessageTooBig.close:
            raise MessageTooBig("a message far beyond the limit")
        return None
