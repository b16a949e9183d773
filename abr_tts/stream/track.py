"""
A track on the sending side: one run of contiguous packets from one encoder.

A track turns frames of the timeline into packets. Encoding is slow, so it is cut into jobs:
the core takes a job from the track (copying the samples it needs), somebody runs it, on a
thread or in place, and its packets come back to the core. One job of a track at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..audio.libopus import Library
from ..audio.opus import track_lookahead
from ..audio.pcm import encode_pcm16, to_float, to_int16, ulaw_encode
from ..audio.resample import SOXR, Resampler, lag_frames
from ..audio.timeline import Timeline
from ..control.ladder import Rung
from ..units import FRAME_TICKS, frame_samples
from . import coders
from .coders import Coder

PREROLL_PACKETS = 2
"""
Packets before a new Opus track's first played frame: 40 ms, decoded and dropped, so that a
fresh decoder has settled (RFC 7845 section 4.6 asks for 80 ms; with a fresh encoder 40 ms
leave an excess residual of 0.3 dB on speech).
"""

PREROLL_AT_START = 1
"""At pts 0 there is only silence before: one packet carries the encoder's lookahead."""

CONTEXT_FRAMES = 1
"""Frames fed to a track's resampler before its first output is kept: 20 ms; 10 ms of context
already equal the unbroken stream to -97 dB."""

RESTOCK_JOB = 3
"""The job of a track in which the spare coder that it took is replaced. The first brings the frame
that the listener waits for, the second what a player wants before it begins (200 ms)."""

HUM_FRAMES, HUM_HZ = 10, 110
"""What `prepare` codes: a sawtooth, because of silence a codec skips half its work."""

Int16 = npt.NDArray[np.int16]
Float32 = npt.NDArray[np.float32]


class Packetiser:
    """
    The codec state of one track: engine-rate samples in, packets out, in order.

    It is touched by one job at a time, on whatever thread runs it, and takes its coder there.
    """

    def __init__(self, rung: Rung, rate: int, library: Library, resampler: Resampler = SOXR) -> None:
        self._rung = rung
        self._kind = library, rung, rate, resampler
        self._samples = frame_samples(rung.sample_rate)
        self._drop = CONTEXT_FRAMES * self._samples
        self._rest: Float32 = np.zeros(0, np.float32)
        if rung.codec == "opus":
            self._drop += track_lookahead(round(rung.kbps), rung.sample_rate)
        self._coder: Coder | None = None
        self._jobs = 0

    def retune(self, kbps: float) -> None:
        """The packets from here on at another bitrate of the same family."""
        if self._coder and self._coder.encoder:
            self._coder.encoder.retune(round(kbps))

    def packets(self, pcm: Int16, count: int) -> list[bytes]:
        """
        Feed `pcm` (int16, engine rate) and take `count` packets of 20 ms.

        Raises:
            RuntimeError: too little was fed; the core asked before the lag was covered.
        """
        coder = self._coder = self._coder or coders.take(*self._kind)
        have = np.concatenate([self._rest, coder.resampler.push(to_float(pcm))])
        dropped = min(self._drop, len(have))
        self._drop -= dropped
        need = count * self._samples
        frames = have[dropped : dropped + need]
        if len(frames) < need:
            raise RuntimeError(f"{len(frames)} samples for {count} frames of {self._samples}")
        self._rest = have[dropped + need :]
        encode = coder.encoder.encode if coder.encoder else self._encode_pcm
        packets = [encode(frame) for frame in frames.reshape(count, self._samples)]
        self._jobs += 1
        if self._jobs == RESTOCK_JOB:
            coders.restock(*self._kind)
        return packets

    def close(self) -> None:
        """Nothing more is to be coded: a coder takes 0.2 MB, and the listener may play on for long."""
        self._coder, self._rest = None, np.zeros(0, np.float32)

    def _encode_pcm(self, frame: Float32) -> bytes:
        return _BYTES_OF[self._rung.codec](to_int16(frame))


class Verbatim:
    """A PCM track at the engine's own rate: the samples themselves, no filter, no lag."""

    def __init__(self, rung: Rung) -> None:
        self._samples = frame_samples(rung.sample_rate)
        self._bytes = _BYTES_OF[rung.codec]

    def retune(self, kbps: float) -> None:
        """A PCM rung is a family of its own."""

    def close(self) -> None:
        """It holds nothing."""

    def packets(self, pcm: Int16, count: int) -> list[bytes]:
        """The `count` frames of `pcm` as bytes."""
        return [self._bytes(frame) for frame in pcm.reshape(count, self._samples)]


_BYTES_OF: dict[str, Callable[[Int16], bytes]] = {"pcm16": encode_pcm16, "ulaw": ulaw_encode}


def is_verbatim(rung: Rung, rate: int) -> bool:
    """Whether `rung` sends the samples of a `rate` Hz timeline as they are."""
    return rung.codec != "opus" and rung.sample_rate == rate


def encode_lag(rung: Rung, rate: int) -> int:
    """Frames of later speech that must exist before a frame can be encoded at `rung`."""
    return 0 if is_verbatim(rung, rate) else lag_frames(rate, rung.sample_rate)


@dataclass(slots=True, eq=False)
class EncodeJob:
    """
    Work for a thread: `run()` gives the packets from `pts` on, which return to the core.

    Run `cheap` jobs in place. Most cost less than a hop to a thread (some 10 microseconds); an
    utterance's first Opus job costs 0.6 ms, but somebody waits for it, and with fifty streams the
    threads' turn comes 10 ms later (tools/bench/first_audio).
    """

    track: int
    rank: int
    rung: Rung
    pts: int
    frames: int
    """Packets that the job gives, pre-roll among them."""
    cheap: bool
    _coder: Packetiser | Verbatim = field(repr=False)
    _pcm: Int16 = field(repr=False)
    _retune: float | None = None
    _last: bool = False
    """The speech ends with it, and so does its track."""

    def run(self) -> list[bytes]:
        """Encode; blocking. Exactly `frames` packets."""
        if self._retune is not None:
            self._coder.retune(self._retune)
        packets = self._coder.packets(self._pcm, self.frames)
        if self._last:
            self._coder.close()
        return packets


class Track:
    """
    One track: contiguous packets from `start - 960·preroll` on.

    Args:
        number: names the track on the wire.
        rank: 0 bank, 1 upgrade.
        rung: what it is coded as; another rung of the family by `retune`.
        start: pts of the first frame that may be played.
        rate: Hz of the timeline.
        resampler: brings the timeline to the rung's rate.
    """

    def __init__(
        self,
        number: int,
        rank: int,
        rung: Rung,
        start: int,
        rate: int,
        library: Library,
        resampler: Resampler = SOXR,
    ) -> None:
        self.number, self.rank, self.rung, self.start = number, rank, rung, start
        self.preroll = 0
        if rung.codec == "opus":
            self.preroll = PREROLL_PACKETS if start else PREROLL_AT_START
        verbatim = is_verbatim(rung, rate)
        self._coder = Verbatim(rung) if verbatim else Packetiser(rung, rate, library, resampler)
        self.cheap = verbatim
        self._frame = frame_samples(rate)
        self._lag = encode_lag(rung, rate)
        self.next_pts = start - self.preroll * FRAME_TICKS
        self.cut = False
        """It is not continued: the connection that carried it was lost."""
        context = 0 if verbatim else CONTEXT_FRAMES
        self._fed = self.next_pts // FRAME_TICKS - context
        self._retune: float | None = None

    @property
    def fed_sample(self) -> int:
        """First sample of the timeline that this track has not taken yet."""
        return self._fed * self._frame

    def retune(self, rung: Rung) -> None:
        """From the next job on, another rung of the same family."""
        if rung.family != self.rung.family:
            raise ValueError(f"{rung.name} is not of the family {self.rung.family}")
        self.rung = rung
        self._retune = rung.kbps

    def job(self, timeline: Timeline, until: int) -> EncodeJob:
        """
        The job for the frames from `next_pts` up to `until` (pts, exclusive).

        Raises:
            LookupError: the timeline does not hold what the job needs.
        """
        frames = (until - self.next_pts) // FRAME_TICKS
        stop = until // FRAME_TICKS + self._lag
        pcm = timeline.read(self._fed * self._frame, stop * self._frame)
        job = EncodeJob(
            self.number, self.rank, self.rung, self.next_pts, frames, self.cheap or self.next_pts < 0,
            self._coder, pcm, self._retune, timeline.ended and until >= timeline.ready,
        )  # fmt: skip
        self._fed, self.next_pts, self._retune = stop, until, None
        return job


def prepare(library: Library, rate: int, rungs: Iterable[Rung], resampler: Resampler = SOXR) -> None:
    """
    Get ready for tracks of `rungs` on timelines of `rate` Hz: call it before the first stream.

    What takes long the first time is done here, some 20 ms for a whole ladder: measuring how late
    the resamplers are, loading and running the codecs, and making spare coders.
    """
    timeline = Timeline(rate)
    hum = np.arange(HUM_FRAMES * frame_samples(rate)) * HUM_HZ / rate % 1.0 - 0.5
    timeline.append(to_int16(hum.astype(np.float32)))
    timeline.end()
    for rung in {rung.family: rung for rung in rungs}.values():
        encode_lag(rung, rate)
        Track(0, 0, rung, 0, rate, library, resampler).job(timeline, timeline.ready).run()
        if not is_verbatim(rung, rate):
            coders.stock(library, rung, rate, resampler)
