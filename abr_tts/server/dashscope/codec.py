"""
Bytes to records and back: JSON in text messages.

JSON is read by the standard library, which lets half a surrogate pair pass as a model's stream may end with
it; then it becomes a record, which checks itself. It is written in ASCII, so that nothing cannot be written.
"""

from __future__ import annotations

import json
from typing import Any, get_args

import msgspec

from ...errors import BadField, BadMessage
from .messages import ACTIONS, Action, Event, Format, SampleRate

KNOWN_CHARS = 128
"""Characters of a task's id that are repeated in an answer to a message that is wrong otherwise."""

CHOICES = {
    "$.header.streaming": ("duplex",),
    "$.payload.parameters.format": get_args(Format),
    "$.payload.parameters.sample_rate": get_args(SampleRate),
    "$.payload.input.directive": ("cancel",),
}
"""Where few values may stand, which they are."""


class Unreadable(Exception):
    """
    A message that is none.

    Args:
        error: what is wrong with it.
        task_id: the task that it is about, as far as it says.
    """

    def __init__(self, error: BadField | BadMessage, task_id: str) -> None:
        super().__init__(error.message)
        self.error, self.task_id = error, task_id


def read(data: str | bytes) -> Action:
    """
    One message of a client.

    Raises:
        Unreadable: with `BadMessage` what is no JSON or no action, with `BadField` a field that is missing,
            of the wrong type or out of its bounds, by its path.
    """
    if isinstance(data, bytes):
        raise Unreadable(BadMessage("a binary message; this task takes text alone"), "")
    try:
        value = json.loads(data, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise Unreadable(BadMessage("the message is no JSON"), "") from None
    header = value.get("header") if isinstance(value, dict) else None
    action = header.get("action") if isinstance(header, dict) else None
    kind = ACTIONS.get(action) if isinstance(action, str) else None
    if kind is None:
        words = f"header.action must be one of {', '.join(ACTIONS)}"
        raise Unreadable(BadMessage(words), _task_id(header))
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as fault:
        raise Unreadable(BadField(_words(str(fault))), _task_id(header)) from None


def write(event: Event) -> str:
    """One message to a client."""
    return json.dumps(msgspec.to_builtins(event), separators=(",", ":"))


def _task_id(header: Any) -> str:
    found = header.get("task_id") if isinstance(header, dict) else None
    return found[:KNOWN_CHARS] if isinstance(found, str) else ""


def _words(fault: str) -> str:
    """What msgspec says of a value, with what may stand there if that is a few words."""
    for place, choices in CHOICES.items():
        if fault.startswith("Invalid enum value") and fault.endswith(f"`{place}`"):
            return f"{fault}, one of {', '.join(str(choice) for choice in choices)}"
    return fault


def _no_number(name: str) -> float:
    raise ValueError(name)
