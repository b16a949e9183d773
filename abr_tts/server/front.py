"""
The front door: what the server answers to HTTP, and how a request becomes a session.

Everything that can be refused before a WebSocket exists is refused here with an HTTP status,
which any client and proxy understands: 400 wrong protocol, 401 key, 403 page, 429 too many of one key, 503
full or stopping.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Iterator
from typing import Any

from aiohttp import web

from .. import __version__
from ..engine.base import Voice
from ..errors import Overloaded
from ..wire.connection import Connection
from ..wire.limits import Limits
from .access.auth import Auth, Caller
from .access.ticketing import Ticketing
from .config import LimitSettings
from .rollout.rollout import Rollout
from .session import Session
from .shared import Shared
from .speech.utterance import FINISHING, SPEAKING, WAITING
from .watching.logs import of_session
from .watching.metrics import CONTENT_TYPE

log = logging.getLogger(__name__)

PATH = "/v1/stream"
"""Where the WebSocket is (protocol/SPEC.md)."""

SUBPROTOCOL = "abr-tts.v1"
"""What both sides speak there (protocol/SPEC.md)."""

OVERSIZE_BYTES = 65_536
"""Up to so much beyond the limit a message is still read, so that the client is told the limit in
words; beyond, aiohttp closes with 1009 and no word."""

CLOSE_CODES = frozenset({1000, 1001, 1005, 1006, 1008, 1009, 1011, 1012, 1013})
"""Close codes that are counted by name; a client may send any, and a label must have few values."""


class Front:
    """
    Args:
        auth: who may connect.
        shared: what all sessions share.
        rollout: of the policies that they share.
    """

    def __init__(self, auth: Auth, shared: Shared, rollout: Rollout) -> None:
        self._auth, self._shared, self._rollout = auth, shared, rollout
        self._services = shared.services
        self._settings = shared.services.settings
        self._limits = wire_limits(self._settings.limits)
        self.sessions: dict[Session, asyncio.Task[None] | None] = {}
        """Every open session, with the task that serves it."""
        self.app = web.Application()
        self.app.on_response_prepare.append(_guard)
        self.app.router.add_get(PATH, self._stream)
        Ticketing(auth, self.admit, self._services.metrics.hit).add_to(self.app.router)
        self.app.router.add_get("/healthz", self._healthz)
        self.app.router.add_get("/readyz", self._readyz)
        self.app.router.add_get("/metrics", self._metrics)
        self._watch()

    # ------------------------------------------------------------ for machines that watch

    async def _healthz(self, request: web.Request) -> web.Response:
        """The process lives."""
        return web.json_response({"status": "ok", "version": __version__})

    async def _readyz(self, request: web.Request) -> web.Response:
        """
        Whether a new stream would be taken; 503 while the engine loads, and while stopping.

        A bad policy file is told and no reason to say no: the good one before it is in use.
        """
        stats = self._services.pool.stats
        draining = self._shared.draining()
        ready = stats.ready > 0 and not draining
        detail = {
            "ready": ready,
            "draining": draining,
            "engine": self._settings.engine.kind,
            "workers": stats.size,
            "workers_ready": stats.ready,
            "clauses_waiting": stats.waiting,
            "loading": self._loading(),
            "connections": self._shared.admission.connections,
            "streams": self._shared.admission.streams,
            **self._rollout.summary(),
        }
        return web.json_response(detail, status=200 if ready else 503)

    def _loading(self) -> dict[str, Any]:
        """How far the engine is: state, what is being done, the share of it, since when."""
        standing = self._services.pool.progress
        shown = {"share": round(standing.share, 3), "seconds": round(standing.seconds, 1)}
        return {"state": standing.state, "sentence": standing.sentence, **shown}

    async def _metrics(self, request: web.Request) -> web.Response:
        return web.Response(body=self._services.metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    def _watch(self) -> None:
        watch, workshop = self._services.metrics.watch, self._services.workshop
        admission = self._shared.admission
        self._services.metrics.engine.watch(self._services.pool)
        watch("connections", "Connections open", lambda: admission.connections)
        watch("clips", "Clips that clients are sending", lambda: len(self._shared.share))
        watch("outstanding_bytes", "On their way to all clients", self._outstanding)
        watch("codec_jobs_waiting", "Encodings that wait for a thread", lambda: workshop.waiting)
        self._services.metrics.watch_states("streams", "Streams by state", self._states)

    def _outstanding(self) -> int:
        return sum(session.outstanding_bytes for session in self.sessions)

    def _states(self) -> dict[str, int]:
        states = dict.fromkeys((WAITING, SPEAKING, FINISHING), 0)
        for session in self.sessions:
            session.count(states)
        for utterance in self._shared.resumption.detached:
            states[utterance.state] += 1
        return states

    def told(self) -> Iterator[dict[str, Any]]:
        """What an operator is shown of every live stream."""
        for session in self.sessions:
            yield from session.told()
        yield from (utterance.told() for utterance in self._shared.resumption.detached)

    def facts(self, request: web.Request) -> dict[str, Any]:
        """What the demonstration's page needs to know; of voices, only what whoever may speak may know."""
        allowed = self._auth.allows_key(request.headers)
        pool, policies = self._services.pool, self._shared.policies
        own = policies.own.version
        return {
            "version": __version__,
            "stream": PATH.lstrip("/"),
            "needs_key": self._auth.needs_key,
            "allowed": allowed,
            "voices": [_shown(voice) for voice in pool.voices] if allowed else [],
            "policies": sorted(policies.offered) if allowed else [],
            "rungs": [rung.name for rung in own.policy.rungs] if own else [],
            "bank_s": [own.policy.safe_lead_s, own.policy.bank_lead_s] if own else None,
            "text_chars": self._settings.limits.text_chars,
        }

    # ------------------------------------------------------------ speech

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        self.check(request)
        name = secrets.token_hex(8)
        caller = self._enter(request, name)
        self._services.metrics.opened.inc()
        # No WebSocket heartbeat of ours: clients ping by the protocol, which also measures their round
        # trip, is answered at once, and keeps both directions of a proxy alive; `idle_s` does the rest.
        socket = web.WebSocketResponse(
            protocols=(SUBPROTOCOL,),
            compress=False,  # a browser offers deflate; Opus does not shrink, and memory would grow
            max_msg_size=self._settings.limits.message_bytes + OVERSIZE_BYTES,
            timeout=self._settings.limits.close_timeout_s,
        )
        now = asyncio.get_running_loop().time()
        connection = Connection("server", now, self._limits, session=name, server=f"abr-tts/{__version__}")
        try:
            await socket.prepare(request)
            await self._serve(request, socket, connection, caller)
        except ConnectionResetError:
            log.debug("session %s was cut while we greeted", name)
        finally:
            self._leave(caller)
            # Ours first, where it was we who closed: the peer echoes what it likes.
            code = connection.close_code or socket.close_code or 1006
            self._services.metrics.closed.labels(code if code in CLOSE_CODES else "other").inc()
        return socket

    def _enter(self, request: web.Request, name: str) -> Caller:
        """
        Count a connection: who comes, as the session of this name. A ticket is used up.

        Raises:
            HTTPException: 401, 429 or 503; then nothing is counted.
        """
        now, headers = asyncio.get_running_loop().time(), request.headers
        try:
            self._shared.admission.connect()
        except Overloaded as error:
            self._services.metrics.hit("connections")
            raise _unavailable(error.message, error.retry_after or 1.0) from None
        ticket = request.query.get("ticket")
        caller = self._auth.enter(headers, ticket, request.remote or "", name, now)
        try:
            if caller is None:
                raise _unauthorized(ticket)
            self._shared.quotas.connect(caller)
        except Overloaded as error:
            self._shared.admission.disconnect()
            self._services.metrics.hit("connections_per_key")
            raise _too_many(error.message, error.retry_after or 1.0) from None
        except web.HTTPException:
            self._shared.admission.disconnect()
            raise
        return caller

    def _leave(self, caller: Caller) -> None:
        self._shared.admission.disconnect()
        self._shared.quotas.disconnect(caller, asyncio.get_running_loop().time())

    async def _serve(
        self, request: web.Request, socket: web.WebSocketResponse, connection: Connection, caller: Caller
    ) -> None:
        transport = request.transport
        if transport is None:
            return  # it left while we greeted
        name = caller.session
        session = Session(socket, transport, connection, caller, self._shared)
        self.sessions[session] = asyncio.current_task()
        with of_session(name):
            log.debug("session %s opens from %s", name, request.remote)
            try:
                await session.run()
            except Exception:
                log.exception("session %s failed", name)
            finally:
                del self.sessions[session]
                log.debug("session %s is over", name)

    def admit(self, request: web.Request) -> None:
        """
        Refuse whoever may not speak here: a page of elsewhere, a missing key, anybody while it stops.

        Raises:
            HTTPException: with the status and the words for it.
        """
        if self._shared.draining():
            raise _unavailable("the server is stopping", 1.0)
        if not self._auth.allows_origin(request.headers):
            raise web.HTTPForbidden(text="pages of this origin may not connect; see auth.origins\n")
        ticket = request.query.get("ticket") if request.path == PATH else None
        if not self._auth.knows(request.headers, ticket, asyncio.get_running_loop().time()):
            raise _unauthorized(ticket)

    def check(self, request: web.Request) -> None:
        """
        Refuse before the upgrade what can be refused.

        Raises:
            HTTPException: with the status and the words for it.
        """
        self.admit(request)
        if request.headers.get("Upgrade", "").lower() != "websocket":
            raise web.HTTPUpgradeRequired(
                text=f"this is a WebSocket with the subprotocol {SUBPROTOCOL}\n",
                headers={"Upgrade": "websocket"},
            )
        offered = request.headers.get("Sec-WebSocket-Protocol", "").split(",")
        if SUBPROTOCOL not in (item.strip() for item in offered):
            raise web.HTTPBadRequest(text=f"the client must offer the subprotocol {SUBPROTOCOL}\n")


async def _guard(request: web.Request, response: web.StreamResponse) -> None:
    """Headers of every answer that has none of its own: nothing here is for a browser to run or to frame."""
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    response.headers.setdefault("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
    if request.path == PATH and response.status >= 400:
        # A page of elsewhere learns why it was refused: the words are no secret, and there is nothing else.
        response.headers.setdefault("Access-Control-Allow-Origin", "*")


def wire_limits(settings: LimitSettings) -> Limits:
    """The settings that bind a single connection, as its protocol wants them."""
    return Limits(
        message_bytes=settings.message_bytes,
        text_chars=settings.text_chars,
        streams=settings.streams_per_connection,
        messages_per_s=settings.messages_per_s,
        message_burst=settings.message_burst,
        uplink_s=settings.uplink_s,
        hello_s=settings.hello_timeout_s,
        idle_s=settings.idle_timeout_s,
        ping_s=settings.ping_s,
        hint_ms=settings.hint_ms,
    )


def _shown(voice: Voice) -> dict[str, Any]:
    return {"name": voice.name, "languages": voice.languages, "description": voice.description}


def _unauthorized(ticket: str | None) -> web.HTTPUnauthorized:
    words = (
        "an API key is needed: Authorization: Bearer <key>" if ticket is None else "the ticket is not good"
    )
    return web.HTTPUnauthorized(text=words + "\n", headers={"WWW-Authenticate": "Bearer"})


def _too_many(words: str, retry_after_s: float) -> web.HTTPTooManyRequests:
    return web.HTTPTooManyRequests(
        text=words + "\n", headers={"Retry-After": str(max(1, round(retry_after_s)))}
    )


def _unavailable(words: str, retry_after_s: float) -> web.HTTPServiceUnavailable:
    return web.HTTPServiceUnavailable(
        text=words + "\n", headers={"Retry-After": str(max(1, round(retry_after_s)))}
    )
