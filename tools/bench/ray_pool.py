"""
What each kind of pool adds to a chunk: worker processes, actors of a local Ray, a server over HTTP.

The engine is `tone`, which plays CosyVoice's chunk plan (1.8, 2 and 4 s) at a pace: each chunk is due
at a time that is known beforehand. *Added* is from then until its last sample is with the sink, on
one clock. *First* is from `say` to the first sample of an engine that needs no time at all.

It takes about 2 minutes. Without Ray that part is left out, with the reason.

    pip install '.[ray]'
    python tools/bench/ray_pool.py --json
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from importlib.util import find_spec
from typing import Any

from common import percentile, show

from abr_tts.engine.base import Samples
from abr_tts.engine.build import POOLS, PROCESSES, RAY, pool_for
from abr_tts.engine.face import Speaking
from abr_tts.engine.pool import EngineSpec, Limits
from abr_tts.engine.tone import CHAR_S
from abr_tts.errors import EngineError

RATE = 24_000
PLAN_S = (1.8, 2.0, 4.0)
TEXT = "x" * round(sum(PLAN_S) / CHAR_S)
HTTP = "http"


class Clock:
    """A sink that notes when each chunk of the plan was whole."""

    def __init__(self) -> None:
        self.asked = time.perf_counter()
        self.first: float | None = None
        self.whole: list[float] = []
        self.over = asyncio.Event()
        self.error: EngineError | None = None
        self._heard = 0
        self._ends = [round(sum(PLAN_S[: n + 1]) * RATE) for n in range(len(PLAN_S))]

    def pcm(self, samples: Samples) -> None:
        """Samples arrive."""
        now = time.perf_counter() - self.asked
        self.first = now if self.first is None else self.first
        self._heard += samples.size
        while len(self.whole) < len(self._ends) and self._heard >= self._ends[len(self.whole)]:
            self.whole.append(now)

    def end(self) -> None:
        """All have."""
        self.over.set()

    def fault(self, error: EngineError) -> None:
        """They will not."""
        self.error = error
        self.over.set()


async def ask(pool: Speaking) -> Clock:
    """One clause, to its end."""
    sink = Clock()
    pool.say(TEXT, pool.voices[0], None, 1.0, sink)
    await sink.over.wait()
    if sink.error:
        raise SystemExit(f"a request failed: {sink.error}")
    return sink


@contextlib.asynccontextmanager
async def opened(kind: str, workers: int, options: dict[str, Any]) -> AsyncIterator[Speaking]:
    """A pool of `kind` with all its workers."""
    async with contextlib.AsyncExitStack() as stack:
        spec = EngineSpec("tone", {"chunks": [round(s * RATE) for s in PLAN_S], "rate": RATE, **options})
        if kind == HTTP:
            spec = await stack.enter_async_context(behind_http(spec, workers))
        pool = pool_for(spec, workers, Limits(), pool=RAY if kind == RAY else PROCESSES)
        await pool.start()
        stack.push_async_callback(pool.stop)
        for _ in range(1_200):
            if pool.ready >= workers:
                break
            await asyncio.sleep(0.05)
        yield pool


@contextlib.asynccontextmanager
async def behind_http(spec: EngineSpec, workers: int) -> AsyncIterator[EngineSpec]:
    """An OpenAI-compatible server on loopback, in this process, before a pool of processes."""
    from aiohttp import web

    pool = pool_for(spec, workers, Limits())
    await pool.start()

    async def speak(request: web.Request) -> web.StreamResponse:
        news: asyncio.Queue[Samples | None] = asyncio.Queue()

        class Onward(Clock):
            def pcm(self, samples: Samples) -> None:
                news.put_nowait(samples)

            def end(self) -> None:
                news.put_nowait(None)

        asked = await request.json()
        pool.say(asked["input"], pool.voices[0], None, 1.0, Onward())
        answer = web.StreamResponse(headers={"Content-Type": "audio/pcm"})
        await answer.prepare(request)
        while (samples := await news.get()) is not None:
            await answer.write(samples.tobytes())
        return answer

    async def voices(request: web.Request) -> web.Response:
        return web.json_response(["tone"])

    app = web.Application()
    app.router.add_post("/v1/audio/speech", speak)
    app.router.add_get("/v1/audio/voices", voices)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield EngineSpec("openai", {"url": f"http://127.0.0.1:{runner.addresses[0][1]}"})
    finally:
        await runner.cleanup()
        await pool.stop()


async def measure(kind: str, requests: int, streams: int, rtf: float) -> dict[str, Any]:
    """Milliseconds of one kind of pool."""
    began = time.perf_counter()
    async with opened(kind, streams, {"rtf": rtf}) as pool:
        started = time.perf_counter() - began
        alone = [await ask(pool) for _ in range(requests)]
        crowd: list[Clock] = []
        for _ in range(requests):
            crowd += await asyncio.gather(*(ask(pool) for _ in range(streams)))
    async with opened(kind, 1, {"rtf": 0.0}) as pool:
        await ask(pool)
        firsts = [(await ask(pool)).first or 0.0 for _ in range(10 * requests)]
    due = [rtf * sum(PLAN_S[: n + 1]) for n in range(len(PLAN_S))]
    return {
        "start_s": round(started, 2),
        "first_ms": spread([first * 1000 for first in firsts]),
        "added_ms": spread(added(alone, due)),
        f"added_ms_{streams}_streams": spread(added(crowd, due)),
    }


def added(heard: list[Clock], due: list[float]) -> list[float]:
    """Milliseconds from a chunk's being due to its being whole, over all chunks."""
    return [(whole - at) * 1000 for one in heard for whole, at in zip(one.whole, due, strict=True)]


def spread(values: list[float]) -> dict[str, float]:
    """p50, p95 and p99, to a hundredth."""
    return {f"p{round(100 * share)}": round(percentile(values, share), 2) for share in (0.5, 0.95, 0.99)}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--requests", type=int, default=10)
    parser.add_argument("--streams", type=int, default=4, help="at once, with as many workers")
    parser.add_argument("--rtf", type=float, default=0.3)
    parser.add_argument("--pools", nargs="+", default=[*POOLS, HTTP], choices=[*POOLS, HTTP])
    args = parser.parse_args()
    result: dict[str, Any] = {"requests": args.requests, "rtf": args.rtf}
    for kind in args.pools:
        if kind == RAY and find_spec("ray") is None:
            result[kind] = "left out: Ray is not installed"
            continue
        result[kind] = asyncio.run(measure(kind, args.requests, args.streams, args.rtf))
    show(result, args.json)


if __name__ == "__main__":
    main()
