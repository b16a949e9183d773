"""
What the meter of `abr_tts.audio.seam` says of each join that a listener heard.

Shared by the bench of splices and the tests of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from abr_tts.audio import seam
from abr_tts.audio.libopus import Library
from abr_tts.audio.pcm import FULL_SCALE, to_float, to_int16
from abr_tts.audio.resample import SOXR, Resampler, convert
from abr_tts.units import FRAME_TICKS, convert_length, frame_samples
from abr_tts.wire.messages import Message

from ..signals import speech_like
from .splicing import Alone, Heard, Int16, Join, hear

TONE_HZ = 997.0
"""The tone of 1 kHz: a prime, as AES17 has it, so that frames of 20 ms begin at ever other phases."""

SPEECH, TONE, SWEEP = "speech", "tone", "sweep"


SYLLABLES_HZ = 20_000
"""Rate at which syllables are made: as in speech, little lies above 9 kHz. Noise up there is to two
codecs two noises, of which a fade of equal gain loses 3 dB."""


def syllables(rate: int, seconds: float, seed: int = 2) -> Int16:
    """Speech by rule at `rate` Hz, int16, shape (rate·seconds,)."""
    return to_int16(convert(to_float(speech_like(SYLLABLES_HZ, seconds, seed)), SYLLABLES_HZ, rate))


@dataclass(frozen=True, slots=True)
class Case:
    """
    One signal on its way to one output rate.

    Args:
        signal: `speech`, `tone` or `sweep`.
        pcm: what the engine says, int16, shape (n,), at `rate` Hz.
        out_rate: Hz that the listener hears.
        resampler: of the listener; what is ideal, soxr says.
    """

    signal: str
    pcm: Int16
    rate: int
    out_rate: int
    resampler: Resampler = SOXR

    @property
    def source(self) -> seam.Sound:
        """What an ideal listener would hear."""
        return convert(to_float(self.pcm), self.rate, self.out_rate).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Measured:
    """One join; `high_db` is NaN where the rate holds nothing up there, `tone` where there is no tone."""

    signal: str
    out_rate: int
    join: Join
    high_db: float
    bend: float
    residual_db: float
    dip_db: float
    tone: float
    lost: int


def as_sound(sound: Int16) -> seam.Sound:
    """int16 as heard → float64, full scale at ±1.0."""
    return sound.astype(np.float64) / FULL_SCALE


def high_energies(
    case: Case, sent: Sequence[Message], wholes: Mapping[str, Int16], library: Library
) -> list[tuple[Join, float]]:
    """`seam.high_energy_db` of each change inside a track, where nothing fades."""
    heard = hear(sent, library, case.out_rate, case.resampler)
    sound = as_sound(heard.sound)
    tracks = {rung: as_sound(track) for rung, track in wholes.items()}
    return [
        (join, seam.high_energy_db(sound, (tracks[join.source], tracks[join.target]), at, case.out_rate))
        for join in heard.joins
        if (at := join.pts // FRAME_TICKS * frame_samples(case.out_rate)) + case.out_rate // 10 <= len(sound)
    ]


def measure(
    case: Case, sent: Sequence[Message], wholes: Mapping[str, Int16], library: Library
) -> list[Measured]:
    """Every join of a case that was `sent`; `wholes` has the case at each of its rungs."""
    heard = hear(sent, library, case.out_rate, case.resampler)
    return list(_Meter(case, sent, heard, wholes, library).joins())


class _Meter:
    """One case, as it was sent and heard."""

    def __init__(
        self, case: Case, sent: Sequence[Message], heard: Heard, wholes: Mapping[str, Int16], library: Library
    ) -> None:
        self._case, self._rate, self._heard = case, case.out_rate, heard
        self._frame = frame_samples(self._rate)
        self._sound = as_sound(heard.sound)
        self._wholes = {rung: as_sound(sound) for rung, sound in wholes.items()}
        self._source = case.source
        self._alone = Alone(sent, library, self._rate, case.resampler)

    def joins(self) -> Iterator[Measured]:
        """All that have room for the windows around them."""
        wanted = convert_length(len(self._case.pcm), self._case.rate, self._rate)
        lost = abs(len(self._sound) - wanted)
        for join, end in self._segments():
            if self._at(join.pts) + 4 * self._frame <= len(self._sound):
                yield self._measured(join, lost + self._displaced(join, end))
                lost = 0

    def _segments(self) -> Iterator[tuple[Join, int]]:
        """Each join, and the sample at which the next one begins."""
        ends = [self._at(join.pts) for join in self._heard.joins[1:]] + [len(self._sound)]
        return zip(self._heard.joins, ends, strict=True)

    def _at(self, pts: int) -> int:
        return pts // FRAME_TICKS * self._frame

    def _measured(self, join: Join, lost: int) -> Measured:
        at, rate, heard = self._at(join.pts), self._rate, self._sound
        tracks = (self._wholes[join.source], self._wholes[join.target])
        high = rate / 2 > seam.HIGH_HZ
        tone = self._case.signal == TONE
        sent = self._as_sent(join)
        return Measured(
            self._case.signal, rate, join,
            seam.high_energy_db(heard, tracks, at, rate) if high else np.nan,
            seam.bend(heard, tracks, sent, at, rate),
            seam.residual_db(heard, tracks, self._source, at, rate),
            seam.gain_dip_db(heard, sent, self._source, at, rate),
            seam.tone_deviation(heard, tracks, at, rate, TONE_HZ) if tone else np.nan,
            lost,
        )  # fmt: skip

    def _as_sent(self, join: Join) -> tuple[seam.Sound, seam.Sound]:
        """The old track up to the end of the fade, the new one from its beginning on, 40 ms each."""
        here, before, after = join.pts, join.pts - FRAME_TICKS, join.pts + FRAME_TICKS
        old = [self._alone.frame(join.source, pts) for pts in (before, here)]
        new = [self._alone.frame(join.target, pts) for pts in (here, after)]
        return np.concatenate(old).astype(float), np.concatenate(new).astype(float)

    def _displaced(self, join: Join, end: int) -> int:
        """Samples by which what follows the join is early or late against the whole track."""
        begin, most = self._at(join.pts) + self._frame, self._frame * 5 // 4
        if end - begin < 4 * most or self._case.signal == TONE:  # a tone repeats itself
            return 0
        piece = slice(begin, end)
        return abs(seam.shift(self._wholes[join.target][piece], self._sound[piece], most))


def row(measured: Iterable[Measured]) -> seam.Row:
    """The worst of joins of one kind, over signals and output rates."""
    groups: dict[tuple[str, int], list[Measured]] = {}
    for one in measured:
        groups.setdefault((one.signal, one.out_rate), []).append(one)
    every = [one for group in groups.values() for one in group]
    sweeps = [one for one in every if one.signal == SWEEP]
    speech = [one for one in every if one.signal == SPEECH]
    return seam.Row(
        n=min(map(len, groups.values())),
        hf_db_max=float(np.nanmax([one.high_db for one in every])),
        d2_max=max(one.bend for one in every if one.signal != SWEEP),
        d2_sweep_max=max((one.bend for one in sweeps), default=0.0),
        residual_db_median=max(median(one.residual_db for one in group) for group in groups.values()),
        gain_dip_db_min=min((one.dip_db for one in speech), default=0.0),
        tone_amp_dev_max=float(np.nanmax([0.0, *(one.tone for one in every)])),
        lost_samples=sum(one.lost for one in every),
    )
