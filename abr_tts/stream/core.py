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
from ..control.controller import BANK, MOST_OUTSTANDING_BYTES, UPGRADE, Decision, Plan
from ..units import FRAME_TICKS, samples_to_ticks, seconds_to_ticks, ticks_to_samples
from ..wire.messages import BitRateHint
from .feedback import Feedback
from .layers import Layers
from .outgoing import Outgoing
from .outlook import Outlook
from .outputs import Clamped, Credit, Decided, Drained, Encode, Finished, Notice, Output, Retained
from .pacer import NOTHING, KernelSample, Pacer, most_frames
from .playhead import EngineMeter, PlayHead
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
        self._feedback = Feedback(self._pacer, self._head, setup.controller)
        self._outputs: deque[Output] = deque([Credit(1)])
        self._outgoing = Outgoing(setup.handle, self._outputs)
        self._job: EncodeJob | None = None
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
            self._outgoing.mark(samples_to_ticks(self._timeline.produced, self._setup.rate), begin, end)

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
        if self._cancelled or (self._finished and not self._outgoing.again):
            return
        self._cancelled = True
        self._timeline.release(self._timeline.produced)
        self._outgoing.drop()
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
            self._outgoing.audio(job, packets)
        self._advance()

    def sent(self, size: int, now: float, own: bool = True) -> None:
        """
        A message of `size` bytes of this connection was handed to the kernel.

        Told of every message, because reports count the whole connection; `own` is True for
        what this core asked to transmit.
        """
        self._begin(now)
        cargo = self._outgoing.written() if own else NOTHING
        self._feedback.written(size, cargo, own, now)
        self._advance()

    def report(self, report: BitRateHint | KernelSample, now: float) -> None:
        """What the listener, or the kernel, says."""
        self._begin(now)
        if isinstance(report, KernelSample):
            self._feedback.kernel(report, now)
        else:
            self._heard(report)
        self._advance(news=True)

    def received(self, total: int, now: float) -> None:
        """The listener has `total` bytes of this connection: what a report on another stream says of ours."""
        self._begin(now)
        self._feedback.received(total, now)
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
        self._outgoing.detach()
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
        lacking = self._outgoing.attach(to, makes)
        self._setup = replace(self._setup, handle=to.handle, controller=to.controller)
        self._plan = None
        self._layers.handle = to.handle
        self._give_up_upgrade(to.wanted)
        self._feedback.restart(to.controller, lacking, min(to.played, self._outlook.sent_pts), now)
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
        return self._outgoing.kept.packets

    # ------------------------------------------------------------ inside

    def _begin(self, now: float) -> None:
        if self._outputs:
            raise RuntimeError("drain poll() before the next input")
        if now < self._now:
            raise ValueError(f"time went back from {self._now} to {now}")
        self._now = now

    def _heard(self, hint: BitRateHint) -> None:
        furthest = max(self._outlook.sent_pts, self._layers.next_pts(UPGRADE))
        if wrong := self._feedback.hint(hint, furthest, self._now):
            self._outputs.append(Notice(Clamped(wrong)))
        self._forget()

    def _forget(self) -> None:
        """Free what the listener has played."""
        played = self._head.played
        self._outgoing.kept.forget(played, self._pacer.reached[BANK])
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
        if upgrade is not None:
            self._layers.cut(UPGRADE, min(wanted.get(upgrade.number, 0), upgrade.next_pts))

    def _advance(self, news: bool = False) -> None:
        """
        Give out what may go now: credit, the end, or one job.

        With `news` of the network the controller is asked in any case: its plan may have changed
        though nothing can be sent.
        """
        outgoing = self._outgoing
        self._give_credit()
        if self._finished:
            self._note_drained()
        if self._cancelled or self._drained or not outgoing.attached:
            self._again_at = None
        elif outgoing.again and not outgoing.unsent:
            self._tell_again()
        elif self._job is None and not outgoing.unsent:
            if not self._finished and self._timeline.ended and self._outlook.sent_pts >= self._timeline.ready:
                length = self._timeline.length
                self._finish("done", length if length is not None else self._timeline.produced)
            else:
                self._next_job()
        elif news and self._feedback.learns:
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
        """What the listener lacked when it came back, as much as may be on the way."""
        decision = self._decide()
        most = decision.outstanding_bytes if decision else MOST_OUTSTANDING_BYTES
        self._outgoing.tell_again(full=0 < self._pacer.outstanding >= most)

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
        self._outgoing.announce(messages)
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

    # ------------------------------------------------------------ the end

    def _finish(self, reason: str, length: int) -> None:
        before, self._finished = self._finished, True
        codec = bank.rung.codec if (bank := self._layers[BANK]) else ""
        self._outgoing.end(length, self._setup.rate, codec, reason)
        if not before:
            self._outputs.append(Notice(Finished(length)))
        self._drained |= reason == "cancelled"

    def _note_drained(self) -> None:
        """A listener is done once it played into the last frame: it may report the true end."""
        heard = self._head.played > self._timeline.ready - FRAME_TICKS
        if heard and self._outgoing.idle and not self._drained:
            self._drained = True
            self._outputs.append(Notice(Drained()))
