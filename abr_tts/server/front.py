"""
The front door: what the server answers to HTTP, and how a request becomes a session.

Everything that can be refused before a WebSocket exists is refused here with an HTTP status,
which any client and proxy understands: 400 wrong protocol, 401 key, 403 page, 429 too many of one key, 503
full or stopping.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from aiohttp import web

from .. import __version__
from ..engine.base import Voice
from ..errors import AbrError, Overloaded, Unauthorized
from ..wire.codec import Codec
from ..wire.connection import Connection
from ..wire.limits import Limits
from .access.auth import Auth, Caller
from .access.proxies import Proxies
from .access.ticketing import Ticketing
from .config import LimitSettings
from .guest import Guest
from .load.hits import limit_of
from .rollout.rollout import Rollout
from .sending.line import Line, WebSocketLine
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


NO_KEY, BAD_TICKET = "an API key is needed: Authorization: Bearer <key>", "the ticket is not good"
"""What whoever may not come in is told."""


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
        self._proxies = Proxies(self._settings.server.trusted_proxies)
        self.sessions: dict[Guest, asyncio.Task[Any] | None] = {}
        """Every open session and visit at another door, with the task that serves it."""
        self.app = web.Application()
        self.app.on_response_prepare.append(_guard)
        self.app.router.add_get(PATH, self._stream)
        patience_s = self._settings.limits.hello_timeout_s
        Ticketing(auth, self.admit, self._services.metrics.hit, patience_s).add_to(self.app.router)
        self.app.router.add_get("/healthz", self._healthz)
        self.app.router.add_get("/readyz", self._readyz)
        self.app.router.add_get("/metrics", self._metrics)
        self._watch()

    # ------------------------------------------------------------ for machines that watch

    async def _healthz(self, request: web.Request) -> web.Response:
        """The process lives."""
        return web.json_response({"status": "ok", "version": __version__}, dumps=_line)

    async def _readyz(self, request: web.Request) -> web.Response:
        """
        Whether a new stream would be taken; 503 while the engine loads, and while stopping.

        A bad policy file is told and no reason to say no: the good one before it is in use.
        """
        stats, ready = self._services.pool.stats, self.ready
        detail = {
            "ready": ready,
            "draining": self.draining,
            "engine": self._settings.engine.kind,
            "workers": stats.size,
            "workers_ready": stats.ready,
            "clauses_waiting": stats.waiting,
            "loading": self._loading(),
            "connections": self._shared.admission.connections,
            "streams": self._shared.admission.streams,
            **self._rollout.summary(),
        }
        return web.json_response(detail, status=200 if ready else 503, dumps=_line)

    @property
    def draining(self) -> bool:
        """Whether the server stops: it takes nobody in any more."""
        return self._shared.draining()

    @property
    def ready(self) -> bool:
        """What /readyz says."""
        return self._services.pool.stats.ready > 0 and not self.draining

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
        # No WebSocket heartbeat of ours: clients ping by the protocol, which also measures their round
        # trip, is answered at once, and keeps both directions of a proxy alive; `idle_s` does the rest.
        limits = self._settings.limits
        socket = web.WebSocketResponse(
            protocols=(SUBPROTOCOL,),
            compress=False,  # a browser offers deflate; Opus does not shrink, and memory would grow
            max_msg_size=limits.message_bytes + OVERSIZE_BYTES,
            timeout=limits.close_timeout_s,
        )
        connection = self.connection(name)
        try:
            await socket.prepare(request)
            if request.transport is not None:  # it did not leave while we greeted
                line = WebSocketLine(socket, request.transport, limits.close_timeout_s)
                await self.serve(line, connection, caller)
        except ConnectionResetError:
            log.debug("session %s was cut while we greeted", name)
        finally:
            # Ours first, where it was we who closed: the peer echoes what it likes.
            self.leave(caller, connection.close_code or socket.close_code or 1006)
        return socket

    def _enter(self, request: web.Request, name: str) -> Caller:
        """
        See `enter`.

        Raises:
            HTTPException: 401, 429 or 503; then nothing is counted.
        """
        ticket = request.query.get("ticket")
        try:
            return self.enter(request.headers, ticket, request.remote or "", name)
        except Unauthorized:
            raise _unauthorized(ticket) from None
        except Overloaded as error:
            of_key = error.detail.get("name") == "connections_per_key"
            refuse = _too_many if of_key else _unavailable
            raise refuse(error.message, error.retry_after or 1.0) from None

    # ------------------------------------------------------------ for every door of the protocol

    def enter(self, headers: Mapping[str, str], ticket: str | None, address: str, name: str) -> Caller:
        """
        Count a connection: who comes, as the session of this name. A ticket is used up. `leave` later.

        Args:
            address: of the peer; where that is a proxy that is trusted, its headers tell whose counts.

        Raises:
            Unauthorized, Overloaded: then nothing is counted.
        """
        metrics, now = self._services.metrics, asyncio.get_running_loop().time()
        try:
            self._shared.admission.connect()
        except Overloaded:
            metrics.hit("connections")
            raise
        try:
            of_whom = self._proxies.address(address, headers)
            caller = self._auth.enter(headers, ticket, of_whom, name, now)
            if caller is None:
                raise Unauthorized(NO_KEY if ticket is None else BAD_TICKET)
            self._shared.quotas.connect(caller)
            self._auth.use_up(headers, ticket, now)
        except AbrError as error:
            self._shared.admission.disconnect()
            if limit := limit_of(error):
                metrics.hit(limit)
            raise
        metrics.opened.inc()
        self._services.tracing.came(headers)
        return caller

    def leave(self, caller: Caller, code: int) -> None:
        """A connection that `enter` has counted is over, with this close code."""
        self._shared.admission.disconnect()
        self._shared.quotas.disconnect(caller, asyncio.get_running_loop().time())
        self._services.metrics.closed.labels(code if code in CLOSE_CODES else "other").inc()

    def connection(self, name: str, codec: Codec | None = None) -> Connection:
        """The protocol of a session of this name, in these bytes."""
        now = asyncio.get_running_loop().time()
        server = f"abr-tts/{__version__}"
        return Connection("server", now, self._limits, session=name, server=server, codec=codec)

    async def serve(self, line: Line, connection: Connection, caller: Caller) -> AbrError | None:
        """One session, from its first message to its goodbye; the last fault that its peer was told of."""
        name = caller.session
        session = Session(line, connection, caller, self._shared)
        self.sessions[session] = asyncio.current_task()
        with of_session(name):
            log.debug("session %s opens from %s", name, caller.address)
            try:
                await session.run()
            except Exception:
                log.exception("session %s failed", name)
            finally:
                del self.sessions[session]
                log.debug("session %s is over", name)
        return session.last_fault

    def admit(self, request: web.Request) -> None:
        """
        Refuse whoever may not speak here: a page of elsewhere, a missing key, anybody while it stops.

        Raises:
            HTTPException: with the status and the words for it.
        """
        if self._shared.draining():
            raise _unavailable("the server is stopping", 1.0)
        if not self._auth.allows_origin(request.headers):
            self._auth.refused_pages.note(
                request.headers.get("Origin", ""), asyncio.get_running_loop().time()
            )
            raise _refusal(web.HTTPForbidden, "pages of this origin may not connect; see auth.origins")
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
            words = f"this is a WebSocket with the subprotocol {SUBPROTOCOL}"
            raise _refusal(web.HTTPUpgradeRequired, words, {"Upgrade": "websocket"})
        offered = request.headers.get("Sec-WebSocket-Protocol", "").split(",")
        if SUBPROTOCOL not in (item.strip() for item in offered):
            raise _refusal(web.HTTPBadRequest, f"the client must offer the subprotocol {SUBPROTOCOL}")


async def _guard(request: web.Request, response: web.StreamResponse) -> None:
    """Headers of every answer that has none of its own: nothing here is for a browser to run or to frame."""
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    response.headers.setdefault("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
    if request.path == PATH and response.status >= 400:
        # A page of elsewhere learns why it was refused: the words are no secret, and there is nothing else.
        response.headers.setdefault("Access-Control-Allow-Origin", "*")


def _line(value: Any) -> str:
    """JSON for terminals, too."""
    return json.dumps(value) + "\n"


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


def _unauthorized(ticket: str | None) -> web.HTTPException:
    words = NO_KEY if ticket is None else BAD_TICKET
    return _refusal(web.HTTPUnauthorized, words, {"WWW-Authenticate": "Bearer"})


def _too_many(words: str, retry_after_s: float) -> web.HTTPException:
    return _refusal(web.HTTPTooManyRequests, words, {"Retry-After": str(max(1, round(retry_after_s)))})


def _unavailable(words: str, retry_after_s: float) -> web.HTTPException:
    return _refusal(web.HTTPServiceUnavailable, words, {"Retry-After": str(max(1, round(retry_after_s)))})


def _refusal(
    kind: type[web.HTTPException], words: str, headers: Mapping[str, str] | None = None
) -> web.HTTPException:
    """A refusal in JSON, as everything beside it answers: `{"error": …}`."""
    return kind(text=_line({"error": words}), content_type="application/json", headers=headers)
