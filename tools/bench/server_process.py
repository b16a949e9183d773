"""
A server in a process of its own, with a stopwatch on its engine pool.

Run by the benchmarks, not by people: its argument is a JSON object of settings
(`{"server.port": 0, …}`). It prints `{"url": …, "grpc": …}`, then answers each line of its standard input
with one line of JSON: `stamps` (per clause: text, seconds from say to first samples), `added`
(seconds from the engine's first samples to the first audio in the kernel, per stream), `stats`
(resident memory, audio seconds made and written). It ends with its standard input. A second
argument says which controller decides, and what more may be asked: see `steered`; of the workers `hosted`.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from typing import Any

import hosted

from abr_tts.server.app import Server
from abr_tts.server.config import load


class Stopwatch:
    """A pool's `say` that notes when each clause was asked for and first heard."""

    def __init__(self, pool: Any) -> None:
        self.stamps: list[dict[str, Any]] = []
        self._say = pool.say
        pool.say = self.say

    def say(self, text: str, voice: Any, language: str | None, speed: float, sink: Any, **more: Any) -> Any:
        """As `Pool.say`, with a watching sink."""
        stamp = {"text": text, "asked": time.monotonic(), "first": None}
        self.stamps.append(stamp)
        return self._say(text, voice, language, speed, _Watched(sink, stamp), **more)


class _Watched:
    def __init__(self, sink: Any, stamp: dict[str, Any]) -> None:
        self._sink, self._stamp = sink, stamp
        self.end, self.fault = sink.end, sink.fault

    def pcm(self, samples: Any) -> None:
        if self._stamp["first"] is None:
            self._stamp["first"] = time.monotonic()
            self.pcm = self._sink.pcm  # type: ignore[method-assign]
        self._sink.pcm(samples)


class Raw:
    """The values that a histogram of the server is told, before it sorts them into buckets."""

    def __init__(self, histogram: Any) -> None:
        self.values: list[float] = []
        observe = histogram.observe
        histogram.observe = lambda value: (self.values.append(value), observe(value))


def resident_kb() -> int:
    """Resident memory of this process now, kB (Linux), or its peak elsewhere."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize() // 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def stats(server: Server) -> dict[str, Any]:
    """What the server has done so far."""
    written = {
        sample.labels["rung"]: sample.value
        for family in server.metrics.registry.collect()
        for sample in family.samples
        if sample.name == "abr_tts_sent_audio_seconds_total"
    }
    made = server.pool.stats.samples / server.pool.voices[0].sample_rate
    return {
        "rss_kb": resident_kb(),
        "made_s": made,
        "written_s": written,
        "pid": os.getpid(),
        "cpu_s": time.process_time(),
    }


async def main(settings: dict[str, Any], steer: dict[str, Any] | None) -> None:
    """Serve until standard input ends."""
    steering = None
    if steer:
        from steered import Steering

        steering = Steering(steer)
    server = Server(load(None, {}, settings))
    await server.start()
    watch = Stopwatch(server.pool)
    added = Raw(server.metrics.first_added)
    print(json.dumps({"url": server.url, "grpc": server.grpc_target}), flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        question = line.split()
        if steering and question[0] in ("rung", "plans"):
            answer: Any = steering.answer(question)
        elif question[0] in hosted.QUESTIONS:
            answer = await hosted.answer(server, question[0])
        else:
            known = {"stamps": watch.stamps, "added": added.values}
            answer = known[question[0]] if question[0] in known else stats(server)
        print(json.dumps(answer), flush=True)
    await server.stop()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1]), json.loads(sys.argv[2]) if sys.argv[2:] else None))
