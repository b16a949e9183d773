"""
What holds the server's memory: the lines of code whose objects take most of it, by tracemalloc.

Off by default, because tracing costs about half of the speed and a quarter of the memory of what it
traces. It shows what Python allocates; what a library in C holds shows only in the size of the process
(`process_resident_memory_bytes` in /metrics), and engines are processes of their own.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

from aiohttp import web

from ..config import DebugSettings
from .admin import Admin

log = logging.getLogger(__name__)

PATH = "/debug/memory"
"""Where it is told."""

TOP = 10
"""Lines of code that are told."""

OURS = Path(__file__).resolve().parents[2]
"""The package: its own lines are told from its name on."""


class Memory:
    """
    Args:
        settings: whether it may be asked, and how often it is logged.
    """

    def __init__(self, settings: DebugSettings) -> None:
        self._settings = settings
        self._last: dict[str, int] = {}
        self._mine = False
        self._one_at_a_time = asyncio.Lock()

    def add_to(self, router: web.UrlDispatcher, admin: Admin) -> None:
        """Serve it behind an operator's door, if it may be asked."""
        if self._settings.memory:
            router.add_get(PATH, admin.guarded(self._tell))

    @property
    def wanted(self) -> bool:
        """Whether anything is to be traced."""
        return self._settings.memory or self._settings.memory_s > 0

    def start(self) -> None:
        """Trace from here on, if it is wanted."""
        if self.wanted and not tracemalloc.is_tracing():
            tracemalloc.start()
            self._mine = True

    def stop(self) -> None:
        """Trace no more."""
        if self._mine:
            tracemalloc.stop()
            self._mine = False

    async def run(self) -> None:
        """Log it every `debug.memory_s` until cancelled."""
        with suppress(asyncio.CancelledError):
            while self._settings.memory_s:
                await asyncio.sleep(self._settings.memory_s)
                told = await self.told()
                lines = ", ".join(
                    f"{one['where']} {one['bytes']} ({one['grown_bytes']:+d})" for one in told["top"]
                )
                log.info("memory: %d bytes traced; most at %s", told["traced_bytes"], lines)

    async def _tell(self, request: web.Request) -> web.Response:
        return web.json_response(await self.told(), headers={"Cache-Control": "no-store"})

    async def told(self) -> dict[str, Any]:
        """
        The lines that hold most, with what each has grown since it was last asked; sizes in bytes.

        It walks over all that is traced, on a thread; the loop has its turns, and is slower meanwhile.
        """
        async with self._one_at_a_time:
            rows = await asyncio.to_thread(_rows)
            last, self._last = self._last, {where: size for where, size, _ in rows}
            traced, peak = tracemalloc.get_traced_memory()
            return {
                "traced_bytes": traced,
                "peak_bytes": peak,
                "tracing_bytes": tracemalloc.get_tracemalloc_memory(),
                "objects": len(gc.get_objects()),
                "top": [
                    {
                        "where": where,
                        "bytes": size,
                        "blocks": blocks,
                        "grown_bytes": size - last.get(where, 0),
                    }
                    for where, size, blocks in rows[:TOP]
                ],
            }


def _rows() -> list[tuple[str, int, int]]:
    """(place, bytes, blocks) of every line that allocated what still lives, the greatest first."""
    traces = tracemalloc.take_snapshot().filter_traces((tracemalloc.Filter(False, tracemalloc.__file__),))
    return [
        (_place(one.traceback[0].filename, one.traceback[0].lineno), one.size, one.count)
        for one in traces.statistics("lineno")
    ]


def _place(file: str, line: int) -> str:
    """`abr_tts/server/app.py:12`: no folders of this machine."""
    path = Path(file)
    if path.is_relative_to(OURS):
        return f"{path.relative_to(OURS.parent)}:{line}"
    parts = path.parts
    since = parts.index("site-packages") + 1 if "site-packages" in parts else max(0, len(parts) - 2)
    return f"{'/'.join(parts[since:])}:{line}"
