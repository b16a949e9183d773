"""
What operators watch, in Prometheus' text form: one registry a server, no global state.

Times are seconds and media is seconds of audio, as Prometheus wants it. Labels have few values:
rungs, states and error codes, never an id, an address or a text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

from ... import __version__
from ..rollout.policy_metrics import PolicyMetrics
from .engine_metrics import EngineMetrics

CONTENT_TYPE = CONTENT_TYPE_LATEST
"""Of `Metrics.text`."""

FIRST_SOUND_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10)
"""Buckets of time to first sound: fine below 10 ms, where the embedded engine answers; 0.3 s is
what people take for immediate."""

ADDED_S = (0.00025, 0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.01, 0.025, 0.1, 1)
"""Buckets of what the server adds to that; 1.5 ms and 5 ms are the limits that it promises."""

CANCEL_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
"""Buckets of the time that a cancel takes; 0.1 s is what is promised where the link keeps up."""

LAG_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1)
"""Buckets of the loop's lag; beyond one 20 ms frame it can be heard."""

BANK_S = (0.1, 0.25, 0.5, 1, 2, 3, 5, 8, 15, 30, 60)
"""Buckets of what listeners hold; upgrades begin at 3 s, the bank goes 30 s ahead by default."""

OUTSTANDING_BYTES = (1_000, 3_000, 5_000, 8_000, 16_000, 32_000, 64_000, 128_000)
"""Buckets of what is on its way: two segments, an opening burst, half and all of what may be at most."""

LAG_EVERY_S = 0.1
"""Seconds between two looks at the loop's lag: ten wake-ups a second cost nothing."""


class Metrics:
    """Counters and gauges of one server. Whoever knows a fact calls the method or the series."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._count_streams(registry)
        self._count_sound(registry)
        self._measure_delays(registry)
        self._count_relief(registry)
        self.policies = PolicyMetrics(registry)
        self.engine = EngineMetrics(registry)
        Info("abr_tts_build", "What runs", registry=registry).info({"version": __version__})
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)

    def _count_streams(self, registry: CollectorRegistry) -> None:
        self.opened = Counter("abr_tts_connections_opened", "Connections accepted", registry=registry)
        self.closed = Counter("abr_tts_connections_closed", "Connections ended", ["code"], registry=registry)
        self.started = Counter("abr_tts_streams_started", "Streams accepted", registry=registry)
        self.ended = Counter("abr_tts_streams_ended", "Streams over", ["reason"], registry=registry)
        self.resumes = Counter(
            "abr_tts_resumes", "Streams that clients wanted to go on with", ["result"], registry=registry
        )
        self.unresumed = Counter(
            "abr_tts_streams_unresumed", "Streams without a connection that were given up", ["limit"],
            registry=registry,
        )  # fmt: skip
        self.errors = Counter("abr_tts_errors", "Errors told to clients", ["code"], registry=registry)

    def _count_sound(self, registry: CollectorRegistry) -> None:
        self.sent_seconds = Counter(
            "abr_tts_sent_audio_seconds", "Audio handed to the kernel", ["rung"], registry=registry
        )
        self.played_seconds = Counter(
            "abr_tts_played_audio_seconds", "Audio that listeners reported as played", ["rung"],
            registry=registry,
        )  # fmt: skip
        self.switches = Counter(
            "abr_tts_switches", "Changes of what is sent", ["from", "to", "reason"], registry=registry
        )
        self.bank = Histogram(
            "abr_tts_bank_seconds", "Audio that a listener holds and has not played, at each report",
            buckets=BANK_S, registry=registry,
        )  # fmt: skip
        outstanding = Histogram(
            "abr_tts_stream_outstanding_bytes",
            "On their way to a listener: by its reports at each, by the kernel at each look at its queue",
            ["source"], buckets=OUTSTANDING_BYTES, registry=registry,
        )  # fmt: skip
        self.outstanding_by_reports = outstanding.labels("reports")
        self.outstanding_by_kernel = outstanding.labels("kernel")
        self.sent_bytes = Counter(
            "abr_tts_sent_bytes", "WebSocket payload handed to the kernel", registry=registry
        )
        self.stalls = Counter("abr_tts_stalls", "Stalls that listeners reported", registry=registry)
        self.stalled_seconds = Counter(
            "abr_tts_stalled_seconds", "Time that listeners reported as stalled", registry=registry
        )
        self.clamped = Counter(
            "abr_tts_hint_fields_clamped", "Report fields out of bounds", registry=registry
        )

    def _measure_delays(self, registry: CollectorRegistry) -> None:
        def histogram(name: str, what: str, buckets: tuple[float, ...]) -> Histogram:
            return Histogram(f"abr_tts_{name}_seconds", what, buckets=buckets, registry=registry)

        self.first_raw = histogram(
            "first_sound_raw", "From the request to the engine's first chunk", FIRST_SOUND_S
        )
        self.first_delivered = histogram(
            "first_sound_delivered", "From the request to the first audio in the kernel", FIRST_SOUND_S
        )
        self.first_added = histogram(
            "first_sound_added", "From the engine's first chunk to that message", ADDED_S
        )
        self.cancels = histogram(
            "cancel", "From a listener's cancel until the kernel has the last of the stream", CANCEL_S
        )
        self.loop_lag = histogram("event_loop_lag", "How late the event loop wakes", LAG_S)

    def _count_relief(self, registry: CollectorRegistry) -> None:
        self.limits_hit = Counter(
            "abr_tts_limits_hit", "Requests, messages and connections beyond a limit", ["limit"],
            registry=registry,
        )  # fmt: skip
        self.eased = Counter(
            "abr_tts_streams_eased", "Streams that got less because the server was short of power", ["how"],
            registry=registry,
        )  # fmt: skip
        self._reloads = Counter(
            "abr_tts_reloads", "Changes of files of keys and certificates", ["setting", "result"],
            registry=registry,
        )  # fmt: skip

    def reloaded(self, setting: str, result: str) -> None:
        """What came of a change of a file that a setting names."""
        self._reloads.labels(setting, result).inc()

    def hit(self, limit: str) -> None:
        """A limit was reached and something refused, dropped or made to wait for it; see `hits`."""
        self.limits_hit.labels(limit).inc()

    def watch(self, name: str, what: str, value: Callable[[], float]) -> None:
        """A gauge `abr_tts_<name>` that is asked when it is read."""
        Gauge(f"abr_tts_{name}", what, registry=self.registry).set_function(value)

    def watch_states(self, name: str, what: str, values: Callable[[], Mapping[str, int]]) -> None:
        """A gauge with a label `state`; `values` gives every state, each time the same ones."""
        gauge = Gauge(f"abr_tts_{name}", what, ["state"], registry=self.registry)
        for state in values():
            gauge.labels(state).set_function(partial(_pick, values, state))

    def text(self) -> bytes:
        """Everything, as /metrics shows it."""
        return generate_latest(self.registry)

    async def watch_loop(self, told: Callable[[float], None] = lambda lag_s: None) -> None:
        """Measure the event loop's lag until cancelled; `told` is told of each."""
        loop = asyncio.get_running_loop()
        with suppress(asyncio.CancelledError):
            while True:
                due = loop.time() + LAG_EVERY_S
                await asyncio.sleep(LAG_EVERY_S)
                lag_s = max(0.0, loop.time() - due)
                self.loop_lag.observe(lag_s)
                told(lag_s)


def _pick(values: Callable[[], Mapping[str, int]], state: str) -> float:
    return values()[state]
