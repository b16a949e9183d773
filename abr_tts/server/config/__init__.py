"""
What an operator can set, with the default of each setting and the reason for it.

`load` puts the sources together: a TOML file, over it the environment, over both the flags.
How they are read stands in `options`. A `Settings` that exists is valid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from .access import AdminSettings, AuthSettings
from .doors import DashScopeSettings, GrpcSettings, OpenAiSettings
from .limits import LimitSettings
from .network import ServerSettings, TlsSettings, WebSettings
from .options import Described, build, over, read_environment, read_file, read_flags
from .options import describe as _describe
from .rollout import CanarySettings, RolloutSettings
from .speech import EngineSettings, RecordSettings, ResumeSettings, StreamSettings
from .watching import DebugSettings, LogSettings, TracingSettings

__all__ = [
    "SECTIONS", "AdminSettings", "AuthSettings", "CanarySettings", "DashScopeSettings", "DebugSettings",
    "EngineSettings", "GrpcSettings", "LimitSettings", "LogSettings", "OpenAiSettings", "RecordSettings",
    "ResumeSettings", "RolloutSettings", "ServerSettings", "Settings", "StreamSettings", "TlsSettings",
    "TracingSettings", "WebSettings", "describe", "load",
]  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """Everything that can be set. Each section checks itself; an instance is valid."""

    server: ServerSettings = field(default_factory=ServerSettings)
    tls: TlsSettings = field(default_factory=TlsSettings)
    engine: EngineSettings = field(default_factory=EngineSettings)
    stream: StreamSettings = field(default_factory=StreamSettings)
    resume: ResumeSettings = field(default_factory=ResumeSettings)
    rollout: RolloutSettings = field(default_factory=RolloutSettings)
    canary: CanarySettings = field(default_factory=CanarySettings)
    record: RecordSettings = field(default_factory=RecordSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    auth: AuthSettings = field(default_factory=AuthSettings)
    admin: AdminSettings = field(default_factory=AdminSettings)
    web: WebSettings = field(default_factory=WebSettings)
    openai: OpenAiSettings = field(default_factory=OpenAiSettings)
    dashscope: DashScopeSettings = field(default_factory=DashScopeSettings)
    grpc: GrpcSettings = field(default_factory=GrpcSettings)
    log: LogSettings = field(default_factory=LogSettings)
    debug: DebugSettings = field(default_factory=DebugSettings)
    tracing: TracingSettings = field(default_factory=TracingSettings)


SECTIONS: dict[str, type] = {item.name: item.default_factory for item in fields(Settings)}  # type: ignore[misc]
"""The dataclass of each section, by its name."""


def load(
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Settings:
    """
    The settings of a TOML file, over it the environment, over both the flags.

    Args:
        file: the TOML file; None for none.
        environ: variables such as ABR_TTS_SERVER__PORT; others are ignored.
        overrides: flags by dotted name, such as {"server.port": 80}.

    Raises:
        ConfigError: one sentence with the source, the key and what is wrong.
    """
    given = read_file(file) if file else {}
    given = over(given, read_environment(environ or {}))
    given = over(given, read_flags(overrides or {}))
    return Settings(**build(SECTIONS, given))


def describe() -> Iterator[Described]:
    """Every setting: dotted name, environment variable, default, sentence."""
    return _describe(SECTIONS)
