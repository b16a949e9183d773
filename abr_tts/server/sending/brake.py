"""
The brake: no message goes to the kernel while one before it still waits there to be sent.

TCP_NOTSENT_LOWAT does not see to that alone. It says when a writer is called back, but `send`
goes on filling the last buffer, up to 64 kB of it, and asyncio sends at once while its own buffer
is empty: a stalled reader left 50 to 65 kB unsent. So the queue is asked before each message, and
while it is too long the mark itself tells when to go on.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from .sockets import NOTSENT_LOWAT_BYTES, unsent_bytes


class Brake:
    """
    Args:
        transport: of a socket that `sockets.listen` has tuned; TLS or not.
        on_release: called when the kernel has sent what made the brake hold.
    """

    def __init__(self, transport: asyncio.Transport, on_release: Callable[[], None]) -> None:
        self._transport, self._on_release = transport, on_release
        self._loop = asyncio.get_running_loop()
        self._watched: int | None = None
        self._granted = False

    def holds(self) -> bool:
        """Whether the next message must wait; if so, `on_release` is going to be called."""
        if self._watched is not None:
            return True
        if self._granted:
            self._granted = False
            return False
        sock = self._transport.get_extra_info("socket")
        if sock is None or unsent_bytes(sock) < NOTSENT_LOWAT_BYTES:
            return False
        # A loop watches a descriptor for one party, and the transport may watch this one.
        self._watched = os.dup(sock.fileno())
        self._loop.add_writer(self._watched, self._release)
        return True

    def stop(self) -> None:
        """Call nobody any more. Needed at the end: a watched connection is not closed for its peer."""
        if self._watched is not None:
            self._loop.remove_writer(self._watched)
            os.close(self._watched)
            self._watched = None

    def _release(self) -> None:
        """
        The queue is below half the mark, or the connection is broken; then too one message goes,
        because only a write tells the transport.
        """
        self.stop()
        self._granted = True
        self._on_release()
