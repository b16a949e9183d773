"""
One listener's world in virtual time: a connection over a scenario, utterance after utterance.

The very core, controller, pacer, reporter and playout of the product, wire sizes of the product's
codec, TCP over a modelled network; only sound is missing. The same arguments give the same result
bit for bit. It must not know how a result is judged: that is `score`.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..audio.libopus import Library
from ..control.controller import Controller
from ..control.idle_probe import IdleProbe
from ..stream.pacer import KernelSample
from ..stream.reporter import hint_bytes
from ..units import ticks_to_seconds
from ..wire.codec import audio_size, encode
from ..wire.messages import Audio, BitRateHint, Message, Ping, Pong, StreamStart, StreamStarted
from .engine import NEURAL, EngineModel, conversation
from .events import Alarm, Events
from .link import Link
from .listener import Heard, Listener
from .result import Point, Result, Utterance, note_heard, note_sent
from .scenario import Scenario
from .speaker import CHARACTERS_A_SECOND, Speaker, Speech
from .tcp import PLAIN, Endpoint, Host, join

TLS_BYTES = 22
"""Beside each record of TLS 1.3: header 5, content type 1, tag 16 (RFC 8446 section 5.2)."""

MASK_BYTES = 4
"""A client masks its frames (RFC 6455 section 5.3)."""

SAMPLE_EVERY_S = 0.1
"""Seconds between two looks at the kernel's queue, as the server's session does."""

PROXY_BUFFER_BYTES = 4_194_304
"""What a proxy swallows: Linux' largest send buffer (tcp_wmem), by default."""

TUNED = Host()
"""The server's own socket: its listener sets TCP_NOTSENT_LOWAT and TCP_RTO_MAX_MS."""

PROXY = Host(notsent_bytes=math.inf, rto_max_s=120.0, buffer_bytes=PROXY_BUFFER_BYTES)
"""A proxy's socket towards the listener. The server's leg is a perfect LAN: what it writes is in
the proxy at once, and its kernel has nothing to tell."""

PATIENCE_S = 120.0
"""Seconds beyond its length after which an utterance counts as never finished."""


@dataclass(frozen=True, slots=True)
class World:
    """
    Everything but the network and what decides.

    Args:
        engine: how speech is made.
        tls: whether the wire is encrypted.
        proxied: whether a proxy stands before the server, which hides the network from its kernel.
        host: the server's socket, where there is no proxy.
        library: None models packet sizes; a libopus encodes `voice` for real.
        voice: int16 samples at the engine's rate that are spoken over and over.
        trace_every_s: seconds between two points of `Utterance.trace`; 0: no trace.
    """

    engine: EngineModel = NEURAL
    tls: bool = True
    proxied: bool = False
    host: Host = TUNED
    library: Library | None = None
    voice: npt.NDArray[np.int16] | None = None
    trace_every_s: float = 0.0


def run(
    scenario: Scenario,
    controller: Callable[[float], Controller],
    *,
    learned: Callable[[Controller, float], None] | None = None,
    resting: Callable[[float], IdleProbe | None] | None = None,
    rested: Callable[[IdleProbe, float], None] | None = None,
    world: World | None = None,
    utterances: Iterable[tuple[float, float]] | None = None,
    until_s: float | None = None,
    seed: int = 1,
) -> Result:
    """
    Play a session.

    Args:
        controller: makes the controller of each utterance, given the second at which it begins.
        learned: told of each controller, and the second, when the server is through with its
            utterance: what both close over is what is kept from one to the next.
        resting: what probes the link from this second on, when the server is through with an utterance.
        rested: told of it when the next one is asked for.
        utterances: (seconds of speech, seconds of rest after it); a seeded conversation when None.
        until_s: no utterance starts after this; the scenario's round when None.
        seed: of the network's chances, the engine's cuts and the packets' sizes.
    """
    plan = conversation(f"{seed}/talk") if utterances is None else utterances
    last_start = scenario.duration_s if until_s is None else until_s
    told = Told(learned, resting, rested)
    return Session(scenario, controller, told, world or World(), iter(plan), last_start, seed).run()


class Told(NamedTuple):
    """Who is told of what between two utterances; see `run`."""

    learned: Callable[[Controller, float], None] | None
    resting: Callable[[float], IdleProbe | None] | None
    rested: Callable[[IdleProbe, float], None] | None


class Session:
    """The world of `run`; see there."""

    def __init__(
        self,
        scenario: Scenario,
        controller: Callable[[float], Controller],
        told: Told,
        world: World,
        plan: Iterable[tuple[float, float]],
        until_s: float,
        seed: int,
    ) -> None:
        self._scenario, self._make, self._told, self._world = scenario, controller, told, world
        self._plan, self._until, self._seed = iter(plan), until_s, seed
        self._events = events = Events()
        period, chance = scenario.duration_s, f"{scenario.seed}/{seed}"
        self._down = Link(scenario.down, period, f"{chance}/down")
        up = Link(scenario.up, period, f"{chance}/up")
        host = PROXY if world.proxied else world.host
        self._socket = Endpoint(events, self._down, host, self._on_request, self._on_room)
        self._client = Endpoint(events, up, PLAIN, self._on_delivery)
        join(self._socket, self._client, scenario.base_rtt_s)
        self._listener = Listener(events, self._ask, self._on_heard)
        self._outbox: deque[tuple[Message, int, Speaker | None]] = deque()
        self._pumping = False
        self._sampler = Alarm(events, self._sample)
        self._patience = Alarm(events, events.stop)
        self._sent_bytes = self._received_bytes = 0
        self._speaker: Speaker | None = None
        self._last: Speaker | None = None
        self._utterance: Utterance | None = None
        self._done: list[Utterance] = []
        self._points: list[Point] = []
        self._rest_s = 0.0
        self._wire_before = 0
        self._handles = itertools.cycle(range(1, 256))
        self._probe: IdleProbe | None = None
        self._prober = Alarm(events, self._on_probe)
        self._pings = itertools.count(1)

    def run(self) -> Result:
        """Until the plan is spoken, or an utterance never ends."""
        self._events.at(0.0, self._next)
        self._events.run()
        if self._utterance is not None:
            self._close(self._listener.heard)
        sender = self._socket.sender
        return Result(
            self._scenario.name, tuple(self._done), self._events.now,
            sender.timeouts, sender.retransmitted, self._down.dropped,
        )  # fmt: skip

    # ------------------------------------------------------------ one utterance

    def _next(self) -> None:
        now = self._events.now
        planned = next(self._plan, None) if now <= self._until else None
        if planned is None:
            self._events.stop()
            return
        audio_s, self._rest_s = planned
        self._utterance = Utterance(audio_s, now)
        self._patience.set(now + audio_s + PATIENCE_S)
        name = f"00000000-0000-4000-8000-{len(self._done):012d}"
        self._ask(StreamStart(name, "x" * round(audio_s * CHARACTERS_A_SECOND)))

    def _begin(self, request: StreamStart) -> None:
        """The server has the request."""
        assert self._utterance is not None
        self._end_rest()
        model, seed = self._world.engine, f"{self._seed}/{len(self._done)}"
        clauses = model.clauses(self._utterance.audio_s, Random(f"{seed}/clauses"))
        speech = Speech(clauses, model.rate, f"{seed}/sizes", self._world.library, self._world.voice)
        self._utterance.audio_s = speech.samples / model.rate
        handle = next(self._handles)
        speaker = self._last = Speaker(
            self._events, handle, speech, self._make(self._events.now), self._transmit, self._on_drained
        )
        on_the_way = 0 if self._world.proxied else self._socket.sender.unacked  # whom the server asks
        self._received_bytes = max(self._received_bytes, self._sent_bytes - on_the_way)
        self._write(
            StreamStarted(handle, request.stream_id, "t" * 22, "en-us", model.rate, 1, "pcm16", "pcm22"), None
        )
        self._speaker = speaker
        speaker.start(self._sent_bytes, self._received_bytes)
        if self._world.trace_every_s:
            self._events.at(self._events.now, self._trace, self._utterance)

    def _on_drained(self) -> None:
        speaker, self._speaker = self._speaker, None
        if speaker is not None and self._told.learned is not None:
            self._told.learned(speaker.controller, self._events.now)
        self._begin_rest()

    def _begin_rest(self) -> None:
        if self._told.resting is not None:
            self._probe = self._told.resting(self._events.now)
            self._prober.set(self._probe.get_timer() if self._probe else None)

    def _end_rest(self) -> None:
        probe, self._probe = self._probe, None
        self._prober.set(None)
        if probe is not None and self._told.rested is not None:
            self._told.rested(probe, self._events.now)

    def _on_probe(self) -> None:
        probe, now = self._probe, self._events.now
        if probe is not None and probe.is_due(now) and not (self._outbox or self._socket.sender.unacked):
            ping = Ping(next(self._pings), "0" * probe.padding)
            self._write(ping, None)
            probe.sent(ping.value, len(encode(ping)), now)
        self._prober.set(probe.get_timer() if probe else None)

    def _on_heard(self, heard: Heard) -> None:
        self._close(heard)
        self._events.at(self._events.now + self._rest_s, self._next)

    def _close(self, heard: Heard | None) -> None:
        """Write down what became of the utterance."""
        utterance, speaker = self._utterance, self._last
        assert utterance is not None
        self._utterance = None
        self._done.append(utterance)
        self._patience.set(None)
        utterance.ended_at = self._events.now
        utterance.wire_bytes = self._down.sent_bytes - self._wire_before
        self._wire_before = self._down.sent_bytes  # probes of a rest count with what follows it
        utterance.trace, self._points = tuple(self._points), []
        if speaker is not None:
            note_sent(utterance, speaker)
        if heard is not None:
            note_heard(utterance, heard, speaker)

    # ------------------------------------------------------------ the listener's connection

    def _ask(self, message: Message) -> None:
        size = hint_bytes(message) if type(message) is BitRateHint else len(encode(message))
        self._client.write((message, size), size + self._framing(size) + MASK_BYTES)

    def _on_delivery(self, entry: tuple[Message, int], now: float) -> None:
        self._listener.on_message(*entry)

    # ------------------------------------------------------------ the server's connection

    def _on_request(self, entry: tuple[Message, int], now: float) -> None:
        message = entry[0]
        if type(message) is BitRateHint:
            self._received_bytes = max(self._received_bytes, message.received)
            if self._speaker is not None and message.stream == self._speaker.handle:
                self._speaker.report(message)
        elif type(message) is Ping:
            self._write(Pong(message.value), None)
        elif type(message) is Pong:
            if self._probe is not None:
                self._probe.answered(message.value, self._events.now)
        elif type(message) is StreamStart:
            self._begin(message)

    def _transmit(self, speaker: Speaker, message: Message) -> None:
        self._write(message, speaker)

    def _write(self, message: Message, owner: Speaker | None) -> None:
        size = audio_size(message) if type(message) is Audio else len(encode(message))
        self._outbox.append((message, size, owner))
        self._pump()

    def _pump(self) -> None:
        """Give the kernel what it takes; what it has taken is told to the core."""
        if self._pumping:
            return
        self._pumping = True
        while self._outbox:
            if not self._socket.has_room:
                self._socket.wait_for_room()
                break
            message, size, owner = self._outbox.popleft()
            self._socket.write((message, size), size + self._framing(size))
            self._sent_bytes += size
            speaker = self._speaker
            if speaker is not None:
                if not self._sampler.is_set:
                    self._sampler.set(self._events.now + SAMPLE_EVERY_S)
                speaker.sent(message, size, owner is speaker)
        self._pumping = False

    def _on_room(self, now: float) -> None:
        self._pump()

    def _sample(self) -> None:
        """The kernel's count to the core, again and again until it is 0."""
        if self._speaker is None:
            return
        waiting = self._outbox[0][1] if self._outbox else 0
        sender = self._socket.sender
        unacked = 0 if self._world.proxied else sender.unacked
        rtt_ms = 0.1 if self._world.proxied else sender.min_rtt * 1000
        self._speaker.report(KernelSample(unacked, waiting, rtt_ms if rtt_ms < math.inf else -1.0))
        if unacked or waiting:
            self._sampler.set(self._events.now + SAMPLE_EVERY_S)

    def _framing(self, size: int) -> int:
        """Bytes around a WebSocket payload: its frame's head and the TLS record."""
        return (2 if size < 126 else 4 if size < 65_536 else 10) + (TLS_BYTES if self._world.tls else 0)

    # ------------------------------------------------------------ plots

    def _trace(self, utterance: Utterance) -> None:
        if self._utterance is not utterance or self._last is None:
            return
        now, heard, last = self._events.now, self._listener.heard, self._last
        if heard is not None:
            heard.catch_up(now)
        self._points.append(Point(
            now, self._scenario.down.kbps_at(now % self._scenario.duration_s), last.lead_s,
            ticks_to_seconds(heard.playout.buffer_ticks()) if heard else 0.0, last.core.outstanding,
            (heard.tally.rung if heard else None) or "",
            ticks_to_seconds(heard.playout.stall_ticks) if heard else 0.0,
        ))  # fmt: skip
        self._events.at(now + self._world.trace_every_s, self._trace, utterance)
