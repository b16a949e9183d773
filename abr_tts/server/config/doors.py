"""
The doors beside the WebSocket: [openai], [dashscope], [grpc].
"""

# ruff: noqa: RUF009 -- `setting` returns a dataclass field, which is what a default may be
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...errors import ConfigError
from .options import Section, setting


def _check_voices(section: str, voices: dict[str, Any]) -> None:
    """
    Names of clients' voices, each with one of ours.

    Raises:
        ConfigError: one is no text.
    """
    wrong = sorted(name for name, voice in voices.items() if not isinstance(voice, str))
    if wrong:
        raise ConfigError(f"{section}.voices: {wrong[0]} must be the name of a voice, a string")


@dataclass(frozen=True)
class OpenAiSettings(Section):
    """[openai]: OpenAI's speech endpoint, for clients that change one URL; see openai.md."""

    enabled: bool = setting(True, "Whether there are /v1/audio/speech, /v1/audio/voices and /v1/models.")
    models: tuple[str, ...] = setting(
        ("gpt-4o-mini-tts", "tts-1", "tts-1-hd"),
        "Names that /v1/models lists; a request may give any name, and all of them are the one engine.",
    )
    voices: dict[str, Any] = setting(
        {}, 'Voice of this server for each name that clients use, e.g. alloy = "af_heart". '
        "OpenAI's own names are the voice for the script of the text, where nothing is said here.",
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_voices("openai", self.voices)


@dataclass(frozen=True)
class DashScopeSettings(Section):
    """[dashscope]: Alibaba's CosyVoice WebSocket, for clients of its SDKs; see dashscope.md."""

    enabled: bool = setting(True, "Whether there is /api-ws/v1/inference.")
    voices: dict[str, Any] = setting(
        {}, 'Voice of this server for each name that clients use, e.g. longxiaochun = "af_heart".'
    )
    continue_chars: int = setting(
        20_000, "Characters of one continue-task; a Chinese one counts as two, as the hosted service has it.",
        low=1, high=10_000_000,
    )  # fmt: skip
    task_chars: int = setting(
        200_000, "Characters of one task, counted so; limits.text_chars if that is less.",
        low=1, high=10_000_000,
    )  # fmt: skip
    text_wait_s: float = setting(
        23.0, "Seconds without a continue-task after which a task that waits for text fails.",
        low=0.05, high=86_400,
    )  # fmt: skip
    idle_s: float = setting(
        60.0, "Seconds without a task after which a connection is closed.", low=0.05, high=86_400
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_voices("dashscope", self.voices)


@dataclass(frozen=True)
class GrpcSettings(Section):
    """[grpc]: the protocol over gRPC, on a port of its own; it needs the extra [grpc], see grpc.md."""

    enabled: bool = setting(
        False, "Whether it listens. Address, certificate, keys and limits are the server's."
    )
    port: int = setting(50_051, "TCP port; 0 takes any free one.", low=0, high=65535)
    reflection: bool = setting(True, "Whether tools such as grpcurl may ask for the proto.")
    calls_per_connection: int = setting(
        100, "Calls at once over one HTTP/2 connection; more wait for their turn at the client.",
        low=1, high=100_000,
    )  # fmt: skip
