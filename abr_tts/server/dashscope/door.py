"""
The door itself: where it is, who may come in, and how a request becomes a session.

What is refused before there is a WebSocket is refused with an HTTP status, and in the words of DashScope's
HTTP answers.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress

from aiohttp import web

from ...errors import AbrError
from ..doors.desk import Desk
from ..doors.faults import retry_after, status_of
from ..front import OVERSIZE_BYTES
from ..sending.line import WebSocketLine
from ..watching.logs import of_session
from .faults import code_of
from .session import Session

log = logging.getLogger(__name__)

PATH = "/api-ws/v1/inference"
"""Where the hosted service has it, behind the host that a client's base URL names."""


class DashScope:
    """
    Args:
        desk: where clients come in.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Open it; examples of the hosted service write the path with a slash at its end, too."""
        router.add_get(PATH, self._serve)
        router.add_get(PATH + "/", self._serve)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Upgrade", "").lower() != "websocket":
            headers = {"Upgrade": "websocket"}
            return _refused(426, "InvalidParameter", "this is a WebSocket; see docs/dashscope.md", headers)
        try:
            visit = self._desk.enter(
                request.headers, request.remote or "", origins=_own_origin(request.headers)
            )
        except AbrError as error:
            after = retry_after(error)
            headers = {} if after is None else {"Retry-After": after}
            return _refused(status_of(error), code_of(error), error.message, headers)
        limits = self._desk.settings.limits
        socket = web.WebSocketResponse(
            compress=False,  # sound does not shrink, and memory would grow
            max_msg_size=limits.message_bytes + OVERSIZE_BYTES,
            timeout=limits.close_timeout_s,
        )
        with suppress(ConnectionResetError), visit, of_session(visit.session):
            await socket.prepare(request)
            if request.transport is not None:  # it did not leave while we greeted
                line = WebSocketLine(socket, request.transport, limits.close_timeout_s)
                session = Session(line, visit, self._desk.services)
                await session.run()
                visit.code = session.close_code
        return socket


def _own_origin(headers: Mapping[str, str]) -> set[str]:
    """
    The origin that need not be looked at: of a request that bears a key in a header.

    No browser lets a page set that header for a WebSocket, so that no page asks; but the SDK's library
    always sends an origin, made from the URL, which need not be the host that a proxy passes on.
    """
    bears = headers.get("Authorization", "").lower().startswith("bearer ")
    return {headers.get("Origin", "").rstrip("/").lower()} if bears else set()


def _refused(status: int, code: str, words: str, headers: Mapping[str, str]) -> web.Response:
    return web.json_response({"code": code, "message": words}, status=status, headers=headers)
