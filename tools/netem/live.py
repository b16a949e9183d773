"""
A session with a real server, by the real client, in real time: what its listener hears, as the
records that the simulator makes, so that one meter judges both.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from talk import Planned, Talk

from abr_tts.client import Client, Speech
from abr_tts.sim.result import Change, Point, Result, Utterance
from abr_tts.sim.run import PATIENCE_S
from abr_tts.units import ticks_to_seconds
from abr_tts.wire.messages import Switch

CONNECT_S = 30.0
"""Seconds that connecting may take: a link of 8 kbit/s needs some for TLS."""

WAIT_S = 0.1
"""Seconds between two frames of 20 ms from which the listener waits."""

TRACE_EVERY_S = 0.1
"""Seconds between two points of a trace, for plots."""


@dataclass(frozen=True, slots=True)
class Way:
    """
    A way to a server, as a backend has made it.

    Args:
        url: where the client connects.
        tls: its context, or None.
        start: begins the scenario's time; gives its second 0 on `time.monotonic()`.
        kbps_at: capacity downwards at a second of the scenario.
        wire_bytes: IP packets down so far; None where nobody counts them.
        losses: (packets lost, packets that found the queue full) so far, downwards.
        notes: the backend, and what it does not emulate, for people.
    """

    url: str
    tls: Any
    start: Callable[[], float]
    kbps_at: Callable[[float], float]
    wire_bytes: Callable[[], int] | None = None
    losses: Callable[[], tuple[int, int]] = lambda: (0, 0)
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Ear:
    """Of one utterance: what was handed out, and what was told."""

    runs: list[tuple[str, float]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    first_at: float | None = None
    waits: list[tuple[float, float]] = field(default_factory=list)
    """(from, to) seconds between two frames that were longer apart than WAIT_S."""
    last_at: float = 0.0

    def heard(self, at: float, rung: str, seconds: float) -> None:
        """A frame of `seconds` was handed out."""
        if self.first_at is None:
            self.first_at = at
        elif at - self.last_at > WAIT_S:
            self.waits.append((self.last_at, at))
        self.last_at = at
        if self.runs and self.runs[-1][0] == rung:
            self.runs[-1] = (rung, self.runs[-1][1] + seconds)
        else:
            self.runs.append((rung, seconds))


class Session:
    """
    Args:
        way: to the server.
        talk: what is said.
        rung: hold every stream at it; None: adapt.
        until_s: no utterance starts after this second of the scenario.
    """

    def __init__(self, way: Way, talk: Talk, rung: str | None = None, until_s: float = float("inf")) -> None:
        self._way, self._talk, self._rung, self._until = way, talk, rung, until_s
        self._zero = 0.0
        self._done: list[Utterance] = []
        self.waits: list[tuple[float, float]] = []
        """Seconds of the scenario from and to which a listener waited in mid-speech."""

    async def run(self, name: str, firsts: Callable[[], dict[int, float]]) -> Result:
        """
        Hear it all.

        Args:
            name: of the scenario.
            firsts: tells when the engine's first samples of each utterance were there, on
                `time.monotonic()`; asked once, in a thread, when all is heard.

        Raises:
            AbrError: the connection or a stream failed.
        """
        async with Client(self._way.url, ssl=self._way.tls, connect_s=CONNECT_S) as client:
            self._zero = self._way.start()
            for planned in self._talk.utterances:
                if self._now() > self._until:
                    break
                utterance = await self._hear(client, planned)
                self._done.append(utterance)
                if not utterance.complete:
                    break
                await asyncio.sleep(planned.rest_s)
            seconds = self._now()
            known = await asyncio.get_running_loop().run_in_executor(None, firsts)
        for index, utterance in enumerate(self._done):
            if utterance.startup_s < float("inf") and index in known:
                heard_at = self._zero + utterance.asked_at + utterance.startup_s
                utterance.delivery_s = heard_at - known[index]
        lost, dropped = self._way.losses()
        return Result(name, tuple(self._done), seconds, 0, lost, dropped)

    def _now(self) -> float:
        return time.monotonic() - self._zero

    async def _hear(self, client: Client, planned: Planned) -> Utterance:
        utterance = Utterance(planned.samples / self._talk.rate, self._now())
        before = self._way.wire_bytes() if self._way.wire_bytes else 0
        ear = Ear()
        speech = client.speak(
            planned.text, rung=self._rung, realtime=True, events=lambda event: self._note(ear, event)
        )
        watch = asyncio.ensure_future(self._watch(ear, speech))
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(utterance.audio_s + PATIENCE_S):
                    async for frame in speech:
                        ear.heard(self._now(), speech.rung, len(frame) / speech.sample_rate)
        finally:
            watch.cancel()
            speech.cancel()
        utterance.ended_at = self._now()
        utterance.wire_bytes = self._way.wire_bytes() - before if self._way.wire_bytes else speech.stats.bytes
        self._write_down(utterance, ear, speech)
        return utterance

    def _write_down(self, utterance: Utterance, ear: Ear, speech: Speech) -> None:
        stats = speech.stats
        utterance.complete, utterance.stalls = stats.complete, stats.stalls
        utterance.stall_s, utterance.payload_bytes = stats.stall_ms / 1000, stats.bytes
        utterance.runs, utterance.changes = tuple(ear.runs), tuple(ear.changes)
        utterance.trace = tuple(ear.points)
        self.waits += ear.waits
        if ear.first_at is not None:
            utterance.startup_s = ear.first_at - utterance.asked_at

    def _note(self, ear: Ear, event: object) -> None:
        if isinstance(event, Switch):
            ear.changes.append(
                Change(self._now(), event.source, event.target, ticks_to_seconds(event.at), event.reason)
            )

    async def _watch(self, ear: Ear, speech: Speech) -> None:
        while True:
            now, buffer_s = self._now(), speech.buffer_ms / 1000
            kbps = self._way.kbps_at(now)
            ear.points.append(Point(now, kbps, buffer_s, buffer_s, 0, speech.rung))
            await asyncio.sleep(TRACE_EVERY_S)
