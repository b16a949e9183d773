"""
Being on time on a busy machine, and telling how late one was: else other work would be heard as
stalls. What runs in real time here is mostly asleep, so that real-time priority costs others little.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Iterator

PRIORITY = 1
"""The least of real-time priorities; the network emulator's is above it."""

EVERY_S = 0.05
"""Seconds between two looks at an event loop."""

COMMAND = ["chrt", "--rr", str(PRIORITY)]
"""Before a command that is to be punctual (util-linux)."""


@contextlib.contextmanager
def punctual() -> Iterator[None]:
    """Within the block every thread of this process has real-time priority, where that is allowed."""
    _schedule(os.SCHED_RR, PRIORITY)
    try:
        yield
    finally:
        _schedule(os.SCHED_OTHER, 0)


def _schedule(policy: int, priority: int) -> None:
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):  # not allowed, or the thread has just ended
            os.sched_setscheduler(int(thread), policy, os.sched_param(priority))


async def watch(lags: list[float]) -> None:
    """Append by how many seconds each look at the event loop came late, for ever."""
    while True:
        due = time.monotonic() + EVERY_S
        await asyncio.sleep(EVERY_S)
        lags.append(max(0.0, time.monotonic() - due))
