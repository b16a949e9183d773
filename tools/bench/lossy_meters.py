"""
How good a received sound is, against what was sent: PESQ, where it is installed, and segmental SNR.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from quality_meters import missing, pesq_of

from abr_tts.audio.pcm import to_int16

CLIP_S = 8.0
"""Seconds of a clip that PESQ judges; it was made for 6 to 20 s (ITU-T P.862.3)."""

SEGMENT_S = 0.02
LOWEST_DB, HIGHEST_DB = -10.0, 35.0
"""Bounds of a segment's SNR, as usual (Quackenbush et al. 1988): beyond, nobody hears a difference."""

ACTIVE_DBFS = -50.0
"""Segments of the source below this are pauses and do not count."""

Float32 = npt.NDArray[np.float32]


def judge(source: Float32, received: Float32, rate: int) -> dict[str, float]:
    """
    Args:
        source, received: float32 at `rate` Hz, sample by sample the same speech; the longer is cut.

    Returns:
        `seg_snr_db`, and `pesq` (wide band, 1.0 to 4.6) where it can be measured.
    """
    size = min(len(source), len(received))
    source, received = source[:size], received[:size]
    found = {"seg_snr_db": segmental_snr_db(source, received, rate)}
    score = pesq_wb(source, received, rate)
    return found if score is None else {"pesq": score, **found}


def segmental_snr_db(source: Float32, received: Float32, rate: int) -> float:
    """Mean over the segments in which there is speech; each is bounded."""
    size = round(SEGMENT_S * rate)
    count = len(source) // size
    clean = source[: count * size].reshape(count, size).astype(np.float64)
    error = clean - received[: count * size].reshape(count, size)
    signal, noise = (clean**2).mean(axis=1), (error**2).mean(axis=1)
    active = signal > 10 ** (ACTIVE_DBFS / 10)
    ratio = 10 * np.log10(signal[active] / np.maximum(noise[active], 1e-12))
    return float(np.clip(ratio, LOWEST_DB, HIGHEST_DB).mean())


def pesq_wb(source: Float32, received: Float32, rate: int) -> float | None:
    """Mean of the clips; None where `pesq` is not installed, or hears no speech."""
    if missing("pesq"):
        return None
    clean, heard = to_int16(source), to_int16(received)
    size = round(CLIP_S * rate)
    begins = range(0, max(1, len(clean) - size + 1), size)
    scores = [pesq_of(clean[at : at + size], heard[at : at + size], rate, rate) for at in begins]
    known = [score for score in scores if score is not None]
    return float(np.mean(known)) if known else None


def table(rows: list[dict[str, Any]]) -> str:
    """For people: a line for each loss, a column for each arm of each backend."""
    meter = "pesq" if "pesq" in rows[0] else "seg_snr_db"
    heads = list(dict.fromkeys((row["backend"], row["arm"]) for row in rows))
    known = {(row["backend"], row["arm"], row["loss_pct"]): row for row in rows}
    lines = [meter, "loss   " + "  ".join(f"{backend + ' ' + arm:>14}" for backend, arm in heads)]
    for loss in dict.fromkeys(row["loss_pct"] for row in rows):
        cells = [f"{known[backend, arm, loss][meter]:14.2f}" for backend, arm in heads]
        lines.append(f"{loss:3} %  " + "  ".join(cells))
    return "\n".join(lines)
