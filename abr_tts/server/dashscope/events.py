"""
What passes between the protocol of a connection (`machine`) and the server, and the limits that bind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ...errors import AbrError
from ..config import Settings
from .asked import Asked


@dataclass(frozen=True, slots=True)
class Limits:
    """
    Args:
        continue_chars, task_chars: of text, in one message and in one task.
        text_wait_s: seconds without text after which a task fails.
        idle_s: seconds without a task after which the connection is closed.
        message_bytes: of one message from the client.
        messages_per_s, message_burst: from the client.
    """

    continue_chars: int = 20_000
    task_chars: int = 200_000
    text_wait_s: float = 23.0
    idle_s: float = 60.0
    message_bytes: int = 1_048_576
    messages_per_s: float = 500.0
    message_burst: int = 1000


def limits_of(settings: Settings) -> Limits:
    """Those that are set: of this door, and of all."""
    door, every = settings.dashscope, settings.limits
    return Limits(
        continue_chars=door.continue_chars,
        task_chars=min(door.task_chars, every.text_chars),
        text_wait_s=door.text_wait_s,
        idle_s=door.idle_s,
        message_bytes=every.message_bytes,
        messages_per_s=every.messages_per_s,
        message_burst=every.message_burst,
    )


@dataclass(frozen=True, slots=True)
class Begin:
    """A task is asked for; `started`, or `fail`, is the answer."""

    asked: Asked


@dataclass(frozen=True, slots=True)
class Say:
    """More text of the task."""

    text: str


@dataclass(frozen=True, slots=True)
class Flush:
    """Speak what is held back."""


@dataclass(frozen=True, slots=True)
class EndText:
    """No more text comes; `finish` once all is spoken."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Nothing more of the task is wanted: end the engine's work, drop what waits to be written."""

    reason: str
    """`cancelled`, `aborted` (by the next task), or the code of the error that it failed with."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The client is told of this, or the connection ends for it: to be counted."""

    error: AbrError


Event: TypeAlias = Begin | Say | Flush | EndText | Stop | Failed


@dataclass(frozen=True, slots=True)
class Message:
    """
    One to be written: a text message, and with `audio` a binary one right behind it, never one without
    the other.
    """

    text: str
    audio: bytes | None = None
