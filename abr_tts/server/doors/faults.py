"""
What an error of the house is in HTTP: a status, and when to try again. One table for every door.
"""

from __future__ import annotations

import math

from ...errors import AbrError

STATUS = {
    "bad_message": 400, "bad_field": 400, "empty_text": 400, "text_too_long": 400, "text_after_end": 400,
    "unknown_voice": 400, "unknown_rung": 400, "unknown_policy": 400, "no_common_format": 400,
    "unsupported": 400, "wrong_state": 400,
    "unauthorized": 401, "hello_timeout": 408, "idle_timeout": 408, "duplicate_stream": 409,
    "message_too_big": 413, "rate_limited": 429, "too_many_streams": 429,
    "overloaded": 503, "busy": 503, "shutting_down": 503, "engine_lost": 503, "engine_timeout": 504,
}  # fmt: skip
"""Code → status; of any other 500."""

OF_A_KEY = frozenset({"connections_per_key"})
"""Limits that one key has reached, though the server has room: 429, whatever the code."""

AGAIN_S = 1.0
"""Seconds after which to try again where nobody knows better."""


def status_of(error: AbrError) -> int:
    """The HTTP status of an error: that of its code, unless `detail.http` knows better."""
    if error.detail.get("name") in OF_A_KEY:
        return 429
    return int(error.detail.get("http", STATUS.get(error.code, 500)))


def retry_after(error: AbrError) -> str | None:
    """What `Retry-After` says, whole seconds; None: trying again is of no use."""
    if status_of(error) not in (429, 503):
        return None
    return str(max(1, math.ceil(AGAIN_S if error.retry_after is None else error.retry_after)))
