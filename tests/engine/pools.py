"""Helpers of these tests: a sink that remembers, and pools that are always stopped."""

import asyncio
import contextlib

import numpy as np

from abr_tts.engine.pool import EngineSpec, Limits, Pool

PATIENCE_S = 30.0
"""How long a test waits for what must come; nothing here takes a thirtieth of it."""


class WatchedPool(Pool):
    """A pool that says when a worker's state has changed or a sink has heard something."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.moved = asyncio.Event()

    def worker_ready(self, worker, ready):
        super().worker_ready(worker, ready)
        self.moved.set()

    def worker_free(self, worker, end):
        super().worker_free(worker, end)
        self.moved.set()

    def worker_gone(self, worker, why):
        super().worker_gone(worker, why)
        self.moved.set()

    async def until(self, condition):
        """Wait until something has made `condition()` true."""
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self.moved.clear()
                await self.moved.wait()


class Collector:
    """A sink that remembers everything, and objects to whatever comes after its end."""

    def __init__(self, moved=None):
        self.moved = moved or asyncio.Event()
        self.chunks = []
        self.error = None
        self.started = asyncio.Event()
        self.over = asyncio.Event()
        self.broken = []

    def pcm(self, samples):
        if self.over.is_set() or samples.dtype != np.int16 or samples.ndim != 1 or not samples.size:
            self.broken.append("pcm")
        self.chunks.append(samples)
        self.started.set()
        self.moved.set()

    def end(self):
        self._close("end")

    def fault(self, error):
        self.error = error
        self._close("fault")

    def _close(self, how):
        if self.over.is_set():
            self.broken.append(how)
        self.over.set()
        self.moved.set()

    @property
    def samples(self):
        return np.concatenate(self.chunks) if self.chunks else np.zeros(0, np.int16)

    async def whole(self):
        """Every sample, of a request that ends well."""
        await asyncio.wait_for(self.over.wait(), PATIENCE_S)
        assert not self.broken
        if self.error:
            raise self.error
        return self.samples

    async def failure(self):
        """The error of a request that does not."""
        await asyncio.wait_for(self.over.wait(), PATIENCE_S)
        assert not self.broken
        assert self.error is not None, "it ended well"
        return self.error


@contextlib.asynccontextmanager
async def running(
    kind="tone", size=1, *, limits=None, python=None, devices=(), threads=0, parallel=1, **options
):
    """A pool that has started all its workers."""
    spec = EngineSpec(kind, options, python, devices, threads, parallel)
    pool = WatchedPool(spec, size, limits=limits or Limits())
    await asyncio.wait_for(pool.start(), PATIENCE_S)
    try:
        await pool.until(lambda: pool.ready == size)
        yield pool
    finally:
        await asyncio.wait_for(pool.stop(), PATIENCE_S)


def speak(pool, text, voice=None, *, speed=1.0, first=False):
    """Say `text`; the sink that collects it, with its ticket."""
    sink = Collector(pool.moved)
    sink.ticket = pool.say(text, pool.choose(voice, None, text), None, speed, sink, first=first)
    return sink


def pids(pool):
    """Process ids of the workers."""
    return {worker.pid for worker in pool._workers}
