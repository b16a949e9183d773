"""
The stream core: speech and reports in, messages and codec work out. No clock, no socket, no
thread.

**Law.** Drain `poll()` until it returns None, give one input, drain again, and so on: a new
core already has an output. After each input ask `get_timer()`, and call `handle_timer(now)`
when it is due. `now` is seconds on any monotonic clock and never goes back. One task owns a
core.

Inputs: `push_pcm`, `mark`, `end_clause`, `end_pcm`, `encoded`, `sent`, `report`, `received`,
`pause`, `resume`, `cancel`, `handle_timer`. Outputs: `Encode`, `Transmit`, `Notice`, `Credit`.
Encoding is an output whose result returns as the input `encoded`: the live server runs the
job on a thread, a simulator in place.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..audio.libopus import Library
from ..audio.timeline import Timeline
from ..control.controller import Controller, Decision, Layer, Observation
from ..control.ladder import Rung
from ..units import FRAME_TICKS, samples_to_ticks, seconds_to_ticks, ticks_to_samples
from ..wire.compact import PACKETS_MOST
from ..wire.messages import Audio, BitRateHint, Mark, StreamEnd, Switch
from ..wire.messages import Track as TrackMessage
from .outputs import Clamped, Credit, Drained, Encode, Finished, Notice, Opened, Output, Retained, Transmit
from .pacer import KernelSample, Pacer, frames_between
from .track import PREROLL_PACKETS, EncodeJob, Track, encode_lag

KEEP_BEHIND_FRAMES = PREROLL_PACKETS + 2
"""Frames of the timeline kept behind the play head: a track that opens at the head feeds its
pre-roll and its resampler's context from before it."""


@dataclass(frozen=True, slots=True)
class CoreSetup:
    """
    What a core is made with.

    Args:
        handle: the stream's small integer on its connection.
        rate: Hz of the engine and so of the timeline.
        controller: chooses what is sent.
        library: the libopus that encodes.
        max_ahead_s: the engine gets no credit while it is this far ahead of the listener.
        max_lead_s: nothing is sent that would lead the listener by more.
    """

    handle: int
    rate: int
    controller: Controller
    library: Library
    max_ahead_s: float = 30.0
    max_lead_s: float = 30.0


class StreamCore:
    """One utterance on its way to one listener. See the module for the law."""

    def __init__(self, setup: CoreSetup, now: float) -> None:
        self._setup = setup
        self._timeline = Timeline(setup.rate)
        self._pacer = Pacer(seconds_to_ticks(setup.max_lead_s))
        self._outputs: deque[Output] = deque([Credit(1)])
        self._live: dict[int, Track] = {}
        self._tracks_opened = 0
        self._job: EncodeJob | None = None
        self._unsent: deque[int] = deque()
        self._retained: deque[Retained] = deque()
        self._played = 0
        self._clause_running = True
        self._paused = False
        self._finished = self._drained = self._cancelled = False
        self._now = now

    # ------------------------------------------------------------ inputs: the engine's side

    def push_pcm(self, pcm: npt.NDArray[np.int16], now: float) -> None:
        """Speech: int16, mono, at the engine's rate, any length."""
        self._begin(now)
        if not self._cancelled:
            self._timeline.append(pcm)
            self._advance()

    def mark(self, begin: int, end: int, now: float) -> None:
        """The clause text[begin:end] starts at what is pushed next."""
        self._begin(now)
        if not self._cancelled:
            pts = samples_to_ticks(self._timeline.produced, self._setup.rate)
            self._transmit(Mark(self._setup.handle, pts, begin, end))

    def end_clause(self, now: float) -> None:
        """The credited clause is complete; another is credited when there is room for it."""
        self._begin(now)
        self._clause_running = False
        self._advance()

    def end_pcm(self, now: float) -> None:
        """No more speech comes."""
        self._begin(now)
        if not self._cancelled and not self._timeline.ended:
            self._timeline.end()
            self._advance()

    def cancel(self, now: float) -> None:
        """Send nothing more but the end."""
        self._begin(now)
        if self._cancelled or self._finished:
            return
        self._cancelled = True
        self._timeline.release(self._timeline.produced)
        self._retained.clear()
        self._finish("cancelled", ticks_to_samples(self._sent_pts(), self._setup.rate))

    # ------------------------------------------------------------ inputs: the network's side

    def encoded(self, job: EncodeJob, packets: list[bytes], now: float) -> None:
        """The packets of the job that `Encode` gave."""
        self._begin(now)
        if job is not self._job:
            raise ValueError("this job was not given out, or came back twice")
        self._job = None
        if not self._cancelled:
            for first in range(0, len(packets), PACKETS_MOST):
                pts = job.pts + first * FRAME_TICKS
                held = Retained(job.track, pts, tuple(packets[first : first + PACKETS_MOST]))
                self._retained.append(held)
                self._transmit(Audio(self._setup.handle, held.track, held.pts, held.packets))
            self._advance()

    def sent(self, size: int, now: float, own: bool = True) -> None:
        """
        A message of `size` bytes of this connection was handed to the kernel.

        Told of every message, because reports count the whole connection; `own` is True for
        what this core asked to transmit.
        """
        self._begin(now)
        self._pacer.on_sent(size, self._unsent.popleft() if own else 0)
        self._advance()

    def report(self, report: BitRateHint | KernelSample, now: float) -> None:
        """What the listener, or the kernel, says."""
        self._begin(now)
        if isinstance(report, KernelSample):
            self._pacer.on_kernel(report)
        else:
            self._heard(report)
        self._advance()

    def received(self, total: int, now: float) -> None:
        """The listener has `total` bytes of this connection: what a report on another stream says of ours."""
        self._begin(now)
        self._pacer.on_received(total)
        self._advance()

    def pause(self, now: float) -> None:
        """The listener paused: upgrades stop, the bank goes on to its limit."""
        self._begin(now)
        self._paused = True

    def resume(self, now: float) -> None:
        """The listener goes on."""
        self._begin(now)
        self._paused = False
        self._advance()

    def handle_timer(self, now: float) -> None:
        """The time that `get_timer` gave has come."""
        self._begin(now)
        self._advance()

    # ------------------------------------------------------------ outputs

    def poll(self) -> Output | None:
        """The next output, None when there is none."""
        return self._outputs.popleft() if self._outputs else None

    def get_timer(self) -> float | None:
        """When `handle_timer` wants to be called; None: never, only inputs move this core."""
        return None

    # ------------------------------------------------------------ what others may see

    @property
    def played(self) -> int:
        """Pts up to which the listener has reported sound."""
        return self._played

    @property
    def produced(self) -> int:
        """Samples of speech so far, at the engine's rate."""
        return self._timeline.produced

    @property
    def held_samples(self) -> int:
        """Samples that the timeline keeps in memory."""
        return self._timeline.held_samples

    @property
    def outstanding(self) -> int:
        """Bytes on their way on this connection."""
        return self._pacer.outstanding

    @property
    def lead(self) -> int:
        """Ticks sent and not known to be played."""
        return self._sent_pts() - self._played

    @property
    def retained(self) -> tuple[Retained, ...]:
        """Packets sent and not heard, oldest first."""
        return tuple(self._retained)

    # ------------------------------------------------------------ inside

    def _begin(self, now: float) -> None:
        if self._outputs:
            raise RuntimeError("drain poll() before the next input")
        if now < self._now:
            raise ValueError(f"time went back from {self._now} to {now}")
        self._now = now

    def _heard(self, hint: BitRateHint) -> None:
        wrong = [] if self._pacer.on_received(hint.received) else ["received"]
        if hint.played > self._sent_pts():
            wrong.append("played")
        if wrong:
            self._outputs.append(Notice(Clamped(tuple(wrong))))
        self._played = max(self._played, min(hint.played, self._sent_pts()))
        while self._retained and self._retained[0].end <= self._played:
            self._retained.popleft()
        keep = max(0, self._played - KEEP_BEHIND_FRAMES * FRAME_TICKS)
        unfed = [track.fed_sample for track in self._live.values() if track.next_pts > self._played]
        self._timeline.release(max(0, min([ticks_to_samples(keep, self._setup.rate), *unfed])))

    def _sent_pts(self) -> int:
        bank = self._live.get(0)
        return max(0, bank.next_pts) if bank else 0

    def _advance(self) -> None:
        """Give out what may go now: credit, then one job, then the end."""
        self._give_credit()
        if self._finished:
            self._note_drained()
        elif self._job is None and not self._unsent:
            self._next_job()
            if self._job is None and self._timeline.ended and self._sent_pts() >= self._timeline.ready:
                length = self._timeline.length
                self._finish("done", length if length is not None else self._timeline.produced)

    def _give_credit(self) -> None:
        if self._clause_running or self._timeline.ended or self._cancelled:
            return
        ahead = self._timeline.produced - ticks_to_samples(self._played, self._setup.rate)
        if ahead < self._setup.max_ahead_s * self._setup.rate:
            self._clause_running = True
            self._outputs.append(Credit(1))

    def _next_job(self) -> None:
        decision = self._setup.controller.decide(self._observe())
        if decision is None or not self._pacer.is_open(self.lead):
            return
        lag = 0 if self._timeline.ended else encode_lag(decision.rung, self._setup.rate) * FRAME_TICKS
        frames = self._pacer.frames(
            decision.rung, frames_between(decision.pts, self._timeline.ready - lag), self.lead,
            first=self._sent_pts() == 0, ended=self._timeline.ended,
        )  # fmt: skip
        if frames == 0:
            return
        track = self._track_for(decision)
        self._job = track.job(self._timeline, decision.pts + frames * FRAME_TICKS)
        self._outputs.append(Encode(self._job))

    def _track_for(self, decision: Decision) -> Track:
        """The layer's live track where it can go on at this rung, else a new one."""
        old = self._live.get(decision.rank)
        joins = old is not None and max(0, old.next_pts) == decision.pts
        if old is not None and joins and old.rung.family == decision.rung.family:
            if old.rung != decision.rung:
                self._switch(old, old.rung, decision, 0)
                old.retune(decision.rung)
            return old
        # One frame earlier where the old track holds that frame: the listener fades over it.
        overlap = FRAME_TICKS if old is not None and joins and decision.pts > old.start else 0
        track = Track(
            self._tracks_opened, decision.rank, decision.rung, decision.pts - overlap,
            self._setup.rate, self._setup.library,
        )  # fmt: skip
        self._tracks_opened += 1
        self._live[decision.rank] = track
        self._announce(track)
        if old is not None:
            self._switch(track, old.rung, decision, overlap)
        return track

    def _observe(self) -> Observation:
        layers = tuple(
            Layer(max(0, track.next_pts), track.rung) if (track := self._live.get(rank)) else Layer(0)
            for rank in (0, 1)
        )
        return Observation(
            self._now, self._timeline.ready, self._timeline.ended, self._played,
            self._pacer.outstanding, layers, self._paused,
        )  # fmt: skip

    def _announce(self, track: Track) -> None:
        rung = track.rung
        self._transmit(TrackMessage(
            self._setup.handle, track.number, track.rank, rung.name, rung.codec, rung.sample_rate, 1,
            track.start, track.preroll,
        ))  # fmt: skip
        self._outputs.append(Notice(Opened(track.number, track.rank, rung, track.start)))

    def _switch(self, track: Track, source: Rung, decision: Decision, length: int) -> None:
        self._transmit(Switch(
            self._setup.handle, track.number, source.name, decision.rung.name,
            decision.pts - length, length, decision.reason.sentence,
        ))  # fmt: skip

    def _transmit(self, message: TrackMessage | Audio | Switch | Mark | StreamEnd) -> None:
        self._unsent.append(len(message.packets) * FRAME_TICKS if isinstance(message, Audio) else 0)
        self._outputs.append(Transmit(message))

    def _finish(self, reason: str, length: int) -> None:
        self._finished = True
        bank = self._live.get(0)
        codec = bank.rung.codec if bank else ""
        self._transmit(StreamEnd(self._setup.handle, length, self._setup.rate, 1, codec, reason))
        self._outputs.append(Notice(Finished(length)))
        if reason == "cancelled":
            self._drained = True

    def _note_drained(self) -> None:
        """A listener is done once it played into the last frame: it may report the true end."""
        heard = self._played > self._timeline.ready - FRAME_TICKS
        if heard and not self._unsent and not self._drained:
            self._drained = True
            self._outputs.append(Notice(Drained()))
