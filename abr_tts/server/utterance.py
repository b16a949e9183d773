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
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from .. import __version__
from ..audio.libopus import Library
from ..control.estimator import Estimate
from ..control.memory import Remembers
from ..engine.base import Samples, Voice
from ..engine.pool import Pool, Ticket
from ..engine.text import Clause, Clauser
from ..errors import AbrError, EmptyText, EngineError
from ..stream.core import CoreSetup, StreamCore
from ..stream.outputs import (
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
from ..stream.pacer import KernelSample
from ..stream.recorder import RecordedCore
from ..stream.terms import Terms
from ..units import ticks_to_seconds
from ..wire.messages import Audio, BitRateHint, Message, StreamStart
from .account import Account
from .config import Settings
from .metrics import Metrics
from .outbox import Entry
from .recording import Recordings
from .workshop import Workshop

WAITING, SPEAKING, FINISHING = "waiting", "speaking", "finishing"
"""No audio yet; audio is being made or sent; all is sent, and the listener plays on."""

CUT_CHARS = 1000
"""Characters of text that are cut into clauses in one go: some 5 ms on a slow processor. A book in
one message then delays nobody; it is cut as it is spoken."""


@dataclass(frozen=True, slots=True)
class Services:
    """What all utterances of a server share."""

    settings: Settings
    pool: Pool
    workshop: Workshop
    library: Library
    metrics: Metrics
    recordings: Recordings | None = None


class Link(Protocol):
    """What an utterance needs of its connection."""

    def transmit(self, utterance: Utterance, message: Message) -> None:
        """Write this message, then call `written`."""

    def finished(self, utterance: Utterance) -> None:
        """All is handed over for sending; the listener plays on."""

    def over(self, utterance: Utterance) -> None:
        """The listener has heard the end, or is not heard of any more: forget the stream."""

    def fault(self, utterance: Utterance, error: Exception) -> None:
        """Tell the peer, and close the utterance if that ends it."""

    def warn_of_script(self, utterance: Utterance, names: str) -> None:
        """Text in these scripts, "Tibetan, Khmer", cannot be pronounced."""


class Utterance:
    """
    Args:
        request: as it came, text included.
        handle: the stream's small integer on its connection.
        voice: the first clause's; its sample rate is the whole stream's.
        terms: on which it is sent.
        link: its connection.
        services: what all share.
    """

    def __init__(
        self, request: StreamStart, handle: int, voice: Voice, terms: Terms, link: Link, services: Services
    ) -> None:
        settings = services.settings
        self.stream_id, self.handle, self.voice, self.terms = request.stream_id, handle, voice, terms
        self.state = WAITING
        self.closed = False
        self._request, self._link, self._services = request, link, services
        self._loop = asyncio.get_running_loop()
        self._sounded = False
        self._clauser = Clauser(settings.engine.clause_chars, settings.engine.first_clause_chars)
        self._text: deque[str] = deque()
        self._clauses: deque[Clause] = deque()
        self._text_ended = self._cut_all = self._pcm_ended = False
        self._spoke = False
        self._warned: set[str] = set()
        self._credit = 0
        self._ticket: Ticket | None = None
        self._length_s = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._linger: asyncio.TimerHandle | None = None
        self._inputs: deque[Callable[[float], None]] = deque()
        self._busy = False
        now = self._loop.time()
        self._account = Account(services.metrics, now, terms.policy)
        self._controller = terms.controller()
        setup = CoreSetup(
            handle, voice.sample_rate, self._controller, services.library,
            settings.stream.max_ahead_s, settings.stream.max_lead_s,
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
        self._input(lambda now: None)  # a new core has an output waiting
        self._input(lambda now: self.core.sent(sent, now, own=False))
        self.received(received)
        self.add_text(self._request.text)
        if not self._request.open:
            self.end_text()

    def add_text(self, text: str) -> None:
        """More text; complete clauses go to the engine as it has room."""
        self._text.extend(text[at : at + CUT_CHARS] for at in range(0, len(text), CUT_CHARS))
        self._say_next()

    def end_text(self) -> None:
        """No more text comes."""
        self._text_ended = True
        self._say_next()

    def report(self, hint: BitRateHint) -> None:
        """What the listener says of itself."""
        self._input(lambda now: self.core.report(hint, now))
        self._account.report(hint, self.core.outstanding)
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
        self._stop_engine()
        self._input(self.core.cancel)

    def close(self, reason: str) -> None:
        """Stop everything, say nothing: the connection or the stream is gone, for this reason."""
        self.closed = True
        if self._recording:
            self._recording.close(reason)
        self._stop_engine()
        self._inputs.clear()
        for timer in (self._timer, self._linger):
            if timer:
                timer.cancel()

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
        self._input(lambda now: self.core.push_pcm(samples, now))

    def end(self) -> None:
        """The clause is spoken."""
        self._ticket = None
        self._input(self.core.end_clause)
        self._say_next()

    def fault(self, error: EngineError) -> None:
        """The engine failed at the clause."""
        self._ticket = None
        self._link.fault(self, error)

    # ------------------------------------------------------------ clauses

    def _say_next(self) -> None:
        """The next clause to the engine, if it may; the end of speech, if there is none."""
        if self.closed or self._ticket or self._pcm_ended:
            return
        if not self._clauses and not self._cut():
            return
        if self._clauses and self._credit:
            self._credit -= 1
            self._say(self._clauses.popleft())
        elif self._cut_all and not self._clauses:
            self._end_speech()

    def _cut(self) -> bool:
        """Cut some text into clauses; False: there is more, and the loop gets a turn before it."""
        fed = 0
        while not self._clauses and (self._text or self._text_ended) and not self._cut_all:
            if fed >= CUT_CHARS:
                self._loop.call_soon(self._say_next)
                return False
            if self._text:
                fed += len(self._text[0])
                self._clauses.extend(self._clauser.feed(self._text.popleft()))
            else:
                self._cut_all = True
                self._clauses.extend(self._clauser.end())
        return True

    def _end_speech(self) -> None:
        self._pcm_ended = True
        if self._spoke:
            self._input(self.core.end_pcm)
        else:
            self._link.fault(self, EmptyText("there is nothing to pronounce in the text"))

    def _say(self, clause: Clause) -> None:
        first, self._spoke = not self._spoke, True
        request = self._request
        try:
            voice = self._voice_for(clause)
            self._ticket = self._services.pool.say(
                clause.text, voice, request.language, request.speed, self, first=first
            )
        except AbrError as error:
            self._link.fault(self, error)
        else:  # the engine is at work already, and what it says comes in a later turn
            self._input(lambda now: self.core.mark(clause.begin, clause.end, now))

    def _voice_for(self, clause: Clause) -> Voice:
        """The named voice, else the one for the clause's script; never another sample rate."""
        voice, pool = self.voice, self._services.pool
        if self._request.voice is None:
            chosen = pool.choose(None, self._request.language, clause.text)
            voice = chosen if chosen.sample_rate == voice.sample_rate else voice
        names = pool.unspeakable(clause.text, voice)
        if names and names not in self._warned:
            self._warned.add(names)
            self._link.warn_of_script(self, names)
        return voice

    def _stop_engine(self) -> None:
        ticket, self._ticket = self._ticket, None
        self._text.clear()
        self._clauses.clear()
        self._pcm_ended = True
        if ticket:
            ticket.cancel()

    # ------------------------------------------------------------ the core's law

    def _input(self, call: Callable[[float], None]) -> None:
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
                self._link.transmit(self, output.message)
            elif isinstance(output, Encode):
                self._encode(output)
            elif isinstance(output, Credit):
                self._credit += output.clauses
                self._say_next()
            else:
                self._notice(output)

    def _encode(self, output: Encode) -> None:
        job = output.job
        if job.cheap:
            packets = job.run()
            self._input(lambda now: self.core.encoded(job, packets, now))
            return
        self._services.workshop.submit(
            job.run,
            lambda packets: self._input(lambda now: self.core.encoded(job, packets, now)),
            lambda error: None if self.closed else self._link.fault(self, error),
            slack=self.core.lead,
        )

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
        rest_s = max(0.0, self._length_s - ticks_to_seconds(self.core.played))
        self._linger = self._loop.call_later(
            rest_s + self._services.settings.stream.linger_s, self._link.over, self
        )

    def _arm(self) -> None:
        due = None if self.closed else self.core.get_timer()
        if self._timer:
            self._timer.cancel()
        self._timer = None if due is None else self._loop.call_at(due, self._input, self.core.handle_timer)
