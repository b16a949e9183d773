"""
The server of `soak`: as it comes, with a look at what it holds.

Run like `server_process`, but nothing of its own grows with the number of streams. It answers `held` (what
it holds now), `lag` (how late its event loop woke since the last question, milliseconds), `growth`
(objgraph: which types of objects have become more since the last question), `logged` (faults of its own
that it has logged) and `series` (lines that /metrics has).
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import sys
import threading
from array import array
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import objgraph
import usage
from common import percentile

from abr_tts.server.app import Server
from abr_tts.server.config import load

GROWN = 12
"""Types of objects that are told."""


def held(server: Server) -> dict[str, int]:
    """What the server holds: after a load each must be what it was before."""
    state = server._front._states()
    pid = os.getpid()
    return {
        "rss_kb": usage.rss_kb(pid),
        "tasks": len(asyncio.all_tasks()),
        "threads": threading.active_count(),
        "descriptors": usage.descriptors(pid),
        "processes": len(usage.family(pid)),
        "connections": server._admission.connections,
        "active": server._admission.streams,
        "streams": sum(state.values()),
        "resumable": len(server._resumption._held),
        "detached": len(server._resumption.shelf),
        "clauses_waiting": server.pool.waiting,
        "encodings_waiting": server._workshop.waiting,
    }


class Lag:
    """The lags of the loop since the last question, as numbers of 4 bytes."""

    def __init__(self, server: Server) -> None:
        self._ms = array("f")
        self.ours = False
        """The next one is the work of a question, not of the server."""
        observe = server.metrics.loop_lag.observe

        def noted(seconds: float) -> None:
            if not self.ours:
                self._ms.append(seconds * 1000)
            self.ours = False
            observe(seconds)

        server.metrics.loop_lag.observe = noted  # type: ignore[method-assign]

    def taken(self) -> dict[str, float]:
        """Percentiles; then it begins anew."""
        values, self._ms = list(self._ms) or [0.0], array("f")
        return {
            name: round(percentile(values, at), 2) for name, at in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))
        }


class Logged(logging.Handler):
    """The first lines at level error or above."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []
        logging.getLogger().addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line; a few say enough."""
        if len(self.lines) < 20:
            self.lines.append(self.format(record))


def growth() -> dict[str, int]:
    """Objects more than at the last question, by type."""
    gc.collect()
    return {name: more for name, _, more in objgraph.growth(limit=GROWN)}


async def main(settings: dict[str, Any]) -> None:
    """Serve until standard input ends."""
    server = Server(load(None, {}, settings))
    await server.start()
    lag, logged = Lag(server), Logged()
    print(json.dumps({"url": server.url, "pid": os.getpid()}), flush=True)
    loop, reader = asyncio.get_running_loop(), ThreadPoolExecutor(1)
    await asyncio.to_thread(gc.collect)  # the loop's own executor has its first thread
    while line := await loop.run_in_executor(reader, sys.stdin.readline):
        question = line.split()[0]
        answers = {
            "held": lambda: held(server),
            "lag": lag.taken,
            "growth": growth,
            "logged": lambda: logged.lines,
            "series": lambda: sum(len(family.samples) for family in server.metrics.registry.collect()),
        }
        print(json.dumps(answers[question]()), flush=True)
        lag.ours = True
    await server.stop()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
