"""
How audible a join is: what a listener heard around it, against the tracks that were joined.

Each measure is blind to something: those of clicks to misalignment, the lag of a track to
clicks. `Bounds` holds a row of them to what this house promises. Knows samples and where a fade
begins; it must not know tracks, codecs or who faded.

Sound is float64, shape (n,), full scale at ±1.0, all on one time line; `at` is the sample at
which a fade of 20 ms begins. *Whole* tracks are what would have been heard without any join. The
two tracks of a fade *as sent* are 40 ms each: the old one up to the end of the fade, the new one
from its beginning on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ..units import TICKS_PER_SECOND, frame_samples
from .pcm import FULL_SCALE

Sound = NDArray[np.float64]

HIGH_HZ = 12_600.0
"""Above this no rung of the ladder carries sound (24 kHz Opus ends at 12 kHz): what is there was made
by a join, or by rounding."""

STEP = 1 / FULL_SCALE
"""One step of int16."""

ROUNDING_POWER = STEP**2 / 12
"""Power of rounding to int16, over all frequencies. A fade is rounded once more than each of its
tracks, which a decoder of Opus in fixed point has rounded already."""

SHARPEST_ROUNDING = 4 * STEP
"""The second difference that rounding alone can make (½ + 1 + ½ steps), in each of two tracks."""

AUDIBLE = 10 ** (-50 / 20)
"""RMS of -50 dBFS, below which a dip in a 10 ms window is not heard as one."""

LAG_BAND_HZ = (100.0, 3_500.0)
"""The band that every rung keeps, in which lags are measured."""

LAG_WINDOW, LAG_FINE = 4096, 32
"""Samples in a window of the cross-spectrum, and how finely its peak is found: to 1/32 sample."""


def high_energy_db(heard: Sound, tracks: Sequence[Sound], at: int, rate: int) -> float:
    """
    Energy above 12.6 kHz within ±20 ms of the fade's middle, over the louder of the whole tracks, dB.

    The fade's own rounding is granted: in a pause it is all there is.

    Raises:
        ValueError: a rate that has nothing up there.
    """
    if rate / 2 <= HIGH_HZ:
        raise ValueError(f"{rate} Hz holds nothing above {HIGH_HZ:.0f} Hz")
    frame = frame_samples(rate)
    around = slice(at + frame // 2 - frame, at + frame // 2 + frame)
    loudest = max(_high_power(track[around], rate) for track in tracks)
    rounding = ROUNDING_POWER * (1 - HIGH_HZ / (rate / 2))
    return _db(_high_power(heard[around], rate) / (loudest + rounding))


def _high_power(piece: Sound, rate: int) -> float:
    """Mean power of what is above HIGH_HZ, under a Hann window."""
    window = np.hanning(len(piece))
    spectrum = np.abs(np.fft.rfft(piece * window)) ** 2
    high = np.fft.rfftfreq(len(piece), 1 / rate) > HIGH_HZ
    return float(2 * spectrum[high].sum() / (len(piece) * np.sum(window**2)))


def bend(heard: Sound, tracks: Sequence[Sound], sent: Sequence[Sound], at: int, rate: int) -> float:
    """
    The sharpest bend (second difference) of the fade and its borders, over that of the unspliced tracks.

    Those are the whole `tracks` within ±20 ms of the fade's middle, and the two as `sent`, each in
    the half of the fade where it is the louder: two runs of one encoder differ by up to a sixth
    without any join (measured at 64 kbit/s). Beyond the borders one track sounds alone.
    """
    frame = frame_samples(rate)
    middle = at + frame // 2
    around = slice(max(0, middle - frame), middle + frame)
    old, new = sent
    louder = old[frame - 2 : frame + frame // 2], new[frame // 2 : frame + 2]
    alone = [*(track[around] for track in tracks), *louder]
    sharpest = max([SHARPEST_ROUNDING, *map(_sharpest, alone)])
    return _sharpest(heard[max(0, at - 2) : at + frame + 2]) / sharpest


def _sharpest(piece: Sound) -> float:
    """The largest second difference."""
    return float(np.abs(np.diff(piece, 2)).max())


def residual_db(heard: Sound, tracks: Sequence[Sound], source: Sound, at: int, rate: int) -> float:
    """
    Distance from the source in the fade and the 40 ms after it, over that of the worse whole track, dB.

    A new encoder that has not settled shows here.
    """
    piece = slice(at, at + 3 * frame_samples(rate))

    def distance(sound: Sound) -> float:
        return float(np.mean((sound[piece] - source[piece]) ** 2)) + ROUNDING_POWER

    return _db(distance(heard) / max(map(distance, tracks)))


def gain_dip_db(heard: Sound, sent: Sequence[Sound], source: Sound, at: int, rate: int) -> float:
    """
    The deepest dip of a 10 ms window of the fade below the quieter of both tracks, dB; 0 if none.

    Both as sent: two runs of one encoder are up to 5 dB apart in such a window without any join
    (measured at 12 kbit/s). Windows count where the source and both tracks are AUDIBLE.
    """
    ratios, frame = [0.0], frame_samples(rate)
    pair, fade = (sent[0][frame:], sent[1][:frame]), slice(at, at + frame)
    for window in _windows(0, frame, rate):
        quieter = min(_rms(track[window]) for track in pair)
        if min(quieter, _rms(source[fade][window])) > AUDIBLE:
            ratios.append(_db((_rms(heard[fade][window]) / quieter) ** 2))
    return min(ratios)


def tone_deviation(heard: Sound, tracks: Sequence[Sound], at: int, rate: int, hz: float) -> float:
    """
    How far a tone leaves the amplitudes of the whole tracks around the fade: 0.02 is 2 %.

    A fade of tracks out of step cancels a tone, which no meter of clicks sees.
    """
    worst, frame = 0.0, frame_samples(rate)
    for window in _windows(at - frame // 2, at + 2 * frame, rate):
        level = _amplitude(heard[window], rate, hz)
        whole = [_amplitude(track[window], rate, hz) for track in tracks]
        worst = max(worst, 1 - level / min(whole), level / max(whole) - 1)
    return worst


def _windows(start: int, stop: int, rate: int) -> Iterable[slice]:
    """10 ms windows, one each 2.5 ms, that lie within start … stop - 1."""
    size = frame_samples(rate) // 2
    return (slice(first, first + size) for first in range(max(0, start), stop - size + 1, size // 4))


def _amplitude(piece: Sound, rate: int, hz: float) -> float:
    """Of a tone of `hz`, under a Hann window; in units of its own."""
    turning = np.exp(-2j * np.pi * hz / rate * np.arange(len(piece)))
    return float(abs(np.sum(piece * np.hanning(len(piece)) * turning)))


def lag(source: Sound, track: Sound, rate: int) -> float:
    """
    Samples at 48 kHz by which `track` comes late, to 1/32 of a sample at `rate`.

    The peak of the cross-correlation over all of both, in the band that every rung keeps.
    """
    size, window = LAG_WINDOW, np.hanning(LAG_WINDOW)
    cross = np.zeros(size // 2 + 1, complex)
    for first in range(0, min(len(source), len(track)) - size + 1, size // 2):
        one, other = (np.fft.rfft(sound[first : first + size] * window) for sound in (source, track))
        cross += one.conj() * other
    hz = np.fft.rfftfreq(size, 1 / rate)
    cross[(hz < LAG_BAND_HZ[0]) | (hz > LAG_BAND_HZ[1])] = 0
    return _peak(np.fft.irfft(cross, size * LAG_FINE)) / LAG_FINE * TICKS_PER_SECOND / rate


def _peak(around_zero: Sound) -> int:
    """Where a circular array is largest; its second half stands before zero."""
    place = int(np.argmax(around_zero))
    return place - len(around_zero) if place > len(around_zero) // 2 else place


def shift(track: Sound, heard: Sound, most: int) -> int:
    """
    Samples by which `heard` comes late against `track`, within ±`most`: where they differ least.

    Both shape (n,), n > 2·most. 0 for silence, and where the difference is not halved: two runs of
    an encoder over a steady vowel may agree best a period apart.
    """
    inner = heard[most : len(heard) - most]
    if _rms(inner) < AUDIBLE:
        return 0
    size = 1 << (len(track) + len(inner)).bit_length()
    product = np.fft.irfft(np.fft.rfft(track, size) * np.fft.rfft(inner, size).conj(), size)
    power = np.concatenate([[0.0], np.cumsum(track**2)])
    distance = np.sum(inner**2) + power[len(inner) :] - power[: -len(inner)] - 2 * product[: 2 * most + 1]
    least = max(float(distance.min()), ROUNDING_POWER * len(inner))
    return most - int(np.argmin(distance)) if distance[most] > 2 * least else 0


@dataclass(frozen=True, slots=True)
class Row:
    """
    The worst of all joins of one kind.

    Args:
        n: joins of each signal at each output rate, the fewest.
        hf_db_max: of `high_energy_db`.
        d2_max: of `bend`, on speech and tone.
        d2_sweep_max: of `bend`, on a sweep.
        residual_db_median: of `residual_db`; the worst signal's median.
        gain_dip_db_min: of `gain_dip_db`, on speech.
        tone_amp_dev_max: of `tone_deviation`.
        lost_samples: samples by which anything that was heard, or its length, was displaced.
    """

    n: int
    hf_db_max: float
    d2_max: float
    d2_sweep_max: float
    residual_db_median: float
    gain_dip_db_min: float
    tone_amp_dev_max: float
    lost_samples: int


@dataclass(frozen=True, slots=True)
class Bounds:
    """What must hold of every row."""

    n: int = 40
    hf_db_max: float = 1.0
    d2_max: float = 1.1
    d2_sweep_max: float = 1.5
    residual_db_median: float = 0.0
    gain_dip_db_min: float = -3.0
    tone_amp_dev_max: float = 0.02
    lost_samples: int = 0

    def faults(self, row: Row) -> list[str]:
        """The names of the measures that `row` misses."""
        return [field.name for field in fields(self) if not self._holds(field.name, getattr(row, field.name))]

    def _holds(self, name: str, value: float) -> bool:
        bound: float = getattr(self, name)
        return value >= bound if name in AT_LEAST else value <= bound


AT_LEAST = frozenset({"n", "gain_dip_db_min"})
"""Measures whose bound is a least, not a most."""

RETUNE_HF_DB = 2.5
"""Bound of `high_energy_db` where an encoder is retuned, without a fade."""


def lag_bound(family: str) -> float:
    """
    Bound of the `lag` of a whole track, samples at 48 kHz.

    In hybrid packets SILK below 8 kHz comes two samples before CELT above it, and one advance
    serves both.
    """
    return 2.5 if family == "opus-hybrid" else 0.5


def _rms(piece: Sound) -> float:
    return float(np.sqrt(np.mean(piece**2)))


def _db(ratio: float) -> float:
    """Of a ratio of powers."""
    return float(10 * np.log10(max(ratio, 1e-30)))
