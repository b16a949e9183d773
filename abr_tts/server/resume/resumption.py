"""
Streams that outlive their connection: who may go on with one, who has it, where it is meanwhile.

One object a server. A stream is known here from its start if its client can resume (level 2); what the
connection lost, `Resumption` keeps: it is the stream's `Link` then, the engine goes on to its limit and
nothing is sent. How many and how long is the `shelf`'s affair, how an attach is answered a session's.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import logging
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from ...control.estimator import Estimate
from ...errors import AbrError, ResumeLost, ResumeRefused, StreamError
from ...wire import messages as m
from ..access.auth import Caller
from ..config import ResumeSettings
from ..load.limits import Admission, StreamIds
from ..speech.utterance import Utterance
from ..watching.logs import ids
from ..watching.metrics import Metrics
from .resuming import LEVEL, resumes
from .shelf import Shelf

log = logging.getLogger(__name__)

TOKEN_BYTES = 16
"""Bytes of a stream's token: 128 bits cannot be guessed."""

LOOK_EVERY_S = 1.0
"""Seconds between two looks at what the shelf holds, which grows until the engine is at its limit."""

STOP = "stop"
"""Why a stream had to go when the server stops, beside the limits of the shelf."""


class Holder(Protocol):
    """The connection that has a stream."""

    def lose(self, utterance: Utterance) -> bool:
        """Another connection takes it: tell the peer so, and forget it. Whether it is still being made."""


@dataclass(slots=True)
class Held:
    """A stream that may be resumed. `holder` is None while it lies on the shelf."""

    utterance: Utterance
    key: str
    holder: Holder | None
    active: bool = False
    """On the shelf: it is still being made, and counts as such."""
    fault: AbrError | None = None
    """On the shelf: it failed; whoever attaches is told."""
    warnings: list[str] = field(default_factory=list)
    """On the shelf: scripts that could not be pronounced; whoever attaches is told."""

    @property
    def held_bytes(self) -> int:
        """Bytes of sound and packets."""
        return 0 if self.fault else self.utterance.held_bytes


class Resumption:
    """
    Args:
        settings: of the shelf.
        admission: counts what is being made, with a connection or without.
        stream_ids: which are taken.
        metrics: of the server.
        draining: whether the server stops: then nothing is kept.
    """

    def __init__(
        self,
        settings: ResumeSettings,
        admission: Admission,
        stream_ids: StreamIds,
        metrics: Metrics,
        draining: Callable[[], bool],
    ) -> None:
        self._settings, self._admission, self._stream_ids = settings, admission, stream_ids
        self._metrics, self._draining = metrics, draining
        self._secret = secrets.token_bytes(32)
        self._held: dict[str, Held] = {}
        self.shelf: Shelf[Held] = Shelf(settings)
        self._timer: asyncio.TimerHandle | None = None
        metrics.watch("detached_streams", "Streams held without a connection", lambda: len(self.shelf))
        metrics.watch("detached_bytes", "What they hold", lambda: self.shelf.held_bytes)

    def token(self, stream_id: str) -> str:
        """Proves the right to a stream: this server's word for its id, which nobody else can say."""
        digest = hmac.digest(self._secret, stream_id.encode(), hashlib.sha256)
        return base64.urlsafe_b64encode(digest[:TOKEN_BYTES]).decode().rstrip("=")

    @property
    def detached(self) -> Iterator[Utterance]:
        """The streams without a connection that live."""
        return (one.utterance for one in self._held.values() if one.holder is None and one.fault is None)

    # ------------------------------------------------------------ what sessions do with it

    def hold(self, utterance: Utterance, caller: Caller, holder: Holder) -> None:
        """A stream of a client that can resume has begun."""
        if self._settings.window_s:
            self._held[utterance.stream_id] = Held(utterance, caller.key_digest, holder)

    def release(self, stream_id: str) -> None:
        """It is over."""
        self._held.pop(stream_id, None)

    def keeps(self, stream_id: str) -> bool:
        """Whether it is to be put on the shelf when its connection is lost."""
        return stream_id in self._held and not self._draining()

    def put(self, stream_id: str, active: bool) -> None:
        """Its connection is lost, and does not know it any more."""
        held = self._held[stream_id]
        held.holder, held.active = None, active
        now = asyncio.get_running_loop().time()
        self.shelf.put(stream_id, held, now)
        held.utterance.detach(self)
        log.debug("the stream has lost its connection", extra=ids(stream_id))
        self._sweep()

    def claim(self, request: m.Attach, caller: Caller, hello: object) -> Held:
        """
        The stream that a connection asks for; it lies on the shelf then, wherever it was.

        Raises:
            ResumeLost: it is not held any more, or never was.
            ResumeRefused: not the token or not the API key that it was started with, or a `hello` of a level
                that does not resume.
            StreamError: the fault that it has ended with meanwhile.
        """
        if not resumes(hello):
            raise self._count(ResumeRefused(f"attach is for clients whose hello said level {LEVEL}"))
        self._sweep()  # a window that has passed by now is over, whenever the timer comes
        held = self._held.get(request.stream_id)
        if held is None:
            raise self._count(ResumeLost("the stream is not held any more; ask again for what is left of it"))
        token, key = self.token(request.stream_id), held.key
        given = request.token.encode("utf-8", "surrogatepass"), caller.key_digest.encode()
        fits = hmac.compare_digest(given[0], token.encode()), hmac.compare_digest(given[1], key.encode())
        if not all(fits):
            raise self._count(ResumeRefused("another token or key than the stream was started with"))
        if held.fault is not None:
            self._drop(held, held.fault.code)
            raise held.fault
        if held.holder is not None:
            self.put(request.stream_id, held.holder.lose(held.utterance))
            if request.stream_id not in self.shelf:
                raise self._count(ResumeLost("the stream was too much to be held"))
        return held

    def attach(
        self, held: Held, holder: Holder, handle: int, request: m.Attach, known: Estimate | None
    ) -> None:
        """
        It goes on at another connection, the holder's, under this handle.

        Raises:
            ResumeLost: what its listener lacks is not held any more; it stays on the shelf.
        """
        try:
            held.utterance.attach(handle, request, known)
        except ResumeLost as error:
            raise self._count(error) from None
        self.shelf.take(held.utterance.stream_id)
        held.holder, held.active, held.warnings = holder, False, []
        self._metrics.resumes.labels("resumed").inc()

    def clear(self) -> None:
        """The server stops: nobody can come back for them."""
        for held in [one for one in self._held.values() if one.holder is None]:
            self._drop(held, "lost", STOP)
        if self._timer:
            self._timer.cancel()

    def _count(self, error: AbrError) -> AbrError:
        self._metrics.resumes.labels("lost" if isinstance(error, ResumeLost) else "refused").inc()
        return error

    # ------------------------------------------------------------ what utterances need (Link)

    def transmit(self, utterance: Utterance, message: m.Message) -> None:
        """Nothing is sent: it is told again after an attach, from what the core keeps."""

    def finished(self, utterance: Utterance) -> None:
        """It is made, and takes no place among those that are."""
        self._finish(self._held[utterance.stream_id])

    def over(self, utterance: Utterance) -> None:
        """Nobody waits for it."""
        self._drop(self._held[utterance.stream_id], "done")

    def fault(self, utterance: Utterance, error: Exception) -> None:
        """It failed: the engine is free, and whoever attaches is told."""
        held = self._held[utterance.stream_id]
        if not isinstance(error, AbrError):
            words = "a fault of the server's own in a stream without a connection"
            log.error(words, exc_info=error, extra=ids(utterance.stream_id))
            error = StreamError("a fault of the server's own; it has been logged")
        held.fault = error
        utterance.close(error.code)
        self._finish(held)

    def waits(self, utterance: Utterance, place: int, seconds: float) -> None:
        """Nobody is there to be told."""

    def warn_of_script(self, utterance: Utterance, names: str) -> None:
        """To be told later."""
        self._held[utterance.stream_id].warnings.append(names)

    # ------------------------------------------------------------ the shelf

    def _finish(self, held: Held) -> None:
        if held.active:
            held.active = False
            self._admission.finish()

    def _drop(self, held: Held, reason: str, limit: str | None = None) -> None:
        """The stream is over; `limit` is what it had to go for, if it was that."""
        stream_id = held.utterance.stream_id
        self.shelf.take(stream_id)
        self._held.pop(stream_id, None)
        held.utterance.close(reason)
        self._finish(held)
        self._stream_ids.end(stream_id, asyncio.get_running_loop().time())
        self._metrics.ended.labels(reason).inc()
        if limit:
            log.debug("the stream is held no longer: %s", limit, extra=ids(stream_id))
            self._metrics.unresumed.labels(limit).inc()

    def _sweep(self) -> None:
        """Let go of what has been kept for its time, or is too much; look again in a while."""
        loop = asyncio.get_running_loop()
        for held, limit in self.shelf.sweep(loop.time()):
            self._drop(held, "lost", limit)
        if self._timer:
            self._timer.cancel()
        due = self.shelf.due
        self._timer = None
        if due is not None:
            self._timer = loop.call_at(min(due, loop.time() + LOOK_EVERY_S), self._sweep)
