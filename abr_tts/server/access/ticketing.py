"""
`POST /v1/tickets`: a ticket for whoever has a key, to be handed to a page.

    → {"origin": "https://example.org", "streams": 3, "chars": 2000}   each may be left out, as the body
    ← {"ticket": "…", "expires_s": 60}
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

from .auth import Auth
from .body import body_of
from .tickets import Grant

PATH = "/v1/tickets"
"""Where it is (protocol/SPEC.md, Connecting)."""

MOST = 10_000_000
"""Greatest number that a ticket may say, as of the settings that it narrows."""


class Ticketing:
    """
    Args:
        auth: who may have one.
        admit: refuses whoever may not speak here.
        hit: is told of the limit that one is refused for.
        patience_s: seconds in which a request must be here.
    """

    def __init__(
        self,
        auth: Auth,
        admit: Callable[[web.Request], None],
        hit: Callable[[str], None],
        patience_s: float,
    ) -> None:
        self._auth, self._admit, self._hit, self._patience_s = auth, admit, hit, patience_s

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Open the door in a web server."""
        router.add_post(PATH, self._issue)

    async def _issue(self, request: web.Request) -> web.Response:
        self._admit(request)
        tickets = self._auth.tickets
        if not tickets.lasts_s:
            return _refuse(404, "this server gives no tickets; see auth.ticket_s")
        body = await body_of(request, self._patience_s)
        try:
            wishes = _wishes(body)
        except ValueError as error:
            return _refuse(400, str(error))
        caller = self._auth.caller(request.headers, request.remote or "")
        now = asyncio.get_running_loop().time()
        grant = Grant(caller.key_name, caller.key_digest, expires=caller.expires, **wishes)
        ticket = tickets.issue(grant, now)
        if ticket is None:
            self._hit("tickets")
            refused = _refuse(429, "too many tickets are out; see auth.tickets and auth.tickets_per_key")
            refused.headers["Retry-After"] = str(max(1, round(tickets.soonest_s(grant, now))))
            return refused
        answer = {"ticket": ticket, "expires_s": tickets.lasts_s}
        return web.json_response(answer, headers={"Cache-Control": "no-store"})


def _wishes(body: bytes) -> dict[str, Any]:
    """
    What a request wants its ticket to be bound to.

    Raises:
        ValueError: in words for the client.
    """
    try:
        value = json.loads(body) if body.strip() else {}
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, Mapping):
        raise ValueError("the body must be a JSON object")
    unknown = set(value) - {"origin", "streams", "chars"}
    if unknown:
        raise ValueError("a ticket is bound to origin, streams and chars, nothing else")
    origin = value.get("origin")
    if origin is not None and not (isinstance(origin, str) and origin.startswith(("http://", "https://"))):
        raise ValueError("origin must be that of a page, such as https://example.org")
    for name in ("streams", "chars"):
        number = value.get(name, 1)
        if isinstance(number, bool) or not isinstance(number, int) or not 0 < number <= MOST:
            raise ValueError(f"{name} must be a whole number from 1 to {MOST}")
    made = dict(value)
    if origin is not None:
        made["origin"] = origin.rstrip("/").lower()
    return made


def _refuse(status: int, words: str) -> web.Response:
    return web.json_response({"error": words}, status=status, headers={"Cache-Control": "no-store"})
