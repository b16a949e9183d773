"""
When files are looked at: every few seconds, sooner while one is changing, and when somebody asks (SIGHUP).

The reading is done on a thread, what comes of it on the event loop: a disk that hangs holds no stream up.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from .watch import SETTLE_S

log = logging.getLogger(__name__)

S = TypeVar("S")


class Rounds:
    """
    Args:
        every_s: seconds between two looks; 0: only when asked.
        unsettled: whether a file was seen that may still be being written.
    """

    def __init__(self, every_s: float, unsettled: Callable[[], bool]) -> None:
        self._every_s, self._unsettled = every_s, unsettled
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """Look now, and take what is there at once."""
        self._asked.set()

    async def run(
        self, look: Callable[[], S], take: Callable[[S, float, bool], Awaitable[None]], what: str
    ) -> None:
        """
        Look until cancelled.

        Args:
            look: reads the files, on a thread.
            take: given what it saw, the loop's time in seconds, and whether somebody asked.
            what: the files, as the log names them.
        """
        loop = asyncio.get_running_loop()
        with suppress(asyncio.CancelledError):
            while True:
                at_once = await self._wait()
                try:
                    await take(await asyncio.to_thread(look), loop.time(), at_once)
                except Exception:
                    log.exception("%s could not be looked at; what is in use stays", what)

    async def _wait(self) -> bool:
        """Until it is time or somebody asks; whether somebody did."""
        pause_s = self._every_s or None
        if self._unsettled():
            pause_s = min(SETTLE_S, self._every_s or SETTLE_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await self._asked.wait()
        asked = self._asked.is_set()
        self._asked.clear()
        return asked
