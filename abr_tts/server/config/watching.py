"""
What operators are told: [log], [debug], [tracing].
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from ...errors import ConfigError
from .options import Section, setting


@dataclass(frozen=True)
class LogSettings(Section):
    """[log]: what is told to the operator. Texts and keys never are."""

    level: str = setting("info", "The least that is logged.", choices=("debug", "info", "warning", "error"))
    format: str = setting(
        "text", "Lines for people, or one JSON object a line; see metrics.md.", choices=("text", "json")
    )


@dataclass(frozen=True)
class DebugSettings(Section):
    """[debug]: what costs speed, to find out where memory goes."""

    memory: bool = setting(
        False, "Whether /debug/memory tells which lines of code hold most memory, to those with an admin key."
    )
    memory_s: float = setting(
        0.0, "Seconds between two lines of the log that tell the same; 0: none.", low=0, high=86_400
    )


@dataclass(frozen=True)
class TracingSettings(Section):
    """[tracing]: a span of OpenTelemetry for each stream; needs the extra [otel]."""

    endpoint: str = setting(
        "", "Where a collector takes traces (OTLP/HTTP), as http://127.0.0.1:4318/v1/traces; empty: none."
    )
    share: float = setting(
        1.0, "Share of streams that are traced where the client's request belongs to no trace of its own.",
        low=0, high=1,
    )  # fmt: skip
    service: str = setting("abr-tts", "What the server is called in traces.")
    timeout_s: float = setting(
        5.0, "Seconds that the collector may take to answer; what there is no room for meanwhile is lost.",
        low=0.1, high=60,
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.endpoint and urlsplit(self.endpoint).scheme not in ("http", "https"):
            raise ConfigError(f"tracing.endpoint must begin with http:// or https://, not {self.endpoint!r}")
