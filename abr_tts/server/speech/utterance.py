"""
One utterance on the server, around its core: speech comes from its making, what the listener and the
connection say goes in, work goes to the threads and messages to the connection.

It runs on the event loop alone and takes no lock. What arrives becomes an input of the core,
one at a time, and after each the core is drained: the core's law. It knows neither the socket
nor the other utterances; what it needs of its connection stands in `Link`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ... import __version__
from ...control.estimator import Estimate
from ...control.memory import Remembers
from ...engine.base import Voice
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
from .hoard import Input
from .making import Making
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
        making: what makes its speech.
    """

    def __init__(
        self, request: StreamStart, handle: int, voice: Voice, terms: Terms, link: Link, services: Services,
        *, patient: bool = False, making: Callable[..., Making] = Making,
    ) -> None:  # fmt: skip
        settings = services.settings
        self.stream_id, self.handle, self.voice, self.terms = request.stream_id, handle, voice, terms
        self.state = WAITING
        self.closed = False
        self.cancelled_at: float | None = None
        self._request, self._link, self._services = request, link, services
        self._loop = asyncio.get_running_loop()
        self._retained_bytes = 0
        self._coding = Coding(services.workshop, self._input, self._failed)
        self._length_s = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._linger: asyncio.TimerHandle | None = None
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
        self._making = making(
            request, voice, services, self.core, feed=self._input, sounds=self._sounds, failed=self._failed,
            warn=lambda names: self._link.warn_of_script(self, names),
            wait=lambda place, seconds: self._link.waits(self, place, seconds), patient=patient,
        )  # fmt: skip

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
        self._making.add_text(text)

    def flush(self) -> None:
        """What text there is is to be spoken now."""
        self._making.flush()

    def end_text(self) -> None:
        """No more text comes."""
        self._making.end_text()

    def move(self) -> None:
        """The server stops: say what the engine has begun, and leave the rest of the text to another one."""
        self._making.leave()

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
        self._making.stop()
        self._input(self.core.cancel)

    def close(self, reason: str) -> None:
        """Stop everything, say nothing: the connection or the stream is gone, for this reason."""
        self.closed = True
        self._account.close(reason)
        if self._recording:
            self._recording.close(reason)
        self._making.stop()
        self._inputs.clear()
        for timer in (self._timer, self._linger):
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
        return self._making.text_so_far()

    @property
    def held_bytes(self) -> int:
        """Bytes of sound and, while there is no connection, of packets that are held for the listener."""
        return 2 * (self.core.held_samples + self._making.held_samples) + self._retained_bytes

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

    # ------------------------------------------------------------ what its making says

    def _sounds(self) -> None:
        self.state = SPEAKING
        self._account.first_chunk(self._loop.time())

    def _failed(self, error: Exception) -> None:
        if not self.closed:
            self._link.fault(self, error)

    # ------------------------------------------------------------ the core's law

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
                self._making.credit(output.clauses)
            else:
                self._notice(output)

    def _worded(self, message: Message) -> Message:
        """As it is told: the end of a speech whose text goes on elsewhere says so."""
        if isinstance(message, StreamEnd) and message.reason == "done" and self._making.left:
            return replace(message, reason=MOVED, chars=self._making.taken)
        return message

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
