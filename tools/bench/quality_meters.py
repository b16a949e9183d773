"""
How good speech sounds, by two meters that compare it with its source: PESQ and ViSQOL.

PESQ is ITU-T P.862.2 (wide band, 16 kHz), of the package `pesq`; ViSQOL is version 3 in its audio
mode (48 kHz), of `visqol-python`. Both give 1 for what nobody wants to hear, and 4.64 and 4.73 for
the source itself; the utility of a rung is their mean, from 0 to 1.
"""

from __future__ import annotations

import importlib.util
import logging
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abr_tts.audio.pcm import to_float
from abr_tts.audio.resample import convert

Int16 = NDArray[np.int16]

PESQ_RATE, VISQOL_RATE = 16_000, 48_000
"""Hz that the meters take."""

WORST, SPAN = 1.0, 3.69
"""Mean of the two meters where utility is 0, and from there to the source itself, where it is 1."""

SHORTEST_S = 0.5
"""Of less than this the meters make nothing (PESQ wants a quarter of a second of speech)."""


def missing(*packages: str) -> str | None:
    """What is not installed of what the meters need, as a clause; None if nothing lacks."""
    lacks = [name for name in packages or ("pesq", "visqol") if importlib.util.find_spec(name) is None]
    return f"not installed: {', '.join(lacks)} (pip install '.[bench]')" if lacks else None


def at_rate(sound: Int16, rate: int, wanted: int) -> NDArray[np.float64]:
    """`sound` (int16, `rate` Hz) at `wanted` Hz, full scale at ±1."""
    floats = to_float(sound)
    return (floats if rate == wanted else convert(floats, rate, wanted)).astype(np.float64)


def pesq_of(source: Int16, heard: Int16, source_rate: int, heard_rate: int) -> float | None:
    """
    PESQ-WB of `heard` against `source`, 1.0 to 4.64.

    Returns:
        None where the meter finds no speech, or too little.
    """
    from pesq import PesqError, pesq

    pair = [at_rate(source, source_rate, PESQ_RATE), at_rate(heard, heard_rate, PESQ_RATE)]
    if min(map(len, pair)) < SHORTEST_S * PESQ_RATE:
        return None
    try:
        return float(pesq(PESQ_RATE, *pair, "wb"))
    except PesqError:
        return None


def visqol_of(source: Int16, heard: Int16, source_rate: int, heard_rate: int) -> float | None:
    """
    ViSQOL of `heard` against `source`, 1.0 to 4.73; 0.3 s of work for a second of speech.

    Returns:
        None where there is too little of it.
    """
    pair = [at_rate(source, source_rate, VISQOL_RATE), at_rate(heard, heard_rate, VISQOL_RATE)]
    if min(map(len, pair)) < SHORTEST_S * VISQOL_RATE:
        return None
    return float(_visqol().measure_from_arrays(*pair, VISQOL_RATE).moslqo)


def utility(pesq: float, visqol: float) -> float:
    """u = (mean(PESQ-WB, ViSQOL) - 1) / 3.69: 1 for what cannot be told from the source."""
    return ((pesq + visqol) / 2 - WORST) / SPAN


@cache
def _visqol() -> Any:
    from visqol import VisqolApi

    logging.getLogger("visqol").setLevel(logging.WARNING)
    api = VisqolApi()
    api.create(mode="audio")
    return api
