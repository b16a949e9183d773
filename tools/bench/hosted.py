"""
What `engine_host` asks of a server process: its workers and its switches, and to kill a worker.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import Any

from abr_tts.control.ladder import FULL
from abr_tts.control.utility import measured_utility
from abr_tts.server.app import Server

QUESTIONS = ("whole", "processes", "switches", "kill")

LOOK_S = 0.001
"""Between two looks at the workers."""


async def answer(server: Server, question: str) -> Any:
    """The answer to one of `QUESTIONS`, for JSON."""
    if question == "whole":
        await _until(lambda: server.pool.ready == server.pool.stats.size)
        return True
    if question == "processes":
        pool: Any = server.pool
        return {"engines": [worker.pid for worker in pool._workers], "server": os.getpid()}
    return await _kill(server) if question == "kill" else _switches(server)


async def _until(condition: Any) -> None:
    while not condition():  # noqa: ASYNC110 -- a pool that is measured has no event for it
        await asyncio.sleep(LOOK_S)


async def _kill(server: Server) -> dict[str, Any]:
    """Kill a worker that has begun to speak; seconds until all are there again."""
    pool: Any = server.pool

    def speaking() -> list[Any]:
        begun = [w for w in pool._workers if w.load]
        return [w for w in begun if pool.stats.samples > before]

    before = pool.stats.samples
    await _until(speaking)
    victim = speaking()[0]
    begin, lost = time.monotonic(), pool.stats.lost
    os.kill(victim.pid, signal.SIGKILL)
    await _until(lambda: pool.stats.lost > lost)
    await _until(lambda: pool.ready == pool.stats.size)
    return {"own": 1, "whole_s": time.monotonic() - begin, "start_s": pool.progress.seconds}


def _switches(server: Server) -> dict[str, Any]:
    """Switches to a rung of lower utility, by reason; what was played at which rung; stalls."""
    lowered: dict[str, int] = {}
    played: dict[str, float] = {}
    stalls = 0
    for sample in _samples(server):
        if sample.name == "abr_tts_switches_total":
            source, target = (measured_utility(FULL[sample.labels[key]]) for key in ("from", "to"))
            if target < source:
                reason = sample.labels["reason"]
                lowered[reason] = lowered.get(reason, 0) + round(sample.value)
        elif sample.name == "abr_tts_played_audio_seconds_total":
            played[sample.labels["rung"]] = round(sample.value, 1)
        elif sample.name == "abr_tts_stalls_total":
            stalls = round(sample.value)
    return {"lowered": lowered, "played_s": played, "stalls": stalls}


def _samples(server: Server) -> Any:
    return (s for family in server.metrics.registry.collect() for s in family.samples)
