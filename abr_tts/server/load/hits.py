"""
Which limit an error is about: the label of `abr_tts_limits_hit_total`, which is the setting's name.

An error of a limit that shares its code with others carries the name as `detail.name`; where a code has one
limit only, it stands here.
"""

from __future__ import annotations

from ...errors import AbrError

OF_CODE = {
    "message_too_big": "message_bytes",
    "text_too_long": "text_chars",
    "too_many_streams": "streams_per_connection",
    "rate_limited": "messages_per_s",
    "hello_timeout": "hello_timeout_s",
    "idle_timeout": "idle_timeout_s",
    "audio_too_long": "uplink_s",
    "too_many_voices": "voices",
}
"""Code → setting of `[limits]`."""

NAMES = frozenset(
    {
        *OF_CODE.values(), "connections", "connections_per_key", "requests_per_s", "chars_per_s", "streams",
        "waiting_clauses", "waiting_streams", "uplinks", "hints_per_s", "tickets", "ticket", "cpu",
        "whole_streams", "max_ahead_s", "uplink_timeout_s",
        "continue_chars", "task_chars", "text_wait_s", "idle_s",
    }
)  # fmt: skip
"""Every label that there is: a metric must have few, whatever an error says."""


def limit_of(error: AbrError) -> str | None:
    """The limit that an error is about; None: about none."""
    name = error.detail.get("name") or OF_CODE.get(error.code)
    return name if name in NAMES else None
