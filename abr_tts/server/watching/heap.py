"""
Gives memory that was freed back to the system, now and then.

glibc keeps what it can use again. Streams come and go on several threads, with encoders and resamplers of
0.2 MB each, and its heaps fray: a server grew by 5 to 10 kB with each of thousands of short streams, none of
which left an object behind, and was back at its size after `malloc_trim` (measured by tools/bench/soak).
"""

from __future__ import annotations

import asyncio
import ctypes
import sys
from collections.abc import Callable
from contextlib import suppress


def find_trim() -> Callable[[int], int] | None:
    """glibc's malloc_trim; None where the C library is another one."""
    if not sys.platform.startswith("linux"):
        return None
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim


class Heap:
    """
    Args:
        every_s: seconds between two times; 0: never.
        trim: what gives it back; it returns 1 if there was any. None: there is nothing to call.
    """

    def __init__(self, every_s: float, trim: Callable[[int], int] | None) -> None:
        self._every_s, self._trim = every_s, trim

    async def run(self) -> None:
        """Do so until cancelled; on a thread, for it may take some milliseconds."""
        if self._trim is None or not self._every_s:
            return
        with suppress(asyncio.CancelledError):
            while True:
                await asyncio.sleep(self._every_s)
                await asyncio.to_thread(self._trim, 0)
