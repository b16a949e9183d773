"""
What is spoken where a benchmark listens to sound: speech, a tone of 1 kHz, a sweep.

Speech is espeak-ng's, in English and Mandarin, where espeakng-loader is installed; else syllables made
by rule.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[2]))  # signals and their names are those of the tests

from abr_tts.audio.pcm import decode_pcm16, to_float, to_int16
from abr_tts.audio.resample import convert
from abr_tts.engine.base import Chunk, Line
from abr_tts.engine.espeak import Espeak
from abr_tts.errors import MissingDependency
from tests.signals import sweep, tone
from tests.stream.joins import SPEECH, SWEEP, TONE, TONE_HZ, syllables
from tests.stream.splicing import Int16

TEXTS = {
    "en-us": "The ship sailed past the lighthouse at six, and sixteen sailors sang softly; she thought of"
    " zebras, fish, and chips. Bright red trucks carried fresh oranges through the quiet village before"
    " sunrise. Nobody expected the old bridge to hold, but it did.",
    "cmn": "今天天气很好，我们一起去公园散步吧。谢谢你的帮助，希望下次再见。",
}
"""Voice → text: some half a minute, with many hisses, stops and nasals."""

ESPEAK_RATE = 22_050


def soundtrack(rate: int, seconds: float) -> dict[str, Int16]:
    """
    Each signal at `rate` Hz, int16, shape (rate·seconds,).

    Call it in a process of its own: espeak-ng's state is global.
    """
    return {
        SPEECH: speech(rate, seconds),
        TONE: tone(rate, seconds, TONE_HZ),
        SWEEP: sweep(rate, seconds),
    }


def speech(rate: int, seconds: float) -> Int16:
    """Speech, said again and again where it is too short."""
    try:
        said = to_int16(convert(to_float(_espeak()), ESPEAK_RATE, rate))
    except MissingDependency:
        return syllables(rate, seconds)
    return np.resize(said, round(rate * seconds))


def _espeak() -> Int16:
    engine, said = Espeak(), bytearray()
    engine.load({})

    def take(chunk: Chunk) -> bool:
        said.extend(chunk if isinstance(chunk, bytes) else chunk.tobytes())
        return True

    for voice, text in TEXTS.items():
        engine.say(Line(text, voice), take)
    return decode_pcm16(bytes(said))
