"""An exception as the wire's `error` record, cut to the wire's bounds whatever its words hold."""

from __future__ import annotations

from typing import Any

from ..errors import AbrError
from .checks import free
from .messages import Error

WORDS_MOST = 1_000
"""Characters of an error's message: a paragraph."""

DETAIL_BYTES_MOST = 16_384
"""Characters of an error's detail as Python writes it; a longer one is left out. A list of 500 names fits."""


def error_message(error: AbrError, scope: str, stream: int | None, stream_id: str | None) -> Error:
    """The record that tells `error`; what cannot be said on the wire is told in ASCII."""
    words = error.message.encode("utf-8", "replace").decode()[:WORDS_MOST]
    detail = {str(key)[:64] or "_": _plain(value) for key, value in list(error.detail.items())[:64]}
    if len(repr(detail)) > DETAIL_BYTES_MOST:
        detail = {}
    after = None if error.retry_after is None else min(max(0.0, error.retry_after), 86_400.0)
    return Error(error.code, words, scope, stream, stream_id, after, detail)


def _plain(value: Any) -> Any:
    try:
        return free(value)
    except (ValueError, RecursionError):
        return ascii(value)[:200]
