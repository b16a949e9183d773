"""
How much of what was said still waits on this side of the network, and room for more.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Any

import aiohttp

UNSENT_BYTES = 65_536
"""Bytes of all kinds that may wait here before a clip is held back (protocol/SPEC.md, Clips)."""

LOWAT_BYTES = 16_384
"""Bytes that the kernel takes beyond what is on its way: by default it takes megabytes, and the reports
of what is heard meanwhile would wait behind them (TCP_NOTSENT_LOWAT, Linux and macOS)."""

LOOK_S = 0.005
"""Seconds between two looks at a full transport, which tells nobody but aiohttp that it has room."""


def of_socket(websocket: aiohttp.ClientWebSocketResponse) -> list[asyncio.Transport]:
    """The transports that hold what the kernel has not taken: under TLS two, one behind the other."""
    connection: Any = getattr(websocket, "_conn", None)  # aiohttp gives a client no other way to it
    transport = connection.transport if connection else None
    tls = getattr(transport, "_ssl_protocol", None)
    return [one for one in (transport, getattr(tls, "_transport", None)) if one is not None]


class Room:
    """
    Args:
        websocket: freshly opened.
    """

    def __init__(self, websocket: aiohttp.ClientWebSocketResponse) -> None:
        self._websocket = websocket
        self._transports = of_socket(websocket)
        self.queued = 0
        """Bytes that were not handed to the transports yet; its owner counts them."""

    @property
    def unsent(self) -> int:
        """Bytes that wait, here and in the transports."""
        # asyncio's TLS transport cannot be asked any more once it is closed.
        open_ones = [one for one in self._transports if not one.is_closing()]
        return self.queued + sum(one.get_write_buffer_size() for one in open_ones)

    def hold_short(self) -> None:
        """Ask the kernel to take no more than it can send soon; for connections that send a lot."""
        kernel = self._websocket.get_extra_info("socket")
        option = getattr(socket, "TCP_NOTSENT_LOWAT", None)
        if kernel is not None and option is not None:
            with contextlib.suppress(OSError):
                kernel.setsockopt(socket.IPPROTO_TCP, option, LOWAT_BYTES)

    async def wait(self, size: int) -> None:
        """Return when `size` bytes more are no more than may wait, or nothing waits at all."""
        while self._is_full(size):  # noqa: ASYNC110 -- there is no event to wait for, see LOOK_S
            await asyncio.sleep(LOOK_S)

    def _is_full(self, size: int) -> bool:
        unsent = self.unsent
        return unsent > 0 and unsent + size > UNSENT_BYTES
