"""
What a worker process prints, kept for the moment when somebody must be told why it ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from typing import Optional

log = logging.getLogger("abr_tts.engine")

LINES, WIDTH = 20, 1_000
"""Lines and bytes of a line that are kept: the end of a traceback. Chosen here."""


class Printed(asyncio.Protocol):
    """The last lines of a worker's output; each also goes to the log at debug level."""

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque(maxlen=LINES)
        self._part = b""
        self._eof = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        """Split into lines."""
        *lines, self._part = (self._part + data).split(b"\n")
        self._part = self._part[-WIDTH:]
        for line in lines:
            self._lines.append(line[:WIDTH])
            log.debug("worker printed: %s", line[:WIDTH].decode(errors="replace"))

    def connection_lost(self, exc: Optional[Exception]) -> None:
        """Nobody can print any more."""
        self._eof.set()

    async def closed(self, patience: float) -> None:
        """Wait for the end of the output, `patience` seconds at most."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._eof.wait(), patience)

    def last(self) -> str:
        """The last line with anything on it."""
        for line in [self._part, *reversed(self._lines)]:
            if line.strip():
                return line.decode(errors="replace").strip()
        return ""


def reason(returncode: Optional[int], printed: str) -> str:
    """Why a process ended, for a person; None: it has not."""
    if returncode is None:
        return "its process could not be ended"
    how = f"signal {-returncode}" if returncode < 0 else f"exit code {returncode}"
    return f"its process ended ({how})" + (f": {printed}" if printed else "")
