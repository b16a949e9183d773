"""
Coders: what turns a timeline's samples into a rung's packets, made before they are wanted.

An encoder and a resampler take 0.2 ms to make when the caches are cold, 0.4 ms for the first
stream of a process, and a listener's first sound would wait for that. So a few of each kind are
kept ready: a track takes a spare, and makes the next one in a later job. Nothing was ever coded
with a spare, so packets are the same with it and without. A kind has spares only after `stock`: who
never calls it, such as a simulator, makes each coder when it is needed.

It must not know tracks, nor when a job is urgent.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ..audio.libopus import Library
from ..audio.opus import Encoder
from ..audio.resample import SOXR, Resampler, StreamResampler
from ..control.ladder import Rung

SPARES = 8
"""Spares of a kind, 0.1 MB each (measured): streams that may begin at the same moment and all find
one. The next finds none and makes its own. Chosen here."""


@dataclass(frozen=True, slots=True)
class Coder:
    """The codec objects of one track; one thread at a time. `encoder` is None for PCM."""

    encoder: Encoder | None
    resampler: StreamResampler


Kind = tuple[Library, int, str, int, Resampler]
"""Library, Hz of the timeline, family, Hz of the rung, resampler: what one coder can serve by a retune."""

_spares: dict[Kind, deque[Coder]] = {}
"""By kind. A deque's `append` and `pop` are atomic, so that any thread may take and restock."""


def make(library: Library, rung: Rung, rate: int, resampler: Resampler = SOXR) -> Coder:
    """A new coder for `rung`, of a timeline of `rate` Hz."""
    encoder = None
    if rung.codec == "opus":
        encoder = Encoder(
            library, kbps=round(rung.kbps), rate=rung.sample_rate, complexity=library.complexity
        )
    return Coder(encoder, StreamResampler(rate, rung.sample_rate, resampler))


def take(library: Library, rung: Rung, rate: int, resampler: Resampler = SOXR) -> Coder:
    """A coder for `rung` that was never used: a spare, else a new one."""
    try:
        coder = _spares[_kind(library, rung, rate, resampler)].pop()
    except (KeyError, IndexError):
        return make(library, rung, rate, resampler)
    if coder.encoder and coder.encoder.kbps != round(rung.kbps):
        coder.encoder.retune(round(rung.kbps))
    return coder


def stock(library: Library, rung: Rung, rate: int, resampler: Resampler = SOXR) -> None:
    """Keep spares of this kind from now on, and make them."""
    spares = _spares.setdefault(_kind(library, rung, rate, resampler), deque())
    while len(spares) < SPARES:
        spares.append(make(library, rung, rate, resampler))


def restock(library: Library, rung: Rung, rate: int, resampler: Resampler = SOXR) -> None:
    """Make one spare of this kind, if they are kept and one is missing."""
    spares = _spares.get(_kind(library, rung, rate, resampler))
    if spares is not None and len(spares) < SPARES:
        spares.append(make(library, rung, rate, resampler))


def spares_of(library: Library, rung: Rung, rate: int, resampler: Resampler = SOXR) -> int:
    """How many spares of this kind there are."""
    return len(_spares.get(_kind(library, rung, rate, resampler), ()))


def _kind(library: Library, rung: Rung, rate: int, resampler: Resampler) -> Kind:
    return library, rate, rung.family, rung.sample_rate, resampler
