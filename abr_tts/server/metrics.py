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
    generate_latest,
)

from .policy_metrics import PolicyMetrics

CONTENT_TYPE = CONTENT_TYPE_LATEST
"""Of `Metrics.text`."""

FIRST_SOUND_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10)
"""Buckets of time to first sound: fine below 10 ms, where the embedded engine answers; 0.3 s is
what people take for immediate."""

ADDED_S = (0.00025, 0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.01, 0.025, 0.1, 1)
"""Buckets of what the server adds to that; 1.5 ms and 5 ms are the limits that it promises."""

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
        self.opened = Counter("abr_tts_connections_opened", "Connections accepted", registry=registry)
        self.closed = Counter("abr_tts_connections_closed", "Connections ended", ["code"], registry=registry)
        self.started = Counter("abr_tts_streams_started", "Streams accepted", registry=registry)
        self.ended = Counter("abr_tts_streams_ended", "Streams over", ["reason"], registry=registry)
        self.errors = Counter("abr_tts_errors", "Errors told to clients", ["code"], registry=registry)
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
        self.outstanding = Histogram(
            "abr_tts_report_outstanding_bytes", "On their way to a listener, at each report",
            buckets=OUTSTANDING_BYTES, registry=registry,
        )  # fmt: skip
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
        self.first_raw = Histogram(
            "abr_tts_first_sound_raw_seconds", "From the request to the engine's first chunk",
            buckets=FIRST_SOUND_S, registry=registry,
        )  # fmt: skip
        self.first_delivered = Histogram(
            "abr_tts_first_sound_delivered_seconds", "From the request to the first audio in the kernel",
            buckets=FIRST_SOUND_S, registry=registry,
        )  # fmt: skip
        self.first_added = Histogram(
            "abr_tts_first_sound_added_seconds", "From the engine's first chunk to that message",
            buckets=ADDED_S, registry=registry,
        )  # fmt: skip
        self.loop_lag = Histogram(
            "abr_tts_event_loop_lag_seconds",
            "How late the event loop wakes",
            buckets=LAG_S,
            registry=registry,
        )
        self.policies = PolicyMetrics(registry)

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

    async def watch_loop(self) -> None:
        """Measure the event loop's lag until cancelled."""
        loop = asyncio.get_running_loop()
        with suppress(asyncio.CancelledError):
            while True:
                due = loop.time() + LAG_EVERY_S
                await asyncio.sleep(LAG_EVERY_S)
                self.loop_lag.observe(max(0.0, loop.time() - due))


def _pick(values: Callable[[], Mapping[str, int]], state: str) -> float:
    return values()[state]
