"""
How the log is written: lines for people, or one JSON object a line for programs that collect them.

What stands in one is what its caller said: no text of anybody's, no key. Which connection and which stream
a line is about stands in fields of its own, so that one can look for all lines of either. A connection's
own task knows it (`of_session`); whoever knows a stream says so with `ids`, because what an engine or a
thread calls back runs outside of any connection's task.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO

from ..config import LogSettings

SHORT = 8
"""Characters of a stream's id in a log, as on the operator's page: enough to find it by, and its trace."""

TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
"""A line for people."""

_session: ContextVar[str] = ContextVar("session", default="")


@contextmanager
def of_session(name: str) -> Iterator[None]:
    """Whatever is logged inside, by this task and what it starts, is about the connection of this name."""
    token = _session.set(name)
    try:
        yield
    finally:
        _session.reset(token)


def ids(stream_id: str | None, session: str = "") -> dict[str, str]:
    """For `extra=` of a logger: which stream a line is about, and its connection where that is known."""
    found = {"stream": stream_id[:SHORT]} if stream_id else {}
    return found | ({"session": session} if session else {})


class JsonLines(logging.Formatter):
    """
    Fields: `time` (ISO 8601, UTC), `level`, `logger`, `message`, and where there are any `session`, `stream`
    and `stack`, which holds a whole traceback.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        at = datetime.fromtimestamp(record.created, UTC)
        told: dict[str, Any] = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name, value in (
            ("session", getattr(record, "session", "") or _session.get()),
            ("stream", getattr(record, "stream", "")),
            ("stack", self._stack(record)),
        ):
            if value:
                told[name] = value
        return json.dumps(
            told
        )  # ASCII: whatever the encoding of the stream, and half a character is no fault

    def _stack(self, record: logging.LogRecord) -> str:
        parts = [self.formatException(record.exc_info)] if record.exc_info else []
        return "\n".join([*parts, *([self.formatStack(record.stack_info)] if record.stack_info else [])])


def set_up(settings: LogSettings, out: TextIO | None = None) -> None:
    """Have the whole program log as it is set, to standard error or `out`, instead of what was set before."""
    handler = logging.StreamHandler(out)
    handler.setFormatter(JsonLines() if settings.format == "json" else logging.Formatter(TEXT))
    logging.basicConfig(level=settings.level.upper(), handlers=[handler], force=True)
