"""
Prints docs/metrics.md from what a server has in its registry, so that they cannot differ:

    python tools/metrics_reference.py > docs/metrics.md
"""

# ruff: noqa: E501 -- lines of the page stand as they are
from __future__ import annotations

import asyncio
from collections.abc import Iterator

from prometheus_client import Metric

from abr_tts.server.app import Server
from abr_tts.server.config import load

HEAD = """\
# Metrics, logs, spans, memory

`/metrics` has what operators watch in Prometheus' text form, without a key: a proxy to the internet should
leave it out, as the one in [tools/deploy](../tools/deploy) does. `tools/deploy/grafana.json` is a dashboard
to import, `tools/deploy/alerts.yaml` are alert rules; both name nothing that is not in this table.

Times are seconds, media is seconds of audio. No label holds an id, an address or a text: rungs, reasons,
states and codes are few, and of policies the 32 versions that streams began with last are kept.

| metric | type | labels | meaning |
|---|---|---|---|
"""

TAIL = """
Of a histogram there are `_bucket`, `_sum` and `_count`. *Stalled share* is
`rate(abr_tts_stalled_seconds_total) / (rate(abr_tts_played_audio_seconds_total) + rate(abr_tts_stalled_seconds_total))`;
what the engine needs of real time `rate(abr_tts_engine_busy_seconds_total) / rate(abr_tts_engine_audio_seconds_total)`;
what the server adds to its first sound `abr_tts_first_sound_added_seconds`. Played is what listeners report, so
a client that reports nothing counts as sent alone.

## Logs

`log.level` says how much, `log.format` in which form: `text`, or `json` with one object a line:

```json
{"time": "2026-01-31T12:00:00.123Z", "level": "error", "logger": "abr_tts.server.session", "message": "a fault of the server's own in a stream", "session": "9f2c61d0a5b3e847", "stream": "1b4e28ba", "stack": "Traceback (most recent call last): …"}
```

`session` is the connection's name, which `welcome` tells the client, `stream` the beginning of the id that
the client gave its stream, the same as on the operator's page and in the names of traces; `stack` is a whole
traceback. Either is there where it is known. Neither texts nor keys are logged at any level.

## Spans

With `pip install '.[otel]'` and `tracing.endpoint = "http://127.0.0.1:4318/v1/traces"` each stream is one span
of [OpenTelemetry](https://opentelemetry.io), `abr_tts.stream`, which goes to a collector over OTLP/HTTP when the
stream is over, whatever connections it had. Off by default, and nothing of it is loaded then.

| attribute | |
|---|---|
| `abr_tts.stream` | the beginning of its id, as in the log |
| `abr_tts.engine`, `abr_tts.policy`, `abr_tts.policy_version` | which engine and policy; `fixed` where the request named the rung |
| `abr_tts.rung_first` | what it began with |
| `abr_tts.first_sound_ms` | from the request to its first sound in the kernel; missing where there was none |
| `abr_tts.played_s`, `abr_tts.switches`, `abr_tts.stalls`, `abr_tts.stalled_ms` | as the listener reported, and what the server decided |
| `abr_tts.outcome` | `done`, `cancelled`, `lost` (the listener is gone), or the error's code; then the span's status is an error |

No text, no key, no address. A `traceparent` header ([W3C Trace Context](https://www.w3.org/TR/trace-context/)) of the
request that opened the connection makes its streams children of your application's span, traced if that is; of all
others `tracing.share` are. Let your proxy take the header away from strangers, or they choose. What the exporter needs
besides, a collector's token say, it reads from its own variables (`OTEL_EXPORTER_OTLP_HEADERS`). A collector that is
away costs the spans and no stream.

## Memory

With `debug.memory = true` and an admin key (`admin.keys_file`), `GET /debug/memory` tells the ten lines of
code whose objects hold most memory, and what each has grown since the question before:

```console
$ curl -H "Authorization: Bearer $ADMIN_KEY" http://127.0.0.1:8765/debug/memory
{"traced_bytes": 3160231, "peak_bytes": 3170022, "tracing_bytes": 1204224, "objects": 61034, "top": [{"where": "abr_tts/audio/timeline.py:116", "bytes": 882000, "blocks": 20, "grown_bytes": 441000}, …]}
```

`debug.memory_s = 600` logs the same every ten minutes. Either has Python trace its allocations, which makes
the server markedly slower: leave it off unless memory grows. What libraries in C hold shows only in
`process_resident_memory_bytes`, and engines are processes of their own.
"""


def families() -> list[tuple[Metric, tuple[str, ...]]]:
    """Every family of a server's registry with its labels, by name."""

    async def made() -> list[tuple[Metric, tuple[str, ...]]]:
        server = Server(load(overrides={"engine.kind": "tone", "server.port": 0}))
        registry = server.metrics.registry
        # What nobody has counted yet has no sample to read labels from; the library alone knows them.
        declared = registry._names_to_collectors
        found = [(family, _labels(family, declared.get(family.name))) for family in registry.collect()]
        await server.stop()
        return sorted(found, key=lambda pair: pair[0].name)

    return asyncio.run(made())


def _labels(family: Metric, collector: object) -> tuple[str, ...]:
    """Names, without the bounds of a histogram's buckets."""
    names = dict.fromkeys(getattr(collector, "_labelnames", ()))
    for sample in family.samples:
        names |= dict.fromkeys(sample.labels)
    return tuple(name for name in names if name != "le")


def rows() -> Iterator[str]:
    """The lines of the table."""
    for family, labels in families():
        name = family.name + ("_total" if family.type == "counter" else "")
        name += "_info" if family.type == "info" else ""
        kind = "gauge" if family.type == "info" else family.type
        told = ", ".join(f"`{label}`" for label in labels)
        yield f"| `{name}` | {kind} | {told} | {family.documentation} |\n"


def reference() -> str:
    """The whole page."""
    return HEAD + "".join(rows()) + TAIL


if __name__ == "__main__":
    print(reference(), end="")
