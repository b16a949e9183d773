"""
The body of a small request, for which nobody waits for ever.
"""

from __future__ import annotations

import asyncio
import json

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

PATIENCE_S = 10.0
"""Seconds in which a few hundred bytes are here, by default: that of `limits.hello_timeout_s`."""


async def body_of(request: web.Request, patience_s: float = PATIENCE_S) -> bytes:
    """
    All of it.

    Raises:
        HTTPRequestTimeout: it was not here in time; the connection ends with the answer.
        HTTPBadRequest: it cannot be read, as where it is not compressed as it says. Both answer in JSON.
    """
    try:
        async with asyncio.timeout(patience_s):
            return await request.read()
    except TimeoutError:
        words = _told(f"the body was not here within {patience_s:g} s")
        late = web.HTTPRequestTimeout(text=words, content_type="application/json")
        late.force_close()
        raise late from None
    except (web.RequestPayloadError, ConnectionError) as error:
        words = _told(f"the body cannot be read: {why(error)}")
        raise web.HTTPBadRequest(text=words, content_type="application/json") from None


def why(error: Exception) -> str:
    """Why aiohttp could not read a body, in words for whoever sent it."""
    cause = error.__cause__
    words = cause.message if isinstance(cause, HttpProcessingError) else str(error)
    return " ".join(words.split())


def _told(words: str) -> str:
    return json.dumps({"error": words})
