"""
What operators are told: [log], [debug].
"""

from __future__ import annotations

from dataclasses import dataclass

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
