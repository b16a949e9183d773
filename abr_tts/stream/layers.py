"""
The two layers on the sending side: which track each one has, and how the next frames join it.

Within a layer, a rung of the same family retunes the live track, and another family opens a
track that overlaps it by the frame over which the listener fades. It must not know why a rung
was chosen, nor when frames are sent.
"""

from __future__ import annotations

from ..audio.libopus import Library
from ..audio.resample import SOXR, Resampler
from ..control.controller import BANK, Decision, Layer
from ..units import FRAME_TICKS
from ..wire.messages import Switch
from ..wire.messages import Track as TrackMessage
from .outputs import Opened, Switched
from .track import Track


class Layers:
    """
    Args:
        handle: the stream's number on its connection.
        rate: Hz of the timeline.
        library: the libopus that encodes.
        resampler: brings the timeline to a rung's rate.
    """

    def __init__(self, handle: int, rate: int, library: Library, resampler: Resampler = SOXR) -> None:
        self.handle = handle
        """The stream's number on its connection; another one after a reconnect."""
        self._rate = rate
        self._library, self._resampler = library, resampler
        self._live: dict[int, Track] = {}
        self._opened = 0

    def __getitem__(self, rank: int) -> Track | None:
        """The live track of a layer, None before its first."""
        return self._live.get(rank)

    def next_pts(self, rank: int) -> int:
        """The pts at which a layer goes on, 0 before its first track."""
        track = self._live.get(rank)
        return max(0, track.next_pts) if track else 0

    def fed_sample(self, played: int) -> int | None:
        """First sample of the timeline that a track which may go on has not taken yet."""
        going = (t for t in self._live.values() if not t.cut and (t.rank == BANK or t.next_pts > played))
        return min((track.fed_sample for track in going), default=None)

    def seen(self, rank: int, received: int) -> Layer:
        """A layer as controllers see it; `received` is told by the pacer."""
        track = self._live.get(rank)
        return Layer(max(0, track.next_pts), track.rung, received) if track else Layer(0)

    def cut(self, rank: int, pts: int) -> None:
        """The live track of a layer ends at `pts`: what the layer carries from there on is another track."""
        track = self._live.get(rank)
        if track is not None and pts > track.start:
            track.next_pts, track.cut = pts, True
        else:
            self._live.pop(rank, None)

    def join(self, decision: Decision) -> tuple[Track, list[TrackMessage | Switch], list[Opened | Switched]]:
        """
        The track that carries on from `decision.pts` at its rung.

        Returns:
            The track; the messages to send before its next packets; what to notice.
        """
        old = self._live.get(decision.rank)
        joins = old is not None and max(0, old.next_pts) == decision.pts
        if old is None or old.cut or not joins or old.rung.family != decision.rung.family:
            return self._open(decision, old, joins)
        if old.rung == decision.rung:
            return old, [], []
        message, event = self._switch(old, decision, decision.pts, 0)
        old.retune(decision.rung)
        return old, [message], [event]

    def _open(
        self, decision: Decision, old: Track | None, joins: bool
    ) -> tuple[Track, list[TrackMessage | Switch], list[Opened | Switched]]:
        # One frame earlier where the old track holds that frame: the listener fades over it.
        overlap = FRAME_TICKS if old is not None and joins and decision.pts > old.start else 0
        start, rung = decision.pts - overlap, decision.rung
        track = Track(self._opened, decision.rank, rung, start, self._rate, self._library, self._resampler)
        opened = TrackMessage(
            self.handle, track.number, track.rank, rung.name, rung.codec, rung.sample_rate, 1,
            track.start, track.preroll,
        )  # fmt: skip
        messages: list[TrackMessage | Switch] = [opened]
        events: list[Opened | Switched] = [Opened(track.number, track.rank, rung, track.start)]
        beneath = old if joins else self._live.get(BANK) if decision.rank != BANK else None
        self._live[decision.rank] = track
        self._opened += 1
        if beneath is not None:
            length = overlap if joins else FRAME_TICKS
            message, event = self._switch(track, decision, start, length, beneath)
            messages.append(message)
            events.append(event)
        return track, messages, events

    def _switch(
        self, track: Track, decision: Decision, at: int, length: int, before: Track | None = None
    ) -> tuple[Switch, Switched]:
        source, target, reason = (before or track).rung, decision.rung, decision.reason
        message = Switch(
            self.handle, track.number, source.name, target.name, at, length, reason.sentence
        )  # fmt: skip
        return message, Switched(track.number, track.rank, source, target, at, length, reason)
