"""
What every answer of the door has, errors of HTTP itself included: an id, the shape of OpenAI's errors, and
the headers by which a page of another origin may read it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from contextvars import ContextVar

from aiohttp import web
from aiohttp.typedefs import Handler

from ...errors import AbrError, Internal, Unauthorized
from ..access.auth import Auth
from ..doors.desk import WRONG_ORIGIN
from .faults import answer, http_answer
from .models import AnswerHeaders, LaterHeaders, SoundHeaders, as_headers

log = logging.getLogger(__name__)

PATHS = ("/v1/audio", "/v1/models", "/openapi.json")
"""What the paths of the door begin with."""

EXPOSED = ", ".join(
    name for model in (AnswerHeaders, SoundHeaders, LaterHeaders) for name in model.__struct_encode_fields__
)
"""Headers that a page of another origin may read."""

MAX_AGE_S = 600
"""Seconds that a browser may keep what a preflight was told; Chromium keeps nothing for longer than 7200."""

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""Of the request that this task serves."""


class Manners:
    """
    Args:
        auth: which origins may come in.
    """

    def __init__(self, auth: Auth) -> None:
        self._auth = auth

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Around every request whose path is the door's."""
        if not request.path.startswith(PATHS):
            return await handler(request)
        request_id.set(f"req_{secrets.token_hex(12)}")
        response = await self._handled(request, handler)
        if not response.prepared:
            response.headers.update(polite(request, self._auth))
        return response

    async def _handled(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            if request.method == "OPTIONS":
                return self._preflight(request)
            return await handler(request)
        except AbrError as error:
            return answer(error)
        except web.HTTPException as error:
            return http_answer(error)
        except Exception:
            log.exception("a fault of the server's own, at %s", request_id.get())
            return answer(Internal("a fault of the server's own; it has been logged"))

    def _preflight(self, request: web.Request) -> web.Response:
        """What a browser asks before it lets a page send a key and JSON (Fetch standard, CORS)."""
        if not self._auth.allows_origin(request.headers):
            origin = request.headers.get("Origin", "")
            self._auth.refused_pages.note(origin, asyncio.get_running_loop().time())
            raise Unauthorized(WRONG_ORIGIN, http=403)
        allowed = {
            "Access-Control-Allow-Methods": "GET, POST",
            "Access-Control-Allow-Headers": request.headers.get("Access-Control-Request-Headers", "*"),
            "Access-Control-Max-Age": str(MAX_AGE_S),
        }
        return web.Response(status=204, headers=allowed)


def polite(request: web.Request, auth: Auth) -> dict[str, str]:
    """Headers of any answer to a request."""
    headers = as_headers(AnswerHeaders(request_id.get()))
    origin = request.headers.get("Origin")
    if origin and auth.allows_origin(request.headers):
        headers["Access-Control-Allow-Origin"] = origin
        headers["Access-Control-Expose-Headers"] = EXPOSED
        headers["Vary"] = "Origin"
    return headers
