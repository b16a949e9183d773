"""
A last look at a socket that is being closed: what the peer still sends is read and thrown away.

A kernel that closes a socket with unread bytes sends a reset, and the peer's next write fails before it has
read our close and its code. So a second handle is kept until the peer has closed as well (RFC 6455 section
7.1.1 wants the server to close first, and cleanly).
"""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress

PIECE_BYTES = 4096
"""Read at a time; reports are 20 bytes each."""


def second_handle(transport: asyncio.BaseTransport) -> socket.socket | None:
    """Another handle of a transport's TCP socket; None where there is none (any more)."""
    sock = transport.get_extra_info("socket")
    if sock is None or transport.is_closing():
        return None
    try:
        made = socket.socket(fileno=os.dup(sock.fileno()))
    except OSError:
        return None
    made.setblocking(False)
    return made


async def drain(handle: socket.socket, most_s: float) -> None:
    """Say that nothing more comes, read until the peer says so or the time is over, and close it."""
    loop = asyncio.get_running_loop()
    with handle, suppress(OSError, TimeoutError):
        handle.shutdown(socket.SHUT_WR)
        async with asyncio.timeout(most_s):
            while await loop.sock_recv(handle, PIECE_BYTES):
                pass
