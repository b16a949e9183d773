"""
The listener's side of a connection: the very playout and the very reporter, on a clock of 20 ms.

Nothing is decoded: what is heard is decided by pts and rank alone. Between two arrivals nothing
can change what is rendered, so frames are rendered only when something arrives or is asked. It
must not know networks; what it has to say goes out by `send`.
"""

from __future__ import annotations

from collections.abc import Callable

from ..stream.playout import Playout
from ..stream.reporter import Position, Reporter
from ..stream.tally import RungTally
from ..units import FRAME_TICKS, samples_to_ticks, ticks_to_ms, ticks_to_seconds
from ..wire.messages import Audio, Message, Ping, Pong, StreamEnd, StreamStarted, Switch, Track
from .events import Alarm, Events

FRAME_S = ticks_to_seconds(FRAME_TICKS)
"""Seconds of one frame."""


class Heard:
    """One utterance as it is played."""

    def __init__(self, stream: int) -> None:
        self.stream = stream
        self.playout = Playout()
        self.tally = RungTally()
        self.runs: list[tuple[str, int]] = []
        """(rung, ticks) of what was played, in order: neighbours differ."""
        self.started_at: float | None = None
        self.finished_at: float | None = None
        self.lost = 0
        """Frames that were never played though later ones were."""
        self._next_pts = 0
        self._due = 0.0

    def take(self, message: Message, now: float) -> None:
        """A message of this stream; what is due by now is rendered before it."""
        self.catch_up(now)
        if type(message) is Audio:
            self.playout.hold(message.track, message.pts, len(message.packets))
        elif type(message) is Track:
            self.playout.open(message.track, message.rank, message.start, message.preroll, message.duration)
            self.tally.open(message.track, message.rung)
        elif type(message) is Switch:
            if message.length:
                self.playout.switch(message.track, message.at)
            elif message.track in self.playout.live:
                self.tally.retune(message.track, message.at, message.target)
        elif type(message) is StreamEnd:
            self.playout.end(samples_to_ticks(message.length, message.sample_rate))
            if self.started_at is not None and self.playout.finished:
                self.finished_at = now  # the end came after the last frame had sounded
        if self.started_at is None:
            self._due = now
            self._render()

    def catch_up(self, now: float) -> None:
        """Render every frame that is due by `now`."""
        while self.started_at is not None and self._due <= now and self.finished_at is None:
            self._render()

    def finishes_at(self) -> float | None:
        """When the last frame is or was due; None while more is needed for that."""
        playout = self.playout
        if self.finished_at is not None:
            return self.finished_at
        if playout.end_ticks is None or self.started_at is None:
            return None
        missing = playout.end_ticks - playout.played
        if playout.buffer_ticks() < missing:
            return None
        return self._due + (-(-missing // FRAME_TICKS) - 1) * FRAME_S

    def _render(self) -> None:
        playout = self.playout
        frame = playout.render()
        if frame is not None:
            if self.started_at is None:
                self.started_at = self._due
            self.lost += (frame.pts - self._next_pts) // FRAME_TICKS
            self._next_pts = frame.pts + FRAME_TICKS
            self._note(frame.track, frame.pts, playout.played - frame.pts)
        if playout.finished and self.finished_at is None:
            self.finished_at = self._due
        self._due += FRAME_S

    def _note(self, track: int, pts: int, ticks: int) -> None:
        self.tally.heard(track, pts, ticks)
        rung = self.tally.rung or ""
        if self.runs and self.runs[-1][0] == rung:
            self.runs[-1] = (rung, self.runs[-1][1] + ticks)
        else:
            self.runs.append((rung, ticks))

    def position(self) -> Position:
        """What the next report says."""
        playout = self.playout
        return Position(
            playout.played,
            int(ticks_to_ms(playout.buffer_ticks())),
            playout.stalls,
            int(ticks_to_ms(playout.stall_ticks)),
            playout.highest,
            playout.finished,
        )


class Listener:
    """
    A client: one utterance at a time, reports, pings.

    Args:
        events: the world's.
        send: puts a message on the uplink.
        on_finished: called with an utterance that was heard to its end.
    """

    def __init__(
        self, events: Events, send: Callable[[Message], None], on_finished: Callable[[Heard], None]
    ) -> None:
        self._events, self._send, self._on_finished = events, send, on_finished
        self.heard: Heard | None = None
        self._reporter = Reporter(events.now)
        self._alarm = Alarm(events, self._on_alarm)
        self._end = Alarm(events, self._on_end)
        self._rtt_ms = -1.0
        self._pings: dict[int, float] = {}
        self._ping = 0

    def on_message(self, message: Message, size: int) -> None:
        """A message of `size` payload bytes arrived."""
        now = self._events.now
        reporter, heard = self._reporter, self.heard
        reporter.arrived(size, now)
        if type(message) is Pong:
            self._rtt_ms = (now - self._pings.pop(message.value)) * 1000
        elif type(message) is Ping:
            self._send(Pong(message.value))
        elif type(message) is StreamStarted:
            self.heard = heard = Heard(message.stream)
            reporter.open(message.stream, now)
        elif heard is not None:
            if type(message) is Audio:
                reporter.audio(heard.stream, message.track, message.pts, now)
            heard.take(message, now)
            self._end.set(heard.finishes_at())
        if heard is not None:
            self._alarm.set(reporter.get_timer())

    def _on_alarm(self) -> None:
        now = self._events.now
        if self.heard is not None:
            self._report(self.heard, now)
            if self._reporter.next_ping <= now:
                self._ping += 1
                self._pings[self._ping] = now
                self._reporter.pinged(now)
                self._send(Ping(self._ping))
            self._alarm.set(self._reporter.get_timer())

    def _report(self, heard: Heard, now: float) -> None:
        heard.catch_up(now)
        for hint in self._reporter.poll(now, {heard.stream: heard.position()}, self._rtt_ms):
            self._send(hint)

    def _on_end(self) -> None:
        """The last frame is due: say so at once, so that the server may free the stream."""
        heard, now = self.heard, self._events.now
        if heard is None:
            return
        heard.catch_up(now)
        if heard.finished_at is None:
            self._end.set(heard.finishes_at())
            return
        self._report(heard, now)
        self._reporter.close(heard.stream)
        self.heard = None
        self._alarm.set(None)
        self._on_finished(heard)
