"""
One span for each stream, by OpenTelemetry to a collector over OTLP/HTTP, where an operator wants it.

A span lasts from the request to the end of the stream, across connections. It says how the stream went,
never what was said, by whom or from where; of the id as much as logs do. Its parent is what the connection's
request brought as `traceparent` (W3C Trace Context). Nothing of OpenTelemetry is imported unless it is set.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Protocol, TypeAlias

from ... import __version__
from ...errors import MissingDependency, to_install
from ..config import TracingSettings
from .logs import SHORT

NAME = "abr_tts.stream"
"""Of every span."""

QUIET = frozenset({"done", "cancelled", "lost"})
"""Outcomes that are no fault: heard to its end, cancelled by the listener, no listener any more. Any other is
an error's code, and the span's status is ERROR."""

MOST_CHARS = 512
"""Characters of a header that is passed on: what the standard bids keep of `tracestate` (3.3.1.5), and ten
times a `traceparent`. Of longer ones the library warns, a line a request."""

STOP_S = 1.0
"""Seconds that the last spans have to reach the collector when the server stops: it has seconds in all."""

Facts: TypeAlias = Mapping[str, str | int | float | None]

_parent: ContextVar[dict[str, str] | None] = ContextVar("parent", default=None)


class Span(Protocol):
    """One stream's."""

    def end(self, outcome: str, facts: Facts) -> None:
        """The stream is over; what is None is not known and left out."""


class Tracing(Protocol):
    """What a server knows of traces."""

    def came(self, headers: Mapping[str, str]) -> None:
        """A request came: its trace is the parent of streams that the running task begins from here on."""

    def begin(self, stream_id: str) -> Span:
        """A stream begins."""

    def stop(self) -> None:
        """Send what waits, within `STOP_S`; blocking. Later spans are dropped."""


class Untraced:
    """Nothing is told to anybody: both a `Tracing` and its `Span`."""

    def came(self, headers: Mapping[str, str]) -> None:
        """See `Tracing`."""

    def begin(self, stream_id: str) -> Span:
        """See `Tracing`."""
        return self

    def end(self, outcome: str, facts: Facts) -> None:
        """See `Span`."""

    def stop(self) -> None:
        """See `Tracing`."""


OFF = Untraced()


def make(settings: TracingSettings, engine: str) -> Tracing:
    """
    What is set.

    Args:
        engine: its kind, told in every span.

    Raises:
        MissingDependency: an endpoint is set, and OpenTelemetry's packages are not installed.
    """
    if not settings.endpoint:
        return OFF
    try:
        return _Otlp(settings, engine)
    except ModuleNotFoundError as error:
        raise MissingDependency(f"tracing.endpoint needs {error.name}: {to_install('otel')}") from None


class _Otlp:
    """Spans on their way to a collector. A thread of the SDK's own sends them; it drops what is too much."""

    def __init__(self, settings: TracingSettings, engine: str) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        resource = Resource.create({"service.name": settings.service, "service.version": __version__})
        sampler = ParentBased(TraceIdRatioBased(settings.share))
        self._provider = TracerProvider(sampler=sampler, resource=resource, shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint=settings.endpoint, timeout=settings.timeout_s)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("abr_tts", __version__)
        self._extract, self._kind = TraceContextTextMapPropagator().extract, SpanKind.SERVER
        self._engine = engine

    def came(self, headers: Mapping[str, str]) -> None:
        """See `Tracing`."""
        given = {name: headers[name] for name in ("traceparent", "tracestate") if name in headers}
        _parent.set(given if all(len(value) <= MOST_CHARS for value in given.values()) else {})

    def begin(self, stream_id: str) -> Span:
        """See `Tracing`."""
        known = {"abr_tts.stream": stream_id[:SHORT], "abr_tts.engine": self._engine}
        context = self._extract(_parent.get() or {})
        return _Stream(self._tracer.start_span(NAME, context, kind=self._kind, attributes=known))

    def stop(self) -> None:
        """See `Tracing`. The SDK itself waits for half a minute where no collector answers."""
        last = threading.Thread(target=self._provider.shutdown, name="last-spans", daemon=True)
        last.start()
        last.join(STOP_S)


class _Stream:
    """A span that is begun."""

    def __init__(self, span: Any) -> None:
        self._span = span

    def end(self, outcome: str, facts: Facts) -> None:
        """See `Span`."""
        from opentelemetry.trace import Status, StatusCode

        for name, value in facts.items():
            if value is not None:
                self._span.set_attribute(f"abr_tts.{name}", value)
        self._span.set_attribute("abr_tts.outcome", outcome)
        if outcome not in QUIET:
            self._span.set_status(Status(StatusCode.ERROR, outcome))
        self._span.end()
