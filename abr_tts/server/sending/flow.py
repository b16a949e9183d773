"""
When the kernel has taken everything: water marks of a connection's transports, and a listener at
the lowest one.

asyncio and aiohttp each keep 64 kB and more ahead of a new byte, and under TLS there are two
transports, one behind the other, of which the inner one tells only TLS when it has room. A `Flow`
stands between the lowest transport and whoever it served until now, forwards everything, and
passes the word on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

HIGH_WATER_BYTES = 1
"""
Bytes in a transport above which it says stop. 0 would be meant, but asyncio's TLS then says
stop at 0 bytes as well and never says go (sslproto.py compares with >=).
"""


class _Flow:
    """
    Args:
        transport: the lowest that can be reached; the flow becomes its protocol.
        on_room: called when it has become empty.
        on_lost: called when the connection is gone.
    """

    def __init__(
        self, transport: asyncio.Transport, on_room: Callable[[], None], on_lost: Callable[[], None]
    ) -> None:
        self.transport = transport
        self._served: Any = transport.get_protocol()
        self._on_room, self._on_lost = on_room, on_lost
        self.full = False
        """Whether the transport holds what the kernel has not taken."""
        transport.set_write_buffer_limits(high=HIGH_WATER_BYTES)
        transport.set_protocol(self)  # type: ignore[arg-type]  # the subclasses are protocols

    def pause_writing(self) -> None:
        """The transport holds more than the mark."""
        self.full = True
        self._served.pause_writing()

    def resume_writing(self) -> None:
        """The transport is empty; TLS may fill it again at once from its own store."""
        self.full = False
        self._served.resume_writing()
        if not self.full:
            self._on_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is gone."""
        self._served.connection_lost(exc)
        self._on_lost()

    def release(self) -> None:
        """Stand aside: the transport serves whom it served before, with the water marks of asyncio."""
        served: object = self.transport.get_protocol()
        if served is self and not self.transport.is_closing():
            self.transport.set_protocol(self._served)
            self.transport.set_write_buffer_limits()

    def eof_received(self) -> bool | None:
        """The peer sends no more."""
        keep: bool | None = self._served.eof_received()
        return keep


class _StreamFlow(_Flow, asyncio.Protocol):
    """In front of a protocol that is handed its data: aiohttp's."""

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        self._served.data_received(data)


class _BufferedFlow(_Flow, asyncio.BufferedProtocol):
    """In front of a protocol that lends its buffer: asyncio's TLS."""

    def get_buffer(self, sizehint: int) -> Any:
        """Where the next bytes go."""
        return self._served.get_buffer(sizehint)

    def buffer_updated(self, nbytes: int) -> None:
        """They are there."""
        self._served.buffer_updated(nbytes)


Flow = _StreamFlow | _BufferedFlow


def hold_short(
    transport: asyncio.Transport, on_room: Callable[[], None], on_lost: Callable[[], None]
) -> Flow:
    """
    Lower the water marks of a transport, and of the TCP transport behind it under TLS.

    On a loop other than asyncio's own the inner transport cannot be reached; there `full` and
    `on_room` are TLS's word, and up to one message more is under way than they say.
    """
    transport.set_write_buffer_limits(high=HIGH_WATER_BYTES)
    tls = getattr(transport, "_ssl_protocol", None)
    lowest = getattr(tls, "_transport", None) or transport
    kind = _BufferedFlow if isinstance(lowest.get_protocol(), asyncio.BufferedProtocol) else _StreamFlow
    return kind(lowest, on_room, on_lost)
