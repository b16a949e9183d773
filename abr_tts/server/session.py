"""
One WebSocket: messages in, utterances behind, messages out. The pump.

What a message may do is decided by `wire.connection`, what speech is sent by the stream cores,
when bytes go by the outbox; here they meet. Everything runs on the event loop and nothing waits:
after each event the events of the connection are taken, then what it has to send, then its timer.
All faults are told in one place, `fail`.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from aiohttp import WSMsgType, web

from ..control.estimator import Estimate
from ..control.policy import Policy
from ..errors import (
    NOTHING,
    AbrError,
    Busy,
    Internal,
    ResumeLost,
    StreamError,
    UnknownScript,
    Unsupported,
)
from ..wire import messages as m
from ..wire.connection import Connection, Failed, Received
from .auth import Caller
from .limits import Admission, StreamIds
from .outbox import Entry, Outbox
from .policies import LinkMemory, Policies
from .reception import Accepted, receive
from .utterance import Services, Utterance

log = logging.getLogger(__name__)

SAMPLE_EVERY_S = 0.1
"""Seconds between two looks at the kernel's queue while something is in it: as often as hints come."""

TOKEN_BYTES = 16
"""Random bytes in a stream's token, which later attaches to it: 128 bits cannot be guessed."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What all sessions of a server share."""

    services: Services
    admission: Admission
    stream_ids: StreamIds
    policies: Policies
    memory: LinkMemory
    draining: Callable[[], bool]


class Session:
    """
    Args:
        socket: the WebSocket, prepared.
        transport: its transport.
        connection: its protocol, on the server's side.
        caller: who it is.
        shared: what all sessions share.
    """

    def __init__(
        self,
        socket: web.WebSocketResponse,
        transport: asyncio.Transport,
        connection: Connection,
        caller: Caller,
        shared: Shared,
    ) -> None:
        self._socket, self._connection, self._shared = socket, connection, shared
        self._caller = caller
        self._services = shared.services
        self._metrics = shared.services.metrics
        self._loop = asyncio.get_running_loop()
        self._utterances: dict[str, Utterance] = {}
        self._active: set[str] = set()
        self._outbox = Outbox(
            socket, transport, self._written, self._services.settings.limits.close_timeout_s
        )
        self._sent_bytes = self._received_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._sampler: asyncio.TimerHandle | None = None

    # ------------------------------------------------------------ life

    async def run(self) -> None:
        """Serve until the peer or we close. Whatever happens, nothing of it stays."""
        try:
            self._follow()
            await self._read()
        finally:
            self._forget_all()
            self._outbox.close(self._connection.close_code or 1000, self._connection.close_reason)
            await self._outbox.wait_closed()

    async def _read(self) -> None:
        while True:
            message = await self._socket.receive()
            if message.type not in (WSMsgType.BINARY, WSMsgType.TEXT):
                return
            self._connection.receive(message.data, self._loop.time())
            self._settle()

    def go_away(self, deadline_s: float) -> None:
        """Tell the peer that the server drains."""
        if self._connection.peer is not None:
            self._connection.send(m.GoingAway(round(deadline_s * 1000), "the server is stopping"))
            self._follow()

    def shut(self) -> None:
        """Close now, because the server stops."""
        self._connection.close(1012, "the server is stopping")
        self._follow()

    @property
    def active(self) -> int:
        """Streams that are being made or sent."""
        return len(self._active)

    def count(self, states: dict[str, int]) -> None:
        """Add this session's utterances to a count by state."""
        for utterance in self._utterances.values():
            states[utterance.state] += 1

    def told(self) -> list[dict[str, Any]]:
        """What an operator is shown of its utterances."""
        return [utterance.told() for utterance in self._utterances.values()]

    @property
    def outstanding_bytes(self) -> int:
        """Bytes on their way to this client, by its own reports or the kernel's count."""
        return max((u.core.outstanding for u in self._utterances.values()), default=0)

    def _forget_all(self) -> None:
        for utterance in list(self._utterances.values()):
            self._forget(utterance, "lost")
        for timer in (self._timer, self._sampler):
            if timer:
                timer.cancel()

    # ------------------------------------------------------------ the pump

    def _settle(self) -> None:
        """After any event: what happened, then what comes of it."""
        for event in self._connection.events_received():
            if isinstance(event, Failed):
                self._count_error(event.error)
                if event.scope != NOTHING and event.stream_id in self._utterances:
                    utterance = self._utterances[event.stream_id]
                    self._outbox.discard(utterance)
                    self._forget(utterance, event.error.code)
            else:
                self._take(event)
        self._follow()

    def _follow(self) -> None:
        """What the connection has to send, whether it is over, when to look again."""
        self._flush()
        if self._connection.closed:
            self._outbox.close(self._connection.close_code or 1000, self._connection.close_reason)
        self._arm()

    def _take(self, event: Received) -> None:
        try:
            self._dispatch(event.message, event.stream_id or "")
        except Exception as error:
            self.fail(error, event.stream_id)

    def _dispatch(self, message: m.Message, stream_id: str) -> None:
        utterance = self._utterances.get(stream_id)
        match message:
            case m.StreamStart():
                self._start(message)
            case m.Attach():
                raise ResumeLost("this server does not hold streams whose connection was lost")
            case m.AudioStart():
                raise Unsupported("this server's engine takes no audio")
            case _ if utterance is None:
                return  # hello, or a message that crossed the stream's end
            case m.Text():
                utterance.add_text(message.text)
            case m.TextEnd():
                utterance.end_text()
            case m.Cancel():
                self._cancel(utterance)
            case m.Pause():
                utterance.pause()
            case m.Resume():
                utterance.resume()
            case m.BitRateHint():
                utterance.report(message)
                self._heard_of(message.received, utterance)

    def _heard_of(self, received: int, but: Utterance) -> None:
        """One stream's report tells every other one of the connection what has arrived."""
        if received > self._received_bytes:
            self._received_bytes = received
            for utterance in list(self._utterances.values()):
                if utterance is not but:
                    utterance.received(received)

    def fail(self, error: Exception, stream_id: str | None) -> None:
        """Tell the peer of a fault, and end what it ends. Every error of a session comes here."""
        if not isinstance(error, AbrError):
            log.error("a fault of the server's own", exc_info=error)
            error = Internal("a fault of the server's own; it has been logged")
        self._count_error(error)
        self._connection.fail(error, stream_id)
        if error.scope != NOTHING and stream_id in self._utterances:
            self._forget(self._utterances[stream_id], error.code)
        self._follow()

    def _count_error(self, error: AbrError) -> None:
        self._metrics.errors.labels(error.code).inc()

    def _flush(self, owner: Utterance | None = None, message: m.Message | None = None) -> None:
        for data in self._connection.data_to_send():
            self._outbox.put(Entry(data, owner, message))

    def _written(self, entry: Entry, at: float) -> None:
        self._sent_bytes += len(entry.data)
        self._metrics.sent_bytes.inc(len(entry.data))
        for utterance in list(self._utterances.values()):
            utterance.written(entry, at)
        if self._sampler is None and self._utterances:
            self._sampler = self._loop.call_later(SAMPLE_EVERY_S, self._sample)

    def _sample(self) -> None:
        """The kernel's count to every core, again and again until it is 0."""
        self._sampler = None
        sample = self._outbox.sample()
        if sample is None or not self._utterances:
            return
        for utterance in list(self._utterances.values()):
            utterance.sample(sample)
        if sample.unacked_bytes or sample.user_bytes:
            self._sampler = self._loop.call_later(SAMPLE_EVERY_S, self._sample)

    def _arm(self) -> None:
        if self._timer:
            self._timer.cancel()
        due = self._connection.get_timer()
        self._timer = None if due is None else self._loop.call_at(due, self._on_timer)

    def _on_timer(self) -> None:
        self._connection.handle_timer(self._loop.time())
        self._settle()

    # ------------------------------------------------------------ streams

    def _start(self, request: m.StreamStart) -> None:
        """Admit a stream and begin it; each refusal is one error of the tree."""
        pool, shared = self._services.pool, self._shared
        hello = self._connection.peer
        assert isinstance(hello, m.Hello)  # the connection lets nothing through before it
        if shared.draining():
            raise Busy("the server is stopping; connect again", retry_after=0.0)
        shared.admission.start(workers_ready=pool.ready, clauses_waiting=pool.waiting)
        try:
            accepted = receive(request, hello, pool, shared.policies, self._caller)
            shared.stream_ids.claim(request.stream_id, self._loop.time())
        except AbrError:
            shared.admission.finish()
            raise
        self._active.add(request.stream_id)
        self._begin(request, accepted)

    def _begin(self, request: m.StreamStart, accepted: Accepted) -> None:
        voice, rung = accepted.voice, accepted.first
        sent, received = self._sent_bytes, self._known_received()
        handle = self._connection.start_stream(request.stream_id)
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self._connection.send(
            m.StreamStarted(
                handle, request.stream_id, token, voice.name, voice.sample_rate, 1, rung.codec, rung.name
            )
        )
        terms = replace(accepted.terms, remembered=self._recall(accepted.terms.policy))
        utterance = Utterance(request, handle, voice, terms, self, self._services)
        self._utterances[request.stream_id] = utterance
        utterance.start(
            sent, received
        )  # first of all the engine; what is to be sent waits for this turn's end
        self._metrics.started.inc()

    def _recall(self, policy: Policy | None) -> Estimate | None:
        """What is known of the link: from this connection's streams, or the client's earlier ones."""
        if policy is None:
            return None
        for utterance in self._utterances.values():
            self._remember(utterance)
        return self._shared.memory.recall(policy, self._caller, self._loop.time())

    def _remember(self, utterance: Utterance) -> None:
        policy = utterance.terms.policy
        if policy is not None:
            self._shared.memory.keep(policy, self._caller, utterance.estimate())

    def _known_received(self) -> int:
        """
        Bytes of this connection that the client has, before it first reports on a new stream.

        While streams live their reports say it. Without any the kernel's word is taken, or a speech
        that follows a cancelled one would wait for its own first report.
        """
        sample = None if self._utterances else self._outbox.sample()
        if sample:
            acknowledged = self._sent_bytes - sample.unacked_bytes - sample.user_bytes
            self._received_bytes = max(self._received_bytes, acknowledged)
        return min(self._received_bytes, self._sent_bytes)

    def _cancel(self, utterance: Utterance) -> None:
        self._outbox.discard(utterance)
        utterance.cancel()
        self._forget(utterance, "cancelled")

    def _forget(self, utterance: Utterance, reason: str) -> None:
        """The stream is over, for whatever reason: engine, core, timers and counts."""
        stream_id = utterance.stream_id
        self._remember(utterance)
        utterance.close(reason)
        del self._utterances[stream_id]
        self.finished(utterance)
        self._shared.stream_ids.end(stream_id, self._loop.time())
        self._metrics.ended.labels(reason).inc()

    # ------------------------------------------------------------ what utterances need (Link)

    def transmit(self, utterance: Utterance, message: m.Message) -> None:
        """Write a message of an utterance."""
        self._flush()
        self._connection.send(message)
        self._flush(utterance, message)

    def finished(self, utterance: Utterance) -> None:
        """It is made and sent, and takes no place any more."""
        if utterance.stream_id in self._active:
            self._active.remove(utterance.stream_id)
            self._shared.admission.finish()

    def over(self, utterance: Utterance) -> None:
        """The listener has heard the end, or is not heard of any more."""
        self._connection.release(utterance.stream_id)
        self._forget(utterance, "done")

    def fault(self, utterance: Utterance, error: Exception) -> None:
        """An utterance failed; what waits of its speech is of no use any more."""
        if not isinstance(error, AbrError):
            log.error("a fault of the server's own in a stream", exc_info=error)
            error = StreamError("a fault of the server's own; it has been logged")
        self._outbox.discard(utterance)
        self.fail(error, utterance.stream_id)

    def warn_of_script(self, utterance: Utterance, names: str) -> None:
        """Part of the text cannot be pronounced; the stream goes on."""
        words = f"the engine cannot pronounce {names}; that part of the text may be lost"
        self.fail(UnknownScript(words, scripts=names.split(", ")), utterance.stream_id)
