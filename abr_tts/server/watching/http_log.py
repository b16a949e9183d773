"""
What aiohttp logs of requests, without what they say: a line that is no HTTP is quoted in its exception, and
may hold a key or a ticket.
"""

from __future__ import annotations

import logging

from aiohttp import web
from aiohttp.http_exceptions import BadHttpMessage

log = logging.getLogger("abr_tts.http")


class _Unquoted(logging.Filter):
    """What anybody who reaches the port can bring about is a line at debug level, without a quotation."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is logged; a bad request's without its words."""
        fault = record.exc_info[1] if record.exc_info else None
        if isinstance(fault, web.RequestPayloadError):  # of a body, found after the answer
            fault = fault.__cause__
        if not isinstance(fault, BadHttpMessage):
            return True
        record.exc_info = record.exc_text = None
        record.msg, record.args = "no HTTP: %s (%d)", (type(fault).__name__, fault.code)
        record.levelno, record.levelname = logging.DEBUG, "DEBUG"
        return log.isEnabledFor(logging.DEBUG)


log.addFilter(_Unquoted())
