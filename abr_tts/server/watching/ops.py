"""
What the operator's page shows, as one JSON object: what streams are doing now, what they have had since the
server started, which policies are in use, how the engine is.

It holds no text that anybody spoke, no key and no address; of a stream's id only the beginning, to find its
trace by. It is behind the same admin key as `/admin/policy`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any

from aiohttp import web
from prometheus_client import Counter

from ... import __version__
from ...engine.face import Speaking
from ..load.limits import Admission
from ..rollout.rollout import Rollout
from .admin import Admin
from .metrics import Metrics

PATH = "/admin/live"
"""Where it is, beside `/admin/policy`: a proxy that leaves out everything below /admin leaves it out, too."""

MOST_STREAMS = 200
"""Streams that are told one by one, the youngest first; a person does not read more. All of them count."""


class Ops:
    """
    Args:
        streams: what each live stream tells of itself, in any order, with `age_s` in it.
        pool: the engine.
        metrics: of the server.
        admission: what is open.
        rollout: of its policies.
        now: seconds on the clock of the server's loop.
    """

    def __init__(
        self,
        streams: Callable[[], Iterable[Mapping[str, Any]]],
        pool: Speaking,
        metrics: Metrics,
        admission: Admission,
        rollout: Rollout,
        now: Callable[[], float],
    ) -> None:
        self._streams, self._pool, self._metrics = streams, pool, metrics
        self._admission, self._rollout, self._now = admission, rollout, now
        self._since = now()

    def add_to(self, router: web.UrlDispatcher, admin: Admin) -> None:
        """Serve it behind an operator's door."""
        router.add_get(PATH, admin.guarded(self._live))

    async def _live(self, request: web.Request) -> web.Response:
        return web.json_response(self.told(), headers={"Cache-Control": "no-store"})

    def told(self) -> dict[str, Any]:
        """All of it; JSON values, times in seconds."""
        streams = sorted(self._streams(), key=lambda one: float(one["age_s"]))
        metrics = self._metrics
        return {
            "version": __version__,
            "up_s": round(self._now() - self._since, 1),
            "connections": self._admission.connections,
            "streams_live": len(streams),
            "streams": streams[:MOST_STREAMS],
            "streams_started": _sum(metrics.started),
            "played_s": _by(metrics.played_seconds, "rung"),
            "sent_s": _by(metrics.sent_seconds, "rung"),
            "sent_bytes": _sum(metrics.sent_bytes),
            "stalls": _sum(metrics.stalls),
            "stalled_s": _sum(metrics.stalled_seconds),
            "switches": _by(metrics.switches, "reason"),
            "errors": _by(metrics.errors, "code"),
            "policies": self._rollout.summary(),
            "engine": asdict(self._pool.stats),
        }


def _by(counter: Counter, label: str) -> dict[str, float]:
    """A counter's values summed by one of its labels, the greatest first."""
    sums: dict[str, float] = {}
    for sample in _samples(counter):
        value = sample.labels[label]
        sums[value] = sums.get(value, 0.0) + sample.value
    return dict(sorted(sums.items(), key=lambda item: -item[1]))


def _sum(counter: Counter) -> float:
    return float(sum(sample.value for sample in _samples(counter)))


def _samples(counter: Counter) -> Iterable[Any]:
    return (s for family in counter.collect() for s in family.samples if s.name.endswith("_total"))
