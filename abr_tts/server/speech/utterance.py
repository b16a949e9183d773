"""
One utterance on the server: text in, clauses to the engine, its speech to the core, the core's
work to the threads and its messages to the connection.

It runs on the event loop alone and takes no lock. What arrives becomes an input of the core,
one at a time, and after each the core is drained: the core's law. It knows neither the socket
nor the other utterances; what it needs of its connection stands in `Link`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import replace
from typing import Any

from ... import __version__
from ...control.estimator import Estimate
from ...control.memory import Remembers
from ...engine.base import Samples, Voice
from ...engine.text import Clauser
from ...errors import AbrError, Busy, EmptyText, EngineError
from ...stream.core import CoreSetup, StreamCore
from ...stream.outputs import (
    Clamped,
    Credit,
    Drained,
    Encode,
    Finished,
    Notice,
    Opened,
    Switched,
    Transmit,
)
from ...stream.pacer import KernelSample
from ...stream.recorder import RecordedCore
from ...stream.setup import Attachment
from ...stream.terms import Terms
from ...units import ticks_to_seconds
from ...wire.messages import MOVED, Attach, Audio, BitRateHint, Message, StreamEnd, StreamStart
from ..sending.outbox import Entry
from .account import Account
from .coding import Coding
from .hoard import Hoard, Input
from .reading import Reading
from .saying import Saying
from .surroundings import Link, Services

WAITING, SPEAKING, FINISHING = "waiting", "speaking", "finishing"
"""No audio yet; audio is being made or sent; all is sent, and the listener plays on."""


class Utterance:
    """
    Args:
        request: as it came, text included.
        handle: the stream's small integer on its connection.
        voice: the first clause's; its sample rate is the whole stream's.
        terms: on which it is sent.
        link: its connection.
        services: what all share.
        patient: it comes whole, when the engine has nothing better to do (`load.easing`).
    """

    def __init__(
        self, request: StreamStart, handle: int, voice: Voice, terms: Terms, link: Link, services: Services,
        *, patient: bool = False,
    ) -> None:  # fmt: skip
        settings = services.settings
        self.stream_id, self.handle, self.voice, self.terms = request.stream_id, handle, voice, terms
        self.state = WAITING
        self.closed = False
        self.cancelled_at: float | None = None
        self._request, self._link, self._services = request, link, services
        self._loop = asyncio.get_running_loop()
        self._sounded = False
        clauser = Clauser(settings.engine.clause_chars, settings.engine.first_clause_chars)
        self._reading = Reading(clauser, settings.engine.text_idle_s)
        self._pcm_ended = False
        self._retained_bytes = 0
        self._credit = 0
        self._hoard = Hoard(round(settings.stream.max_ahead_s * voice.sample_rate) if patient else 0)
        self._saying = Saying(
            request, voice, services, self, lambda names: self._link.warn_of_script(self, names),
            lambda place, seconds: self._link.waits(self, place, seconds), self._unheard_s, patient=patient,
        )  # fmt: skip
        self._coding = Coding(services.workshop, self._input, self._failed)
        self._length_s = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._linger: asyncio.TimerHandle | None = None
        self._rest: asyncio.TimerHandle | None = None
        self._inputs: deque[Input] = deque()
        self._busy = False
        now = self._loop.time()
        self._account = Account(services.metrics, now, terms.policy, services.tracing.begin(self.stream_id))
        self._controller = terms.controller()
        setup = CoreSetup(
            handle, voice.sample_rate, self._controller, services.encoders(),
            settings.stream.max_ahead_s, settings.stream.max_lead_s, services.resampler,
        )  # fmt: skip
        recordings = services.recordings
        self._recording = recordings.open(request.stream_id) if recordings else None
        self.core = (
            RecordedCore(setup, terms, now, self._recording.write, __version__)
            if self._recording
            else StreamCore(setup, now)
        )

    # ------------------------------------------------------------ what the client asks

    def start(self, sent: int, received: int) -> None:
        """
        Take the request's text, and begin.

        Args:
            sent: bytes that the connection carried before.
            received: bytes of them that the client has: reports count whole connections.
        """
        self._account.carried(sent)
        self._join(sent, received)
        self.add_text(self._request.text)
        if not self._request.open:
            self.end_text()

    def add_text(self, text: str) -> None:
        """More text; complete clauses go to the engine as it has room."""
        self._reading.add(text, self._loop.time())
        self._say_next()

    def flush(self) -> None:
        """What text there is is to be spoken now."""
        self._reading.flush()
        self._say_next()

    def end_text(self) -> None:
        """No more text comes."""
        self._reading.end()
        self._say_next()

    def move(self) -> None:
        """The server stops: say what the engine has begun, and leave the rest of the text to another one."""
        if self._pcm_ended or not self._reading.leave():
            return
        if self._saying.begun:
            self._say_next()
        else:
            self._link.fault(self, Busy("the server is stopping; ask another one", retry_after=0.0))

    def report(self, hint: BitRateHint) -> None:
        """What the listener says of itself."""
        self._input(lambda now: self.core.report(hint, now))
        self._account.report(hint)
        if self.state == FINISHING and not self.closed:
            self._wait_for_the_end()

    def received(self, total: int) -> None:
        """Bytes of the connection that the client has, as it said of another stream."""
        self._input(lambda now: self.core.received(total, now))

    def pause(self) -> None:
        """The listener paused."""
        self._input(self.core.pause)

    def resume(self) -> None:
        """The listener goes on."""
        self._input(self.core.resume)

    def cancel(self) -> None:
        """Stop the engine within a chunk; the core sends its end and nothing else."""
        self.cancelled_at = self._loop.time()
        self._stop_engine()
        self._input(self.core.cancel)

    def close(self, reason: str) -> None:
        """Stop everything, say nothing: the connection or the stream is gone, for this reason."""
        self.closed = True
        self._account.close(reason)
        if self._recording:
            self._recording.close(reason)
        self._stop_engine()
        self._inputs.clear()
        for timer in (self._timer, self._linger, self._rest):
            if timer:
                timer.cancel()

    # ------------------------------------------------------------ another connection

    def detach(self, link: Link) -> None:
        """The connection is lost: `link` keeps the stream, until it is attached or given up."""
        self._link = link
        if self._linger:
            self._linger.cancel()
        self._input(self.core.detach)
        self._retained_bytes = sum(len(packet) for one in self.core.retained for packet in one.packets)

    def attach(self, handle: int, request: Attach, remembered: Estimate | None) -> None:
        """
        Go on at a connection where the stream has this handle; `go_on` next, before anything else.

        Raises:
            ResumeLost: what the listener lacks is not held any more. Nothing has changed.
        """
        terms = replace(self.terms, remembered=remembered)
        controller = terms.controller()
        to = Attachment(handle, controller, dict(request.tracks), request.played, remembered)
        self.core.attach(to, self._loop.time())
        self.handle, self.terms, self._controller = handle, terms, controller

    def go_on(self, link: Link, sent: int, received: int) -> None:
        """`link` is the connection; the rest as of `start`."""
        self._link = link
        self._account.moved(sent)
        self._join(sent, received)
        if self.state == FINISHING:
            self._wait_for_the_end()

    def _join(self, sent: int, received: int) -> None:
        self._input(lambda now: None)  # the core has an output waiting
        self._input(lambda now: self.core.sent(sent, now, own=False))
        self.received(received)

    def text_so_far(self) -> tuple[bool, int]:
        """Whether text may still come, and characters of it that are here."""
        return not self._reading.ended, self._reading.settle()

    @property
    def held_bytes(self) -> int:
        """Bytes of sound and, while there is no connection, of packets that are held for the listener."""
        return 2 * (self.core.held_samples + self._hoard.samples) + self._retained_bytes

    # ------------------------------------------------------------ what the connection says

    def written(self, entry: Entry, at: float) -> None:
        """A message of this connection, ours or another's, went into the kernel."""
        own = entry.owner is self
        self._account.carried(len(entry.data))
        if own and isinstance(entry.message, Audio):
            self._account.sent(entry.message, at)
        self._input(lambda now: self.core.sent(len(entry.data), now, own))

    def sample(self, sample: KernelSample) -> None:
        """What the kernel says of the socket."""
        self._input(lambda now: self.core.report(sample, now))

    def estimate(self) -> Estimate | None:
        """What it has learned of the link by now; None: nothing, or its rung was fixed."""
        controller = self._controller
        return controller.estimate(self._loop.time()) if isinstance(controller, Remembers) else None

    @property
    def played_s(self) -> float:
        """Seconds that the listener has reported as played."""
        return ticks_to_seconds(self.core.played)

    def told(self) -> dict[str, Any]:
        """What an operator is shown of it while it lives: neither its text nor who asked; JSON values."""
        return {
            "id": self.stream_id[:8],
            "state": self.state,
            "voice": self.voice.name,
            "outstanding_bytes": self.core.outstanding,
            "spoken_s": round(self.core.produced / self.voice.sample_rate, 1),
            **self._account.told(self._loop.time()),
        }

    # ------------------------------------------------------------ what the engine says (Sink)

    def pcm(self, samples: Samples) -> None:
        """The next samples of the clause."""
        if not self._sounded:
            self._sounded, self.state = True, SPEAKING
            self._account.first_chunk(self._loop.time())
        self._feed(lambda now: self.core.push_pcm(samples, now), len(samples))

    def end(self) -> None:
        """The clause is spoken."""
        self._saying.over()
        if self._hoard.holds:
            self._credit += 1
        else:
            self._input(self.core.end_clause)
        self._say_next()

    def fault(self, error: EngineError) -> None:
        """The engine failed at the clause."""
        self._saying.over()
        self._link.fault(self, error)

    # ------------------------------------------------------------ clauses

    def _say_next(self) -> None:
        """The next clause to the engine, if it may; the end of speech, if there is none."""
        if self.closed or self._saying.busy or self._pcm_ended:
            return
        if not self._reading.cut():
            self._loop.call_soon(self._say_next)  # the loop gets a turn before the rest of a long text
        elif self._reading.ready and self._credit:
            self._saying.in_turn(self._say)
        elif self._reading.over:
            self._end_speech()
        else:
            (self._saying.pause if self._reading.ready else self._saying.rest)()
            self._arm_rest()

    def _arm_rest(self) -> None:
        """Look again when the text has stood still for a while and the engine is free."""
        due = self._reading.rest_at()
        if self._rest:
            self._rest.cancel()
        self._rest = None if due is None else self._loop.call_at(due, self._on_rest)

    def _on_rest(self) -> None:
        self._reading.rest(self._unheard_s(), self._loop.time())
        self._say_next()

    def _unheard_s(self) -> float:
        return self.core.produced / self.voice.sample_rate - self.played_s

    def _end_speech(self) -> None:
        self._pcm_ended = True
        self._saying.rest()
        if self._saying.begun:
            for held in (*self._hoard.release(), self.core.end_pcm):
                self._input(held)
        else:
            self._link.fault(self, EmptyText("there is nothing to pronounce in the text"))

    def _say(self) -> None:
        """The next clause to the engine: it has room for one, and this is the stream's turn."""
        self._credit -= 1
        clause = self._reading.take()
        try:
            self._saying.say(clause.text)
        except AbrError as error:
            self._link.fault(self, error)
        else:  # the engine is at work already, and what it says comes in a later turn
            self._feed(lambda now: self.core.mark(clause.begin, clause.end, now))

    def _stop_engine(self) -> None:
        self._reading.drop()
        self._pcm_ended = True
        self._saying.stop()

    # ------------------------------------------------------------ the core's law

    def _feed(self, call: Input, samples: int = 0) -> None:
        """An input of the engine's side, which may be kept back."""
        for one in self._hoard.pass_on(call, samples):
            self._input(one)

    def _input(self, call: Input) -> None:
        """One input, then drain, then the next; what comes up in between waits its turn."""
        if self.closed:
            return
        self._inputs.append(call)
        if self._busy:
            return
        self._busy = True
        try:
            while self._inputs and not self.closed:
                self._inputs.popleft()(self._loop.time())
                self._drain()
        except Exception as error:
            self._inputs.clear()
            self._link.fault(self, error)
        finally:
            self._busy = False
        self._arm()

    def _drain(self) -> None:
        while (output := self.core.poll()) is not None:
            if isinstance(output, Transmit):
                self._link.transmit(self, self._worded(output.message))
            elif isinstance(output, Encode):
                self._coding.submit(output.job, self.core)
            elif isinstance(output, Credit):
                self._credit += output.clauses
                self._say_next()
            else:
                self._notice(output)

    def _worded(self, message: Message) -> Message:
        """As it is told: the end of a speech whose text goes on elsewhere says so."""
        if isinstance(message, StreamEnd) and message.reason == "done" and self._reading.left:
            return replace(message, reason=MOVED, chars=self._reading.taken)
        return message

    def _failed(self, error: Exception) -> None:
        if not self.closed:
            self._link.fault(self, error)

    def _notice(self, notice: Notice) -> None:
        event = notice.event
        if isinstance(event, Opened):
            self._account.opened(event)
        elif isinstance(event, Switched):
            self._account.switched(event)
        elif isinstance(event, Clamped):
            self._services.metrics.clamped.inc(len(event.fields))
        elif isinstance(event, Finished):
            self.state = FINISHING
            self._length_s = event.length / self.voice.sample_rate
            self._wait_for_the_end()
            self._link.finished(self)
        elif isinstance(event, Drained):
            self._link.over(self)

    def _wait_for_the_end(self) -> None:
        """Expect the last report once the rest has sounded, and some time beyond."""
        if self._linger:
            self._linger.cancel()
        rest_s = max(0.0, self._length_s - self.played_s) + self._services.settings.stream.linger_s
        self._linger = self._loop.call_later(rest_s, self._link.over, self)

    def _arm(self) -> None:
        due = None if self.closed else self.core.get_timer()
        if self._timer:
            self._timer.cancel()
        self._timer = None if due is None else self._loop.call_at(due, self._input, self.core.handle_timer)
