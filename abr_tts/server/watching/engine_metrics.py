"""
What operators watch of the engine: how long clauses wait for it, how fast it speaks, what became of them.

The real-time factor of many clauses is `busy / audio` of the two counters; the histogram shows its spread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, Metric

from ...engine.base import Samples, Sink
from ...engine.face import Asked, PoolStats, Speaking
from ...engine.pool import Pool
from ...errors import EngineError

QUEUE_S = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
"""Buckets of the wait for a worker: from an idle one, which takes a clause at once, to hopeless."""

RTF = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1, 1.5, 2)
"""Buckets of the real-time factor: espeak stands at 0.01, neural engines at 0.2 to 0.9; above 1 it stalls."""

FREED_S = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
"""Buckets of the time that a worker takes to notice a cancel: espeak's chunk is made in 1 ms, a model's in up
to a second; at 5 s (`spec.Limits.cancel_s`) it is replaced."""

FIRST, LATER = KINDS = ("first", "later")
"""A stream's first clause, for which somebody waits, and those after it."""


class Clock(Protocol):
    """The event loop, or whatever else tells the time that tickets are stamped with."""

    def time(self) -> float:
        """Seconds."""


class EngineMetrics:
    """
    Args:
        registry: of the server.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self.queue = Histogram(
            "abr_tts_engine_queue_seconds", "From asking for a clause until a worker takes it up", ["clause"],
            buckets=QUEUE_S, registry=registry,
        )  # fmt: skip
        self.factor = Histogram(
            "abr_tts_engine_real_time_factor",
            "Time that a worker took for a clause, over the length of its sound",
            buckets=RTF, registry=registry,
        )  # fmt: skip
        self.busy_seconds = Counter(
            "abr_tts_engine_busy_seconds", "Time that workers took for the clauses that they finished",
            registry=registry,
        )  # fmt: skip
        self.audio_seconds = Counter(
            "abr_tts_engine_audio_seconds", "Sound of these clauses", registry=registry
        )
        self.freed = Histogram(
            "abr_tts_engine_freed_seconds",
            "From a cancel until the worker that spoke is free: a chunk, which it makes to its end",
            buckets=FREED_S, registry=registry,
        )  # fmt: skip
        self.spoke: Callable[[float, float], None] = lambda took_s, sound_s: None
        """Is told of each clause that is finished: seconds of a worker, seconds of sound."""
        for kind in KINDS:
            self.queue.labels(kind)

    def timed(self, sink: Sink, first: bool, sample_rate: int, clock: Clock) -> TimedSink:
        """What a clause's samples are to go through; set its `asked` once there is a ticket."""
        return TimedSink(self, sink, FIRST if first else LATER, sample_rate, clock)

    def watch(self, pool: Speaking) -> None:
        """Gauges and totals that are asked of the pool when they are read, and what it tells by itself."""
        if isinstance(pool, Pool):
            pool.freed = self.freed.observe
        for name, what, field in (
            ("workers", "Engine processes that there should be", "size"),
            ("workers_ready", "Engine processes that can speak", "ready"),
            ("workers_busy", "Engine processes that speak", "busy"),
            ("clauses_waiting", "Clauses that wait for one", "waiting"),
        ):
            gauge = Gauge(f"abr_tts_engine_{name}", what, registry=self._registry)
            gauge.set_function(lambda field=field: getattr(pool.stats, field))  # type: ignore[misc]
        what = "Share of loading that is done; 1: it has loaded"
        loaded = Gauge("abr_tts_engine_loaded", what, registry=self._registry)
        loaded.set_function(lambda: pool.progress.share)
        self._registry.register(_Totals(pool))


class TimedSink:
    """A sink (`engine.base.Sink`) that notes when its clause was taken up and when it was over."""

    def __init__(self, metrics: EngineMetrics, sink: Sink, kind: str, sample_rate: int, clock: Clock) -> None:
        self._metrics, self._sink, self._kind, self._rate = metrics, sink, kind, sample_rate
        self._clock = clock
        self._asked_at, self._samples = clock.time(), 0
        self.asked: Asked | None = None
        """The ticket."""

    def pcm(self, samples: Samples) -> None:
        """The next samples."""
        if not self._samples and (given_at := self._given_at) is not None:
            self._metrics.queue.labels(self._kind).observe(max(0.0, given_at - self._asked_at))
        self._samples += len(samples)
        self._sink.pcm(samples)

    def end(self) -> None:
        """Everything was spoken."""
        if self._samples and (given_at := self._given_at) is not None:
            took_s, sound_s = self._clock.time() - given_at, self._samples / self._rate
            self._metrics.factor.observe(took_s / sound_s)
            self._metrics.busy_seconds.inc(took_s)
            self._metrics.audio_seconds.inc(sound_s)
            self._metrics.spoke(took_s, sound_s)
        self._sink.end()

    def fault(self, error: EngineError) -> None:
        """Nothing more comes."""
        self._sink.fault(error)

    @property
    def _given_at(self) -> float | None:
        return self.asked.given_at if self.asked else None


class _Totals:
    """What a pool counts itself, as counters."""

    def __init__(self, pool: Speaking) -> None:
        self._pool = pool

    def collect(self) -> Iterator[Metric]:
        """As prometheus_client asks it."""
        stats: PoolStats = self._pool.stats
        clauses = CounterMetricFamily(
            "abr_tts_engine_clauses", "Clauses that are over, by how they ended", labels=("result",)
        )
        for result, value in (
            ("done", stats.done), ("cancelled", stats.cancelled), ("failed", stats.faults)
        ):  # fmt: skip
            clauses.add_metric((result,), value)
        yield clauses
        yield CounterMetricFamily(
            "abr_tts_engine_workers_lost", "Engine processes that ended unasked", value=stats.lost
        )
        yield CounterMetricFamily(
            "abr_tts_engine_bad_samples", "Samples that were no numbers, and were made silence",
            value=stats.bad_samples,
        )  # fmt: skip
