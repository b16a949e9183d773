"""
What operators watch of policies: which are in use, how their files fared, how listeners fare under each.

A version of a policy has a name and the first characters of its hash as labels, the same as in traces, so
that a canary can be held against what it may replace, and today's version against yesterday's. Only the
versions that streams began with lately are kept, as a label must have few values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics import MetricWrapperBase

from ...control.policy import Policy
from .slots import OUTCOMES, Version, fingerprint

MOST_VERSIONS = 32
"""Versions that are counted apart; then the one that no stream began with for longest goes. A guess: far
more than are in use at a time, far less than what burdens a scrape."""

FIXED = ("fixed", "")
"""Labels of streams whose request named a rung, and so have no policy."""

FIRST_SOUND_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5)
"""Buckets of time to first sound, coarser than those of the whole server: they are kept for each version."""

LABELS = ("policy", "hash")


@dataclass(frozen=True, slots=True)
class Series:
    """The counters of one version."""

    version: tuple[str, str]
    """Its labels: the policy's name and the first characters of its hash."""
    streams: Counter
    stalled_streams: Counter
    stalls: Counter
    stalled_seconds: Counter
    played_seconds: Counter
    utility_seconds: Counter
    switches: Counter
    sent_bytes: Counter
    first_sound: Histogram


class _Known(NamedTuple):
    """A version that streams began with; the policy is kept, lest another one gets its id."""

    policy: Policy | None
    labels: tuple[str, str]
    series: Series


class PolicyMetrics:
    """
    Args:
        registry: of the server.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

        def counter(name: str, what: str) -> Counter:
            return Counter(f"abr_tts_policy_{name}", f"{what}, by policy", LABELS, registry=registry)

        self._families: tuple[MetricWrapperBase, ...] = (
            counter("streams", "Streams begun"),
            counter("stalled_streams", "Of them those that have stalled"),
            counter("stalls", "Stalls that listeners reported"),
            counter("stalled_seconds", "Time that listeners reported as stalled"),
            counter("played_audio_seconds", "Audio that listeners reported as played"),
            counter("utility_seconds", "The same, each second times the measured utility of its rung"),
            counter("switches", "Changes of what is sent"),
            counter("sent_audio_bytes", "Packets handed to the kernel"),
            Histogram(
                "abr_tts_policy_first_sound_seconds",
                "From the request to the first audio in the kernel, by policy",
                LABELS, registry=registry, buckets=FIRST_SOUND_S,
            ),
        )  # fmt: skip
        self._reloads = Counter(
            "abr_tts_policy_reloads",
            "Changes of policies while the server runs",
            ["outcome"],
            registry=registry,
        )
        for outcome in OUTCOMES:
            self._reloads.labels(outcome)
        self._known: dict[int, _Known] = {}

    def changed(self, outcome: str) -> None:
        """Something came of a policy file, or of a rollback: one of `slots.OUTCOMES`."""
        self._reloads.labels(outcome).inc()

    def of(self, policy: Policy | None) -> Series:
        """The counters of the policy that a stream begins with; None: its rung is fixed."""
        key = id(policy)
        known = self._known.pop(key, None) or self._meet(policy)
        self._known[key] = known
        if len(self._known) > MOST_VERSIONS:
            self._forget(next(iter(self._known)))
        return known.series

    def _meet(self, policy: Policy | None) -> _Known:
        labels = FIXED if policy is None else (policy.name, fingerprint(policy))
        series = Series(labels, *(family.labels(*labels) for family in self._families))  # type: ignore[arg-type]
        return _Known(policy, labels, series)

    def _forget(self, key: int) -> None:
        labels = self._known.pop(key).labels
        if all(labels != other.labels for other in self._known.values()):
            for family in self._families:
                family.remove(*labels)

    def watch(
        self,
        in_use: Callable[[], Iterable[tuple[str, Version]]],
        faults: Callable[[], float],
        share: Callable[[], float],
    ) -> None:
        """
        Gauges that are asked when they are read.

        Args:
            in_use: every version that streams can get, with what it is for.
            faults: how many settings have something else on the disk than what is in use.
            share: of sessions that get the canary.
        """
        self._registry.register(_InUse(in_use))
        for name, what, value in (
            ("policy_faults", "Settings whose policy on the disk is not the one in use", faults),
            ("canary_share", "Share of sessions that get the canary", share),
        ):
            Gauge(f"abr_tts_{name}", what, registry=self._registry).set_function(value)


class _InUse:
    """`abr_tts_policy_info`, made anew at each reading, so that a version that is gone is gone."""

    def __init__(self, in_use: Callable[[], Iterable[tuple[str, Version]]]) -> None:
        self._in_use = in_use

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """As prometheus_client asks it."""
        family = GaugeMetricFamily(
            "abr_tts_policy_info", "Policies in use, with what for", labels=("hash", "policy", "role")
        )
        for labels in dict.fromkeys((v.hash, v.policy.name, role) for role, v in self._in_use()):
            family.add_metric(labels, 1)
        yield family
