"""
Why a server did not speak: one sentence for people, and what may be done about it.

A server's own words are passed on where they are words, cut short, and never with a secret in
them. Addresses of servers are for the log, not for listeners. Pure but for the date in
`Retry-After`, which is compared with a `now` that is given.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Optional

from ...errors import EngineError, EngineLost

LONGEST = 200
"""Characters of a server's words that are passed on. Chosen here."""

LONGEST_REST_S = 300.0
"""Longest rest that a server is granted; it is asked again then, whatever it said. Chosen here."""

MASK = "***"
SECRET = re.compile(
    r"(?i)\b(?:sk|pk|key|tok|ghp|hf)[-_][\w*.-]{6,}|\bbearer\s+\S+"
    r"|\b(?:api[-_ ]?key|token)['\"]?\s*[:=]\s*\S+"
)
"""What looks like a key: the prefixes that services give theirs, and what follows the word for it."""

ASKED_TOO_MUCH, TIMED_OUT, TOO_EARLY = 429, 408, 425
RETRIED = frozenset({TIMED_OUT, TOO_EARLY, ASKED_TOO_MUCH, 500, 502, 503, 504})
"""Statuses after which another try may succeed: the server's fault or its load, not the request's."""


@dataclass(eq=False)
class Failed(Exception):
    """
    One try has failed.

    Args:
        error: for the listener.
        retry: another try may succeed.
        hurt: it counts against the server's breaker.
        rest_s: seconds for which the server asks to be left alone.
    """

    error: EngineError
    retry: bool
    hurt: bool
    rest_s: float = 0.0

    def __str__(self) -> str:
        return self.error.message


def lost(sentence: str) -> Failed:
    """The connection failed; said by whoever sees it."""
    return Failed(EngineLost(sentence), retry=True, hurt=True)


def no_speech(sentence: str) -> Failed:
    """It answered, but with what is no speech: trying again would bring the same."""
    return Failed(EngineError(sentence), retry=False, hurt=True)


def unable(sentence: str) -> Failed:
    """This request cannot be; the server is well."""
    return Failed(EngineError(sentence), retry=False, hurt=False)


def refused(status: int, kind: str, body: bytes, retry_after: str, now: float, secret: str = "") -> Failed:
    """
    An HTTP status other than 200.

    Args:
        kind: its content type.
        body: the first kilobytes of it.
        retry_after: the header of that name, or "".
        now: seconds since 1970.
        secret: never to be repeated.
    """
    words = spoken(body, kind, secret)
    what = f"the engine's server refused our key (HTTP {status})" if status in (401, 403) else ""
    if 300 <= status < 400:
        what = (
            f"the engine's server redirects (HTTP {status}); put the address it names into engine.options.url"
        )
    what = what or f"the engine's server answered HTTP {status}"
    sentence = f"{what}: {words}" if words else what
    rest_s = seconds_of(retry_after, now) if status in (ASKED_TOO_MUCH, 503) else 0.0
    error = EngineError(sentence, retry_after=rest_s or None, status=status)
    return Failed(error, retry=status in RETRIED, hurt=status >= 500, rest_s=rest_s)


def spoken(body: bytes, kind: str, secret: str = "") -> str:
    """The words in the body of an error: of JSON its message, of plain text the first line, of HTML none."""
    text = body.decode("utf-8", "replace").strip()
    if "html" in kind or text.startswith("<"):
        return ""
    try:
        text = _message(json.loads(text)) or ""
    except ValueError:
        if "json" in kind or "\ufffd" in text:
            return ""
        text = text.partition("\n")[0]
    return tidy(text, secret)


def tidy(text: str, secret: str = "") -> str:
    """One line without secrets, at most `LONGEST` characters."""
    if secret:
        text = text.replace(secret, MASK)
    text = SECRET.sub(MASK, " ".join("".join(c if c.isprintable() else " " for c in text).split()))
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _message(value: Any) -> Optional[str]:
    """The sentence in an error as OpenAI, FastAPI and Triton shape theirs."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):  # FastAPI: one entry a field
        return next((found for one in value if (found := _field(one))), None)
    if isinstance(value, dict):
        return next(
            (found for key in ("error", "message", "detail", "msg") if (found := _message(value.get(key)))),
            None,
        )
    return None


def _field(value: Any) -> Optional[str]:
    """FastAPI's complaint of one field: where, and what."""
    words = _message(value)
    if words and isinstance(value, dict) and isinstance(value.get("loc"), list):
        return f"{'.'.join(map(str, value['loc']))}: {words}"
    return words


def seconds_of(retry_after: str, now: float) -> float:
    """`Retry-After` (RFC 9110 section 10.2.3: seconds or a date) in seconds from `now`; 0 if unreadable."""
    value = retry_after.strip()
    try:
        seconds = float(value) if value.isdigit() else parsedate_to_datetime(value).timestamp() - now
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0.0
    return min(max(seconds, 0.0), LONGEST_REST_S)
