"""
The desk of a door: who comes in, and what may be asked for. Limits, keys, quotas, policies and counts are
those of the native door.
"""

from __future__ import annotations

import asyncio
import secrets
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any

from ...errors import AbrError, ShuttingDown, Unauthorized
from ..access.auth import Auth, Caller
from ..front import Front
from ..load.easing import eased
from ..load.hits import limit_of
from ..shared import Shared
from .asking import Ask, accept
from .speech import Line, Speech

DONE, LOST = 1000, 1006
"""How a visit ended, in close codes of the WebSocket: what the metrics of connections count by."""

WRONG_ORIGIN = "pages of this origin may not connect; see auth.origins"
"""What such a page is told."""


class Desk:
    """
    Args:
        front: the native door, which counts who comes in.
        auth: who may come in.
        shared: what all sessions share.
    """

    def __init__(self, front: Front, auth: Auth, shared: Shared) -> None:
        self.front, self.auth, self.shared = front, auth, shared
        self.services = shared.services
        self.settings = shared.services.settings

    def enter(
        self,
        headers: Mapping[str, str],
        address: str,
        *,
        ticket: str | None = None,
        origins: Collection[str] = (),
    ) -> Visit:
        """
        Count a client as a connection, until the visit is left.

        Args:
            headers: of the request, any case.
            address: of the peer.
            ticket: one of POST /v1/tickets, instead of a key.
            origins: that may come in besides those of the settings, in lower case.

        Raises:
            ShuttingDown, Unauthorized, Overloaded: then nothing is counted. A page of an origin that may
                not connect has `detail.http` 403.
        """
        try:
            if self.shared.draining():
                raise ShuttingDown("the server is stopping", retry_after=1.0)
            own = headers.get("Origin", "").rstrip("/").lower() in origins
            if not own and not self.auth.allows_origin(headers):
                origin = headers.get("Origin", "")
                self.auth.refused_pages.note(origin, asyncio.get_running_loop().time())
                raise Unauthorized(WRONG_ORIGIN, http=403)
            caller = self.front.enter(headers, ticket, address, secrets.token_hex(8))
        except AbrError as error:
            self.services.metrics.errors.labels(error.code).inc()
            raise
        return Visit(self, caller)


class Visit:
    """
    One client at a door: a request, or a connection with several. A context manager.

    To the server it is a session like any other, so its methods are those that `front.sessions` wants.
    """

    def __init__(self, desk: Desk, caller: Caller) -> None:
        self._desk, self._shared, self.caller = desk, desk.shared, caller
        self.session = caller.session
        """Its id, 16 hexadecimal digits."""
        self._loop = asyncio.get_running_loop()
        self.speeches: set[Speech] = set()
        """Those that are not over."""
        self.code = DONE
        """How it ends."""
        self._left = False
        self._ended: AbrError | None = None
        self.on_shut: Callable[[AbrError], None] = lambda error: None
        """Called when it must end now, with what its client is told."""
        self.on_going_away: Callable[[float], None] = lambda seconds: None
        """Called when the server drains, with the seconds that are left."""
        self._meter = self._shared.quotas.meter(caller, self._loop.time())
        desk.front.sessions[self] = asyncio.current_task()

    def open(self, ask: Ask, line: Line | None = None) -> Speech:
        """
        Begin a speech.

        Args:
            ask: what is wanted.
            line: what carries its packets, for `Ask.opus`.

        Raises:
            AbrError: RateLimited, Busy, EmptyText, UnknownVoice and others, and what it must go for; then
                nothing has begun.
        """
        try:
            return self._open(ask, line)
        except AbrError as error:
            self.note(error)
            raise

    def _open(self, ask: Ask, line: Line | None) -> Speech:
        if self._ended is not None:
            raise self._ended
        shared, now, stream_id = self._shared, self._loop.time(), str(uuid.uuid4())
        self._meter.request(len(ask.text), now)
        pool, policies = shared.services.pool, shared.policies
        patient = ask.whole and shared.must_wait
        asked = shared.admit(
            stream_id, lambda: accept(ask, pool, policies, self.caller), now, patient=patient
        )
        accepted, how = eased(asked, shared.services.relief.step, patient=patient)
        if accepted.terms.policy is not None and line is not None:
            remembered = shared.memory.recall(accepted.terms.policy, self.caller, now)
            accepted = replace(accepted, terms=replace(accepted.terms, remembered=remembered))
        metrics = shared.services.metrics
        metrics.started.inc()
        if how:
            metrics.eased.labels(how).inc()
        speech = Speech(stream_id, ask, accepted, shared, self.caller, self._meter, line, self._over, patient)
        self.speeches.add(speech)
        speech.start()
        return speech

    def note(self, error: AbrError) -> None:
        """Count an error that the client is told."""
        metrics = self._shared.services.metrics
        metrics.errors.labels(error.code).inc()
        if limit := limit_of(error):
            metrics.hit(limit)

    def _over(self, speech: Speech, reason: str) -> None:
        self.speeches.discard(speech)
        self._shared.services.metrics.ended.labels(reason).inc()

    def leave(self) -> None:
        """It is over; so is what it had begun. Twice is once."""
        if self._left:
            return
        self._left = True
        for speech in list(self.speeches):
            speech.close("lost")
        del self._desk.front.sessions[self]
        self._desk.front.leave(self.caller, self.code)

    def __enter__(self) -> Visit:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        answered = kind is None or issubclass(kind, AbrError)
        if not answered and self.code == DONE:
            self.code = LOST
        self.leave()

    # ------------------------------------------------------------ what the server wants of it

    @property
    def outstanding_bytes(self) -> int:
        """Bytes on their way to this client."""
        return max((one.utterance.core.outstanding for one in self.speeches), default=0)

    def count(self, states: dict[str, int]) -> None:
        """Add its speeches to a count by state."""
        for speech in self.speeches:
            states[speech.utterance.state] += 1

    def told(self) -> list[dict[str, Any]]:
        """What an operator is shown of its speeches."""
        return [speech.utterance.told() for speech in self.speeches]

    def go_away(self, deadline_s: float) -> None:
        """The server drains."""
        self.on_going_away(deadline_s)

    def move(self) -> None:
        """Its speeches cannot go on elsewhere, for its client knows no resuming: they go on here."""

    def dismiss(self, words: str) -> None:
        """Its key or token is no longer good: what it has begun fails, and nothing more begins."""
        self._end(Unauthorized(f"the connection is closed: {words}"))

    def shut(self) -> None:
        """The server stops now."""
        self._end(ShuttingDown("the server is stopping; connect again", retry_after=1.0))

    def _end(self, error: AbrError) -> None:
        self._ended, self.code = error, error.close
        for speech in list(self.speeches):
            speech.fail(error)
        self.on_shut(error)
