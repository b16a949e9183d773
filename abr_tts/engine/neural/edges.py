"""
The silence around what a model says: cut to what the punctuation asks for.

Models put 0.3 s before and half a second after whatever they speak, which a listener would wait
through at the start and at every comma where a text was cut. Pure.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
"""Mono, 1-D, full scale at ±1.0."""

QUIET = 0.003
"""Amplitude (-50 dBFS) below which it is silence: the models' own floor is 0.0005, an f 0.006 (measured)."""

LEAD_S = 0.02
"""What is kept before the first sound, for a consonant that swells."""

FADE_S = 0.005
"""Fade at a cut: what lies there is below `QUIET`, and yet a step."""

SENTENCE_S, CLAUSE_S, WORD_S = 0.40, 0.20, 0.06
"""Silence after a sentence, at a comma, between words. The models' own at a comma inside a sentence
is 0.05 to 0.25, theirs after one 0.3 and what the next begins with (measured)."""

SENTENCE_ENDS = frozenset(".!?…。！？．｡")
CLAUSE_ENDS = frozenset(",;:—–，、；：､")
CLOSERS = "\"'”’»)]}）】》」』 \t\n"
"""What may stand between the mark and the end."""


def pause_after(text: str) -> float:
    """Seconds of silence that belong after `text`, by the mark that it ends with."""
    last = text.rstrip(CLOSERS)[-1:]
    if last in SENTENCE_ENDS and last:
        return SENTENCE_S
    return CLAUSE_S if last and last in CLAUSE_ENDS else WORD_S


def trimmed(audio: Floats, rate: int, pause_s: float) -> Floats:
    """
    `audio` from `LEAD_S` before its first sound to `pause_s` after its last, or shorter where it
    ends earlier; nothing if it holds no sound. Loud samples are left as they are.
    """
    loud = np.flatnonzero(np.abs(audio) > QUIET)
    if not loud.size:
        return audio[:0]
    begin = max(0, int(loud[0]) - round(LEAD_S * rate))
    end = min(len(audio), int(loud[-1]) + 1 + round(pause_s * rate))
    cut = np.array(audio[begin:end], np.float32)
    ramp = np.linspace(0.0, 1.0, round(FADE_S * rate), endpoint=False, dtype=np.float32)
    if begin:
        head = cut[: min(len(ramp), int(loud[0]) - begin)]
        head *= ramp[: len(head)]
    if end < len(audio):
        tail = cut[len(cut) - min(len(ramp), end - int(loud[-1]) - 1) :]
        tail *= ramp[::-1][len(ramp) - len(tail) :]
    return cut
