"""
Prints the Grafana dashboard, so that a panel is one line here and not fifty of JSON:

    python tools/deploy/dashboard.py > tools/deploy/grafana.json

Every expression is over the job that is chosen at the top; what the metrics mean stands in docs/metrics.md.
"""

from __future__ import annotations

import json
from typing import Any

SCHEMA = 39
"""Grafana's `schemaVersion` of 10 and 11; later ones migrate it themselves."""

WIDTH, HEIGHT = 8, 8
"""Of a panel, in Grafana's grid of 24 columns."""

JOB = 'job="$job"'
EVERY = "[$__rate_interval]"

Panel = tuple[str, str, list[tuple[str, str]]]
"""Title, unit, and pairs of an expression and its legend."""


def rate(metric: str, by: str = "", **where: str) -> str:
    """Per second, over all replicas."""
    labels = ",".join([JOB, *(f'{name}="{value}"' for name, value in where.items())])
    return f"sum{f' by ({by})' if by else ''} (rate(abr_tts_{metric}{{{labels}}}{EVERY}))"


def now(metric: str, by: str = "") -> str:
    """At this moment, over all replicas."""
    return f"sum{f' by ({by})' if by else ''} (abr_tts_{metric}{{{JOB}}})"


def quantiles(metric: str, by: str = "", shares: tuple[float, ...] = (0.5, 0.99)) -> list[tuple[str, str]]:
    """Percentiles of a histogram."""
    buckets = rate(f"{metric}_bucket", f"le, {by}" if by else "le")
    legend = f" {{{{{by}}}}}" if by else ""
    return [(f"histogram_quantile({share}, {buckets})", f"p{share * 100:g}{legend}") for share in shares]


def share(part: str, *rest: str) -> str:
    """A part over itself and the rest."""
    whole = " + ".join(rate(metric) for metric in (part, *rest))
    return f"{rate(part)} / ({whole})"


ROWS: dict[str, list[Panel]] = {
    "What listeners hear": [
        ("First sound, delivered", "s", quantiles("first_sound_delivered_seconds")),
        ("First sound, the engine's part", "s", quantiles("first_sound_raw_seconds")),
        ("First sound, added by the server", "s", quantiles("first_sound_added_seconds")),
        ("Stalled share", "percentunit", [
            (share("stalled_seconds_total", "played_audio_seconds_total"), "stalled")]),
        ("Stalls a second", "short", [(rate("stalls_total"), "stalls")]),
        ("Played, by rung", "none", [(rate("played_audio_seconds_total", "rung"), "{{rung}}")]),
    ],
    "How it adapts": [
        ("Sent, by rung", "none", [(rate("sent_audio_seconds_total", "rung"), "{{rung}}")]),
        ("Switches, by reason", "short", [(rate("switches_total", "reason"), "{{reason}}")]),
        ("Switches, from and to", "short", [(rate("switches_total", "from, to"), "{{from}} → {{to}}")]),
        ("Banked by listeners", "s", quantiles("bank_seconds", shares=(0.05, 0.5, 0.95))),
        ("Outstanding, by source", "bytes", quantiles("stream_outstanding_bytes", "source")),
        ("Utility, by policy", "none", [(
            f"{rate('policy_utility_seconds_total', 'policy, hash')}"
            f" / {rate('policy_played_audio_seconds_total', 'policy, hash')}", "{{policy}} {{hash}}")]),
    ],
    "Streams": [
        ("Streams, by state", "short", [(now("streams", "state"), "{{state}}"),
                                        (now("detached_streams"), "without a connection")]),
        ("Connections", "short", [(now("connections"), "open")]),
        ("Streams over, by reason", "short", [(rate("streams_ended_total", "reason"), "{{reason}}")]),
        ("Resumes, by result", "short", [(rate("resumes_total", "result"), "{{result}}"),
                                         (rate("streams_unresumed_total", "limit"), "given up: {{limit}}")]),
        ("Errors, by code", "short", [(rate("errors_total", "code"), "{{code}}")]),
        ("Limits hit", "short", [(rate("limits_hit_total", "limit"), "{{limit}}")]),
        ("Cancels", "s", quantiles("cancel_seconds")),
        ("Less than wanted", "short", [(rate("streams_eased_total", "how"), "{{how}}"),
                                       (now("engine_turns_whole"), "wait to come whole")]),
        ("Payload sent", "Bps", [(rate("sent_bytes_total"), "sent")]),
        ("Connections closed, by code", "short", [(rate("connections_closed_total", "code"), "{{code}}")]),
        ("Policy files not in use", "short", [
            (f"max by (instance) (abr_tts_policy_faults{{{JOB}}})", "{{instance}}")]),
    ],
    "Engine and machine": [
        ("Workers", "short", [(now("engine_workers"), "wanted"), (now("engine_workers_ready"), "ready"),
                              (now("engine_workers_busy"), "busy")]),
        ("Wait for a worker", "s", quantiles("engine_queue_seconds", "clause")),
        ("Real-time factor", "none", [
            (f"{rate('engine_busy_seconds_total')} / {rate('engine_audio_seconds_total')}", "mean"),
            *quantiles("engine_real_time_factor", shares=(0.99,))]),
        ("Clauses over, by result", "short", [(rate("engine_clauses_total", "result"), "{{result}}"),
                                              (rate("engine_workers_lost_total"), "workers lost")]),
        ("Free after a cancel", "s", quantiles("engine_freed_seconds")),
        ("Event loop lag", "s", quantiles("event_loop_lag_seconds")),
        ("Waiting", "short", [(now("engine_clauses_waiting"), "clauses"),
                              (now("codec_jobs_waiting"), "encodings")]),
        ("CPU of the servers", "none", [
            (f"sum by (instance) (rate(process_cpu_seconds_total{{{JOB}}}{EVERY}))", "{{instance}}")]),
        ("Memory of the servers", "bytes", [
            (f"process_resident_memory_bytes{{{JOB}}}", "{{instance}}")]),
        ("What runs", "short", [(f"sum by (version) (abr_tts_build_info{{{JOB}}})", "{{version}}"),
                                (f"sum by (policy, hash, role) (abr_tts_policy_info{{{JOB}}})",
                                 "{{role}}: {{policy}} {{hash}}")]),
    ],
}  # fmt: skip
"""The panels, three in a line, under the heading of their row."""


def panel(number: int, x: int, y: int, one: Panel) -> dict[str, Any]:
    """A time series."""
    title, unit, targets = one
    return {
        "id": number,
        "type": "timeseries",
        "title": title,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "gridPos": {"x": x, "y": y, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + index), "expr": expression, "legendFormat": legend}
            for index, (expression, legend) in enumerate(targets)
        ],
    }


def panels() -> list[dict[str, Any]]:
    """All rows and what stands below them."""
    made: list[dict[str, Any]] = []
    y = 0
    for title, some in ROWS.items():
        place = {"x": 0, "y": y, "w": 24, "h": 1}
        made.append({"id": len(made) + 1, "type": "row", "title": title, "gridPos": place, "panels": []})
        for index, one in enumerate(some):
            x, line = index % 3 * WIDTH, index // 3 * HEIGHT
            made.append(panel(len(made) + 1, x, y + 1 + line, one))
        y += 1 + -(-len(some) // 3) * HEIGHT
    return made


def dashboard() -> dict[str, Any]:
    """The whole, as Grafana imports it."""
    job = {
        "name": "job", "type": "query", "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "query": "label_values(abr_tts_build_info, job)", "refresh": 2,
    }  # fmt: skip
    return {
        "uid": "abr-tts",
        "title": "abr-tts",
        "tags": ["abr-tts"],
        "schemaVersion": SCHEMA,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus"}, job]},
        "panels": panels(),
    }


if __name__ == "__main__":
    print(json.dumps(dashboard(), indent=1, ensure_ascii=False))
