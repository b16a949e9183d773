"""
The body of a small request, for which nobody waits for ever.
"""

from __future__ import annotations

import asyncio

from aiohttp import web

PATIENCE_S = 10.0
"""Seconds in which a few hundred bytes are here, by default: that of `limits.hello_timeout_s`."""


async def body_of(request: web.Request, patience_s: float = PATIENCE_S) -> bytes:
    """
    All of it.

    Raises:
        HTTPRequestTimeout: it was not here in time; the connection ends with the answer.
        HTTPBadRequest: it cannot be read.
    """
    try:
        async with asyncio.timeout(patience_s):
            return await request.read()
    except TimeoutError:
        late = web.HTTPRequestTimeout(text=f"the body was not here within {patience_s:g} s\n")
        late.force_close()
        raise late from None
    except (web.RequestPayloadError, ConnectionError):
        raise web.HTTPBadRequest(text="the body cannot be read\n") from None
