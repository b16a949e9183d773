"""
One connection: messages in, utterances behind, messages out.

What a message may do is decided by `wire.connection`, what speech is sent by the stream cores,
when bytes go by the outbox and the `pump`; here they meet. Everything runs on the event loop and
nothing waits.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from ..control.estimator import Estimate
from ..control.policy import Policy
from ..engine.base import Samples
from ..errors import AbrError, Queued, ResumeRefused, StreamError, Unauthorized, UnknownScript
from ..stream.terms import Terms
from ..wire import messages as m
from ..wire.connection import Connection
from .access.auth import Caller
from .load.easing import eased, notice
from .load.hints import Hints
from .pump import Pump
from .resume.resuming import is_lost, resumes
from .sending.line import Line
from .sending.outbox import Entry
from .sending.rest import Rest
from .shared import Shared
from .speech.conversion import Conversion
from .speech.reception import Accepted, receive
from .speech.uplinks import Uplinks
from .speech.utterance import Utterance
from .watching.logs import ids

log = logging.getLogger(__name__)

SAMPLE_EVERY_S = 0.1
"""Seconds between two looks at the kernel's queue while something is in it: as often as hints come."""

T = TypeVar("T")


class Session(Pump):
    """
    Args:
        line: what carries its messages.
        connection: its protocol, on the server's side.
        caller: who it is.
        shared: what all sessions share.
    """

    def __init__(self, line: Line, connection: Connection, caller: Caller, shared: Shared) -> None:
        super().__init__(line, connection, shared.services.metrics)
        self._shared = shared
        self._caller = caller
        self._services, self._resumption = shared.services, shared.resumption
        self._utterances: dict[str, Utterance] = {}
        self._uplinks = Uplinks(self, shared.services, shared.share, shared.references)
        self._meter = shared.quotas.meter(caller, self._loop.time())
        limits = shared.services.settings.limits
        self._hints = Hints(limits, self._hear, lambda: self._metrics.hit("hints_per_s"))
        self._active: set[str] = set()
        self._sent_bytes = self._received_bytes = 0
        self._sampler: asyncio.TimerHandle | None = None
        self._rest = Rest(self.probe, shared.memory, caller)

    # ------------------------------------------------------------ what may be seen

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

    # ------------------------------------------------------------ what the pump wants of it

    def _dispatch(self, message: m.Message, stream_id: str) -> None:
        utterance = self._utterances.get(stream_id)
        self._charge(message)
        match message:
            case m.Hello() if self._shared.draining():  # it came before, and was not told
                self.go_away(self._services.settings.server.drain_s)
            case m.StreamStart():
                self._start(message)
            case m.Attach():
                self._attach(message)
            case m.AudioStart():
                self._uplinks.start(message)
            case m.Pong():
                self._rest.answered(message.value)
            case _ if stream_id in self._uplinks:
                self._uplinks.take(stream_id, message)
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
                self._hints.take(stream_id, message)

    def _charge(self, message: m.Message) -> None:
        """Count a request and its text against the key's limits; raises what it is refused with."""
        now = self._loop.time()
        if isinstance(message, m.StreamStart | m.AudioStart):
            self._meter.request(len(message.text), now)
        elif isinstance(message, m.Text):
            self._meter.text(len(message.text), now)

    def _pace(self, now: float) -> None:
        slower = self._meter.slow_down(now, self._connection.message_room(now))
        if slower is not None and self._connection.peer is not None:
            self._connection.send(m.FlowControl(*slower))
            self._follow()

    def _hear(self, stream_id: str, hint: m.BitRateHint) -> None:
        utterance = self._utterances.get(stream_id)
        if utterance is not None:
            utterance.report(hint)
            self._heard_of(hint.received, utterance)

    def _heard_of(self, received: int, but: Utterance) -> None:
        """One stream's report tells every other one of the connection what has arrived."""
        if received > self._received_bytes:
            self._received_bytes = received
            for utterance in list(self._utterances.values()):
                if utterance is not but:
                    utterance.received(received)

    def _written(self, entry: Entry, at: float) -> None:
        self._room.set()
        self._sent_bytes += len(entry.data)
        self._metrics.sent_bytes.inc(len(entry.data))
        ended = entry.owner if isinstance(entry.message, m.StreamEnd) else None
        if isinstance(ended, Utterance) and ended.cancelled_at is not None:
            self._metrics.cancels.observe(at - ended.cancelled_at)
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
        self._metrics.outstanding_by_kernel.observe(sample.unacked_bytes + sample.user_bytes)
        for utterance in list(self._utterances.values()):
            utterance.sample(sample)
        if sample.unacked_bytes or sample.user_bytes:
            self._sampler = self._loop.call_later(SAMPLE_EVERY_S, self._sample)

    def _forget_all(self) -> None:
        lost = is_lost(self._connection.closed, self.last_fault, self._line.close_code)
        for utterance in list(self._utterances.values()):
            if lost and self._resumption.keeps(utterance.stream_id):
                self._resumption.put(utterance.stream_id, self._let_go(utterance))
            else:
                self._forget(utterance, "lost")
        for stream_id in self._uplinks.forget_all():
            self._leave(stream_id, "lost")
        if self._sampler:
            self._sampler.cancel()
        self._rest.end()

    # ------------------------------------------------------------ streams

    def _start(self, request: m.StreamStart) -> None:
        """Admit a stream and begin it; each refusal is one error of the tree."""
        patient = not request.open and self._shared.must_wait
        asked = self.admit(request.stream_id, lambda: self.receive(request), patient=patient)
        accepted, how = eased(asked, self._services.relief.step, patient=patient)
        voice, rung = accepted.voice, accepted.first
        carried = self._sent_bytes, self._known_received()
        handle = self.open_stream(request.stream_id, voice.name, voice.sample_rate, rung.codec, rung.name)
        if how:
            self._metrics.eased.labels(how).inc()
            self.fail(notice(how), request.stream_id)
        terms = self._terms(accepted)
        begun = Utterance(request, handle, voice, terms, self, self._services, patient=patient)
        self._begin(begun, *carried)

    def _begin(self, utterance: Utterance, sent: int, received: int) -> None:
        """First of all the engine; what is to be sent waits for this turn's end."""
        self._utterances[utterance.stream_id] = utterance
        if resumes(self._connection.peer):
            self._resumption.hold(utterance, self._caller, self)
        utterance.start(sent, received)

    def _attach(self, request: m.Attach) -> None:
        """A stream that another connection had goes on here; each refusal is one error of the tree."""
        held = self._resumption.claim(request, self._caller, self._connection.peer)
        utterance, active, warnings = held.utterance, held.active, held.warnings
        carried = self._sent_bytes, self._known_received()
        more, chars = utterance.text_so_far()
        handle = self._connection.start_stream(request.stream_id, more_text=more, chars=chars)
        self._resumption.attach(held, self, handle, request, self._recall(utterance.terms.policy))
        self._utterances[request.stream_id] = utterance
        self._active |= {request.stream_id} if active else set()
        voice, first = utterance.voice, utterance.terms.first
        of_it = voice.name, voice.sample_rate, 1, first.codec, first.name
        self._connection.send(m.StreamStarted(handle, request.stream_id, request.token, *of_it, chars))
        utterance.go_on(self, *carried)
        for names in warnings:
            self.warn_of_script(utterance, names)

    @property
    def caller(self) -> Caller:
        """Who it is."""
        return self._caller

    def dismiss(self, words: str) -> None:
        """Its right to be here has ended: close."""
        self.fail(Unauthorized(f"the connection is closed: {words}"), None)

    def move(self) -> None:
        """The server stops: the speech of whoever can go on elsewhere ends with a clause, if it is long."""
        if resumes(self._connection.peer):
            for utterance in list(self._utterances.values()):
                utterance.move()

    def lose(self, utterance: Utterance) -> bool:
        """Another connection takes a stream. Whether it is still being made."""
        self._outbox.discard(utterance)
        active = self._let_go(utterance)
        self.fail(ResumeRefused("the stream goes on at another connection"), utterance.stream_id)
        return active

    def _let_go(self, utterance: Utterance) -> bool:
        """The stream lives on without this connection. Whether it is still being made."""
        self._remember(utterance)
        del self._utterances[utterance.stream_id]
        self._hints.forget(utterance.stream_id)
        active = utterance.stream_id in self._active
        self._active.discard(utterance.stream_id)
        return active

    def _terms(self, accepted: Accepted) -> Terms:
        return replace(accepted.terms, remembered=self._recall(accepted.terms.policy))

    def _recall(self, policy: Policy | None) -> Estimate | None:
        """What is known of the link: from this connection's streams, or the client's earlier ones."""
        self._rest.end()
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

        While streams live their reports say it. Without any the kernel's word is taken, or, where it cannot
        be asked, that of whoever took the bytes: a speech that follows a cancelled one would wait for its
        own first report, and what may be on the way of the one before is little.
        """
        if not self._utterances:
            sample = self._outbox.sample()
            on_the_way = sample.unacked_bytes + sample.user_bytes if sample else 0
            self._received_bytes = max(self._received_bytes, self._sent_bytes - on_the_way)
        return min(self._received_bytes, self._sent_bytes)

    def _cancel(self, utterance: Utterance) -> None:
        """Of its speech nothing more than its end is handed on, and the engine is told to stop."""
        told = ids(utterance.stream_id, self._connection.session)
        log.debug("the stream is cancelled, %.1f s played", utterance.played_s, extra=told)
        self._outbox.discard(utterance)
        utterance.cancel()
        self._forget(utterance, "cancelled")

    def _forget(self, utterance: Utterance, reason: str) -> None:
        """The stream is over, for whatever reason: engine, core, timers and counts."""
        stream_id = utterance.stream_id
        self._remember(utterance)
        utterance.close(reason)
        del self._utterances[stream_id]
        self._leave(stream_id, reason)
        if utterance.terms.policy is not None and not (self._utterances or self._over):
            self._rest.begin(utterance.terms.policy)

    def _drop(self, stream_id: str, reason: str) -> None:
        """The same for a stream by its name; what waits of its speech is of no use any more."""
        if stream_id in self._utterances:
            self._outbox.discard(self._utterances[stream_id])
            self._forget(self._utterances[stream_id], reason)
        elif stream_id in self._uplinks:
            self._uplinks.forget(stream_id)
            self._leave(stream_id, reason)

    def _leave(self, stream_id: str, reason: str) -> None:
        """It takes no place any more; its id stays taken for a while."""
        self._hints.forget(stream_id)
        self._finish(stream_id)
        self._resumption.release(stream_id)
        self._shared.stream_ids.end(stream_id, self._loop.time())
        self._metrics.ended.labels(reason).inc()
        log.debug("the stream is over: %s", reason, extra=ids(stream_id, self._connection.session))

    def _finish(self, stream_id: str) -> None:
        if stream_id in self._active:
            self._active.remove(stream_id)
            self._shared.admission.finish()

    # ------------------------------------------------------------ what clips need (Uplinked)

    def admit(self, stream_id: str, accept: Callable[[], T], *, patient: bool = False) -> T:
        """Count a stream if `accept` takes it; its result, or one error of the tree."""
        accepted = self._shared.admit(stream_id, accept, self._loop.time(), patient=patient)
        self._active.add(stream_id)
        return accepted

    def receive(self, request: m.StreamStart) -> Accepted:
        """What a request for speech gets."""
        hello = self._connection.peer
        assert isinstance(hello, m.Hello)  # the connection lets nothing through before it
        return receive(request, hello, self._services.pool, self._shared.policies, self._caller)

    def open_stream(self, stream_id: str, voice: str, rate: int, codec: str, rung: str) -> int:
        """Tell that a stream has started; its handle."""
        handle = self._connection.start_stream(stream_id)
        token = self._resumption.token(stream_id)
        self._connection.send(m.StreamStarted(handle, stream_id, token, voice, rate, 1, codec, rung))
        self._metrics.started.inc()
        return handle

    def send(self, message: m.Message) -> None:
        """Write a message of a clip."""
        self._connection.send(message)
        self._follow()

    def convert(self, audio: Samples, request: m.StreamStart, handle: int, accepted: Accepted) -> None:
        """A clip is whole: speak."""
        carried = self._sent_bytes, self._known_received()
        terms = self._terms(accepted)
        self._begin(Conversion(audio, request, handle, accepted.voice, terms, self, self._services), *carried)
        self._follow()

    def settle_uplink(self, stream_id: str, reason: str) -> None:
        """A clip that led to no speech is over."""
        self._connection.release(stream_id)
        self._drop(stream_id, reason)

    # ------------------------------------------------------------ what utterances need (Link)

    def transmit(self, utterance: Utterance, message: m.Message) -> None:
        """Write a message of an utterance."""
        self._flush()
        self._connection.send(message)
        self._flush(utterance, message)

    def finished(self, utterance: Utterance) -> None:
        """It is made and sent, and takes no place any more."""
        self._finish(utterance.stream_id)

    def over(self, utterance: Utterance) -> None:
        """The listener has heard the end, or is not heard of any more."""
        self._connection.release(utterance.stream_id)
        self._forget(utterance, "done")

    def fault(self, utterance: Utterance, error: Exception) -> None:
        """An utterance failed; what waits of its speech is of no use any more."""
        self.fault_of(utterance.stream_id, error)

    def fault_of(self, stream_id: str, error: Exception) -> None:
        """The same, of a stream by its name."""
        if not isinstance(error, AbrError):
            of_it = ids(stream_id, self._connection.session)
            log.error("a fault of the server's own in a stream", exc_info=error, extra=of_it)
            error = StreamError("a fault of the server's own; it has been logged")
        if stream_id in self._utterances:
            self._outbox.discard(self._utterances[stream_id])
        self.fail(error, stream_id)

    def waits(self, utterance: Utterance, place: int, seconds: float) -> None:
        """The engine has no room for it yet; it begins in its turn."""
        words = f"the engine is busy: this stream is number {place} of those that wait"
        self.fail(Queued(words, retry_after=seconds, position=place), utterance.stream_id)

    def warn_of_script(self, utterance: Utterance, names: str) -> None:
        """Part of the text cannot be pronounced; the stream goes on."""
        words = f"the engine cannot pronounce {names}; that part of the text may be lost"
        self.fail(UnknownScript(words, scripts=names.split(", ")), utterance.stream_id)
