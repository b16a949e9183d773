"""
The shipped path from speech to a listener's ears, with changes of rung where a script asks.

The server's core, its encoders and the client's player are real; between them lies a list. For
the bench of splices and for tests; what is measured on the sound is `abr_tts.audio.seam`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from abr_tts.audio.libopus import Library
from abr_tts.audio.resample import SOXR, Resampler
from abr_tts.control.controller import BANK, UPGRADE, Controller, Decision, Observation, Reason
from abr_tts.control.ladder import FULL
from abr_tts.stream import player as player_module
from abr_tts.stream import track as track_module
from abr_tts.stream.core import CoreSetup, StreamCore
from abr_tts.stream.decoding import TrackDecoder
from abr_tts.stream.outputs import Encode, Transmit
from abr_tts.stream.player import Player
from abr_tts.stream.playout import AS_FAST_AS_POSSIBLE
from abr_tts.stream.track import EncodeJob
from abr_tts.units import FRAME_TICKS, frame_samples, seconds_to_ticks
from abr_tts.wire.codec import encode
from abr_tts.wire.messages import Audio, BitRateHint, Message, StreamEnd, StreamStarted, Track

STREAM = 1

WHOLE_S = 3_600.0
"""Seconds that the core may send ahead: nothing is reported as played, so that it keeps all."""

LEAD_TICKS = seconds_to_ticks(1.0)
"""What the listener keeps in hand: more than a stretch of any script, so that upgrades come in time."""

WHY = Reason("script", "the script says so")

Int16 = NDArray[np.int16]


class Turns:
    """A bank that takes each of `rungs` in turn, for `frames` frames, to the end of a message."""

    def __init__(self, rungs: Sequence[str], frames: int = 15) -> None:
        self._rungs, self._ticks = rungs, frames * FRAME_TICKS

    def decide(self, seen: Observation) -> Decision | None:
        """The bank's next frames, at the rung whose turn it is."""
        pts = seen.layers[BANK].next_pts
        if pts >= seen.ready:
            return None
        rung = self._rungs[pts // self._ticks % len(self._rungs)]
        return Decision(BANK, FULL[rung], pts, WHY)


class Upgrades:
    """A bank at one rung throughout, and over every second stretch of `frames` frames an upgrade."""

    def __init__(self, bank: str, upgrade: str, frames: int = 15) -> None:
        self._bank, self._upgrade, self._ticks = FULL[bank], FULL[upgrade], frames * FRAME_TICKS

    def decide(self, seen: Observation) -> Decision | None:
        """The bank's frames up to the end of a stretch, then the upgrade's over that stretch."""
        bank, pts = (seen.layers[rank].next_pts for rank in (BANK, UPGRADE))
        stretch = pts // self._ticks
        if stretch % 2 == 0:
            stretch += 1
            pts = stretch * self._ticks
        if bank < min(seen.ready, (stretch + 1) * self._ticks):
            return Decision(BANK, self._bank, bank, WHY)
        return Decision(UPGRADE, self._upgrade, pts, WHY) if pts < seen.ready else None


def messages(
    pcm: Int16, rate: int, controller: Controller, library: Library, resampler: Resampler = SOXR
) -> list[Message]:
    """
    All that a server sends for `pcm` (int16, shape (n,), `rate` Hz), `StreamStarted` first.

    The listener acknowledges each message at once and reports none as played.
    """
    setup = CoreSetup(STREAM, rate, controller, library, max_lead_s=WHOLE_S, resampler=resampler)
    core = StreamCore(setup, 0.0)
    server = _Server(core)
    server.run()
    core.push_pcm(pcm, 0.0)
    server.run()
    core.end_pcm(0.0)
    server.run()
    return [StreamStarted(STREAM, "id", "token", "voice", rate, 1, "", ""), *server.sent]


class _Server:
    """A core with its driver: codec jobs run in place, every write succeeds at once."""

    def __init__(self, core: StreamCore) -> None:
        self._core, self._bytes = core, 0
        self._jobs: deque[EncodeJob] = deque()
        self._waiting: deque[Message] = deque()
        self.sent: list[Message] = []

    def run(self) -> None:
        """Go on until the core has nothing more to do."""
        self._drain()
        while self._jobs or self._waiting:
            if self._jobs:
                job = self._jobs.popleft()
                self._core.encoded(job, job.run(), 0.0)
            else:
                self._send(self._waiting.popleft())
            self._drain()

    def _send(self, message: Message) -> None:
        size = len(encode(message))
        self._bytes += size
        self.sent.append(message)
        self._core.sent(size, 0.0)
        self._drain()
        self._core.report(BitRateHint(STREAM, self._bytes, 0, 0), 0.0)

    def _drain(self) -> None:
        while (output := self._core.poll()) is not None:
            if isinstance(output, Encode):
                self._jobs.append(output.job)
            elif isinstance(output, Transmit):
                self._waiting.append(output.message)


def _hard_cut(old: NDArray[np.float32], new: NDArray[np.float32]) -> NDArray[np.float32]:
    half = len(old) // 2
    return np.concatenate([old[:half], new[half:]])


def _no_lookahead(kbps: int, rate: int) -> int:
    return 0


FAULTS = {
    "hard_cut": (player_module, "cross_fade", _hard_cut),
    "no_lookahead": (track_module, "track_lookahead", _no_lookahead),
}
"""What a meter of splices must see: one track ends and the other begins at one sample; encoders
are not fed in advance, so that what they code comes 312 ticks late."""


@contextmanager
def faulty(name: str) -> Iterator[None]:
    """The path with one of FAULTS in it."""
    module, function, instead = FAULTS[name]
    with patch.object(module, function, instead):
        yield


@dataclass(frozen=True, slots=True)
class Join:
    """The frame at `pts` is the first that the listener heard of `target`."""

    pts: int
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Heard:
    """What a listener heard: int16, shape (n,), at the output rate; and where the rung changed."""

    sound: Int16
    joins: tuple[Join, ...]


def hear(sent: Iterable[Message], library: Library, out_rate: int, resampler: Resampler = SOXR) -> Heard:
    """Play a server's messages to the end, LEAD_TICKS behind what has come."""
    player = Player(library, out_rate, start_ticks=AS_FAST_AS_POSSIBLE, resampler=resampler)
    sound, rungs = [np.zeros(0, np.int16)], []
    until = 0
    for message in sent:
        player.on_message(message)
        if isinstance(message, Audio):
            until = max(until, message.pts + len(message.packets) * FRAME_TICKS - LEAD_TICKS)
        while player.can_render and (player.played < until or isinstance(message, StreamEnd)):
            frame = player.render()
            assert frame is not None, "the player said that it can render"
            sound.append(frame)
            rungs.append(player.rung_played)
    return Heard(np.concatenate(sound), tuple(_joins(rungs)))


def _joins(rungs: Sequence[str | None]) -> Iterator[Join]:
    """From the rung of each frame to the frames at which it is another one."""
    for frame, (source, target) in enumerate(pairwise(rungs), 1):
        if source and target and source != target:
            yield Join(frame * FRAME_TICKS, source, target)


class Alone:
    """Each track of a server's messages, heard by itself for a few frames."""

    def __init__(
        self, sent: Iterable[Message], library: Library, out_rate: int, resampler: Resampler = SOXR
    ) -> None:
        self._frame = frame_samples(out_rate)
        self._tracks: list[tuple[Track, TrackDecoder]] = []
        self._ends: dict[int, int] = {}
        decoders: dict[int, TrackDecoder] = {}
        for message in sent:
            if isinstance(message, Track):
                decoders[message.track] = TrackDecoder(message, library, out_rate, resampler)
                self._tracks.append((message, decoders[message.track]))
            elif isinstance(message, Audio):
                decoders[message.track].push(message.packets)
                self._ends[message.track] = message.pts + len(message.packets) * FRAME_TICKS

    def frame(self, rung: str, pts: int) -> NDArray[np.float32]:
        """
        The frame at `pts` of the newest track at `rung` that holds it; calls ask for growing pts.

        Raises:
            LookupError: there is none.
        """
        for track, decoder in reversed(self._tracks):
            if track.rung == rung and track.start <= pts < self._ends.get(track.track, 0):
                return decoder.frame(pts, last=False)
        raise LookupError(f"no track at {rung} holds the frame at {pts}")
