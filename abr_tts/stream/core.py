"""
The stream core: speech and reports in, messages and codec work out. No clock, no socket, no thread.

**Law.** Drain `poll()` until it returns None, give one input, drain again, and so on: a new core already has
an output. After each input ask `get_timer()`, and call `handle_timer(now)` when it is due. `now` is seconds
on any monotonic clock and never goes back. One task owns a core.
Inputs: `push_pcm`, `mark`, `end_clause`, `end_pcm`, `encoded`, `sent`, `report`, `received`, `pause`,
`resume`, `cancel`, `detach`, `attach`, `handle_timer`. Outputs: `Encode`, `Transmit`, `Notice`, `Credit`.
Encoding is an output; its result returns as the input `encoded`: a thread or the simulator runs it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..audio.timeline import Timeline
from ..control.controller import BANK, MOST_OUTSTANDING_BYTES, UPGRADE, Decision, Learner, Plan
from ..units import FRAME_TICKS, samples_to_ticks, seconds_to_ticks, ticks_to_ms, ticks_to_samples
from ..wire.compact import PACKETS_MOST
from ..wire.messages import Audio, BitRateHint, Mark, StreamEnd
from .layers import Layers
from .outlook import Outlook
from .outputs import (
    Clamped,
    Credit,
    Decided,
    Drained,
    Encode,
    Finished,
    Notice,
    Output,
    Retained,
    Transmit,
    Transmitted,
)
from .pacer import NOTHING, Cargo, KernelSample, Pacer, most_frames
from .playhead import EngineMeter, PlayHead
from .retention import Again, Retention
from .setup import Attachment, CoreSetup
from .track import PREROLL_PACKETS, EncodeJob, Track

__all__ = ["Attachment", "CoreSetup", "StreamCore"]

KEEP_BEHIND_FRAMES = PREROLL_PACKETS + 2
"""Frames of the timeline kept behind the play head: a track that opens at the head feeds its
pre-roll and its resampler's context from before it."""


class StreamCore:
    """One utterance on its way to one listener. See the module for the law."""

    def __init__(self, setup: CoreSetup, now: float) -> None:
        self._setup = setup
        self._timeline = Timeline(setup.rate)
        self._pacer = Pacer(seconds_to_ticks(setup.max_lead_s))
        self._layers = Layers(setup.handle, setup.rate, setup.library, setup.resampler)
        self._head, self._engine = PlayHead(), EngineMeter()
        parts = self._timeline, self._layers, self._pacer, self._head, self._engine
        self._outlook = Outlook(setup.rate, *parts)
        self._learner = setup.controller if isinstance(setup.controller, Learner) else None
        self._outputs: deque[Output] = deque([Credit(1)])
        self._job: EncodeJob | None = None
        self._unsent: deque[Cargo] = deque()
        self._kept = Retention()
        self._again: deque[Again | StreamEnd] = deque()
        """What is told again after a reconnect, before anything new."""
        self._end: StreamEnd | None = None
        self._attached = True
        self._plan: Plan | None = None
        self._again_at: float | None = None
        self._clause_running = True
        self._finished = self._drained = self._cancelled = False
        self._now = now

    # ------------------------------------------------------------ inputs: the engine's side

    def push_pcm(self, pcm: npt.NDArray[np.int16], now: float) -> None:
        """Speech: int16, mono, at the engine's rate, any length."""
        self._begin(now)
        if not self._cancelled:
            self._timeline.append(pcm)
            self._engine.made(len(pcm) / self._setup.rate, now)
            self._advance()

    def mark(self, begin: int, end: int, now: float) -> None:
        """The clause text[begin:end] starts at what is pushed next."""
        self._begin(now)
        self._engine.begin(now)
        if not self._cancelled:
            pts = samples_to_ticks(self._timeline.produced, self._setup.rate)
            self._kept.mark(Mark(self._setup.handle, pts, begin, end))
            self._transmit(Mark(self._setup.handle, pts, begin, end))

    def end_clause(self, now: float) -> None:
        """The credited clause is complete; another is credited when there is room for it."""
        self._begin(now)
        self._engine.end()
        self._clause_running = False
        self._advance()

    def end_pcm(self, now: float) -> None:
        """No more speech comes."""
        self._begin(now)
        if not self._cancelled and not self._timeline.ended:
            self._timeline.end()
            self._advance()

    def cancel(self, now: float) -> None:
        """Send nothing more but the end; after the end, which may still wait to be told again, nothing."""
        self._begin(now)
        if self._cancelled or (self._finished and not self._again):
            return
        self._cancelled = True
        self._timeline.release(self._timeline.produced)
        self._kept.clear()
        self._again.clear()
        self._finish("cancelled", ticks_to_samples(self._outlook.sent_pts, self._setup.rate))

    # ------------------------------------------------------------ inputs: the network's side

    def encoded(self, job: EncodeJob, packets: list[bytes], now: float) -> None:
        """The packets of the job that `Encode` gave."""
        self._begin(now)
        if job is not self._job:
            raise ValueError("this job was not given out, or came back twice")
        self._job = None
        if self._cancelled:
            return
        track = self._layers[job.rank]
        if track is not None and track.number == job.track and not track.cut:
            for first in range(0, len(packets), PACKETS_MOST):
                pts = job.pts + first * FRAME_TICKS
                held = Retained(job.track, pts, tuple(packets[first : first + PACKETS_MOST]))
                self._kept.add(job.rank, held)
                audio = Audio(self._setup.handle, held.track, held.pts, held.packets)
                if self._again and job.rank == BANK:
                    self._again.append(audio)
                else:
                    self._transmit(audio, job.rank)
        self._advance()

    def sent(self, size: int, now: float, own: bool = True) -> None:
        """
        A message of `size` bytes of this connection was handed to the kernel.

        Told of every message, because reports count the whole connection; `own` is True for
        what this core asked to transmit.
        """
        self._begin(now)
        cargo = self._unsent.popleft() if own else NOTHING
        self._pacer.on_sent(size, cargo)
        if self._learner:
            self._learner.on_sent(size, own, now)
        if cargo.ticks:
            self._head.sent(now)
        self._advance()

    def report(self, report: BitRateHint | KernelSample, now: float) -> None:
        """What the listener, or the kernel, says."""
        self._begin(now)
        if isinstance(report, KernelSample):
            queued = self._pacer.on_kernel(report)
            if self._learner:
                self._learner.on_kernel(queued, report.min_rtt_ms, now)
        else:
            self._heard(report)
        self._advance(news=True)

    def received(self, total: int, now: float) -> None:
        """The listener has `total` bytes of this connection: what a report on another stream says of ours."""
        self._begin(now)
        self._pacer.on_received(total)
        if self._learner:
            self._learner.on_received(total, -1.0, now)
        self._advance(news=True)

    def pause(self, now: float) -> None:
        """The listener paused: upgrades stop, the bank goes on to its limit."""
        self._begin(now)
        self._head.pause(now)
        self._advance(news=True)

    def resume(self, now: float) -> None:
        """The listener goes on."""
        self._begin(now)
        self._head.resume(now)
        self._advance()

    def detach(self, now: float) -> None:
        """The connection is lost: nothing is sent until `attach`, and the engine goes on to its limit."""
        self._begin(now)
        self._attached = False
        self._unsent.clear()
        self._again.clear()
        self._advance()

    def attach(self, to: Attachment, now: float) -> None:
        """
        Go on on another connection: the bank that the listener lacks in the same bytes, then the rest.

        Afterwards tell what the connection carried before, by `sent` and `received`.

        Raises:
            ResumeLost: what the listener lacks is not held any more. Nothing has changed.
        """
        self._begin(now)
        bank = self._layers[BANK]
        makes = None if bank is None else (bank.number, self._makes_from(bank))
        again = self._kept.again(to.handle, to.wanted, makes)
        self._setup = replace(self._setup, handle=to.handle, controller=to.controller)
        self._learner = to.controller if isinstance(to.controller, Learner) else None
        self._plan, self._attached = None, True
        self._again.extend(again)
        if self._end is not None:
            self._again.append(replace(self._end, stream=to.handle))
        self._layers.handle = to.handle
        self._give_up_upgrade(to.wanted)
        lacking = next((one.pts for one in again if isinstance(one, Audio)), makes[1] if makes else 0)
        self._pacer.restart(lacking)
        played = min(to.played, self._outlook.sent_pts)
        self._head.report(played, ticks_to_ms(max(0, lacking - played)), now, 0.0)
        self._forget()
        self._advance(news=True)

    def handle_timer(self, now: float) -> None:
        """The time that `get_timer` gave has come."""
        self._begin(now)
        self._advance(news=True)

    # ------------------------------------------------------------ outputs

    def poll(self) -> Output | None:
        """The next output, None when there is none."""
        return self._outputs.popleft() if self._outputs else None

    def get_timer(self) -> float | None:
        """When `handle_timer` wants to be called; None: never, only inputs move this core."""
        return self._again_at

    # ------------------------------------------------------------ what others may see

    @property
    def played(self) -> int:
        """Pts up to which the listener has reported sound."""
        return self._head.played

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
        return self._outlook.lead

    @property
    def retained(self) -> tuple[Retained, ...]:
        """Packets sent and not heard, by rank, oldest first."""
        return self._kept.packets

    # ------------------------------------------------------------ inside

    def _begin(self, now: float) -> None:
        if self._outputs:
            raise RuntimeError("drain poll() before the next input")
        if now < self._now:
            raise ValueError(f"time went back from {self._now} to {now}")
        self._now = now

    def _heard(self, hint: BitRateHint) -> None:
        wrong = [] if self._pacer.on_received(hint.received) else ["received"]
        furthest = max(self._outlook.sent_pts, self._layers.next_pts(UPGRADE))
        if hint.played > furthest:
            wrong.append("played")
        if wrong:
            self._outputs.append(Notice(Clamped(tuple(wrong))))
        if self._learner:
            self._learner.on_received(hint.received, hint.rtt_ms, self._now)
        self._pacer.on_rtt(hint.rtt_ms)
        played = min(hint.played, furthest)
        self._head.report(played, hint.buffer_ms, self._now, self._pacer.min_rtt_s / 2)
        self._forget()

    def _forget(self) -> None:
        """Free what the listener has played."""
        played = self._head.played
        self._kept.forget(played, self._pacer.reached[BANK])
        keep = max(0, played - KEEP_BEHIND_FRAMES * FRAME_TICKS)
        first, unfed = ticks_to_samples(keep, self._setup.rate), self._layers.fed_sample(played)
        self._timeline.release(max(0, first if unfed is None else min(first, unfed)))

    def _makes_from(self, track: Track) -> int:
        """Pts of the next packet that `track` will give: of the job that is out, if one is."""
        job = self._job
        return job.pts if job is not None and job.track == track.number else track.next_pts

    def _give_up_upgrade(self, wanted: Mapping[int, int]) -> None:
        """End the upgrade where the listener's part of it ends; another goes on from there."""
        upgrade = self._layers[UPGRADE]
        self._kept.cut_upgrade()
        if upgrade is not None:
            self._layers.cut(UPGRADE, min(wanted.get(upgrade.number, 0), upgrade.next_pts))

    def _advance(self, news: bool = False) -> None:
        """
        Give out what may go now: credit, the end, or one job.

        With `news` of the network the controller is asked in any case: its plan may have changed
        though nothing can be sent.
        """
        self._give_credit()
        if self._finished:
            self._note_drained()
        if self._cancelled or self._drained or not self._attached:
            self._again_at = None
        elif self._again and not self._unsent:
            self._tell_again()
        elif self._job is None and not self._unsent:
            if not self._finished and self._timeline.ended and self._outlook.sent_pts >= self._timeline.ready:
                length = self._timeline.length
                self._finish("done", length if length is not None else self._timeline.produced)
            else:
                self._next_job()
        elif news and self._learner:
            self._decide()

    def _give_credit(self) -> None:
        if self._clause_running or self._timeline.ended or self._cancelled:
            return
        ahead = self._timeline.produced - ticks_to_samples(self._head.played, self._setup.rate)
        if ahead < self._setup.max_ahead_s * self._setup.rate:
            self._clause_running = True
            self._outputs.append(Credit(1))

    # ------------------------------------------------------------ what is sent next

    def _tell_again(self) -> None:
        """The next message that is told again, and what stands before it; as much as may be on the way."""
        decision = self._decide()
        most = decision.outstanding_bytes if decision else MOST_OUTSTANDING_BYTES
        while self._again:
            message = self._again[0]
            full = self._pacer.outstanding >= most and self._pacer.outstanding > 0
            if isinstance(message, Audio) and (full or self._unsent):
                return
            self._transmit(self._again.popleft())

    def _next_job(self) -> None:
        decision = self._decide()
        if decision is None or not decision.send:
            if decision and decision.early and self._engine.making and self._layers[BANK] is None:
                self._join(decision)
            return
        frames = min(self._outlook.frames(decision), most_frames(decision))
        if frames and self._pacer.is_open(decision, frames, self.lead):
            self._join(decision, frames)

    def _join(self, decision: Decision, frames: int = 0) -> None:
        """The decision's track, opened or retuned where it must be, and a job for `frames` of it."""
        track, messages, events = self._layers.join(decision)
        if frames:
            self._job = track.job(self._timeline, decision.pts + frames * FRAME_TICKS)
            self._outputs.append(Encode(self._job))  # before what is written: it takes longest
        self._kept.opened(messages)
        for message in messages:
            self._transmit(message)
        self._outputs.extend(Notice(event) for event in events)

    def _decide(self) -> Decision | None:
        """Ask the controller, and tell when its plan has changed."""
        decision = self._setup.controller.decide(self._outlook.observe(self._now))
        self._again_at = decision.again_at if decision else None
        plan = decision.plan if decision else None
        if plan is not None and (self._plan is None or plan.differs(self._plan)):
            self._plan = plan
            self._outputs.append(Notice(Decided(plan)))
        return decision

    def _transmit(self, message: Transmitted, rank: int = BANK) -> None:
        if not self._attached:
            return  # it is told again, from what is kept
        cargo = NOTHING
        if isinstance(message, Audio):
            cargo = Cargo(rank, ticks := len(message.packets) * FRAME_TICKS, message.pts + ticks)
        self._unsent.append(cargo)
        self._outputs.append(Transmit(message))

    # ------------------------------------------------------------ the end

    def _finish(self, reason: str, length: int) -> None:
        before, self._finished = self._finished, True
        codec = bank.rung.codec if (bank := self._layers[BANK]) else ""
        self._end = StreamEnd(self._setup.handle, length, self._setup.rate, 1, codec, reason)
        self._transmit(self._end)
        if not before:
            self._outputs.append(Notice(Finished(length)))
        self._drained |= reason == "cancelled"

    def _note_drained(self) -> None:
        """A listener is done once it played into the last frame: it may report the true end."""
        heard = self._head.played > self._timeline.ready - FRAME_TICKS
        if heard and self._attached and not (self._unsent or self._again or self._drained):
            self._drained = True
            self._outputs.append(Notice(Drained()))
