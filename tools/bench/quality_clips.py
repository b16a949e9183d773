"""Speech to measure with: the embedded engine's, and recordings."""

from __future__ import annotations

import wave
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from quality_meters import Int16

from abr_tts.audio.pcm import decode_pcm16
from abr_tts.engine.base import Chunk, Line
from abr_tts.engine.espeak import Espeak

RATES = (8_000, 48_000)
"""Hz that a clip may have, both among them."""

LONGEST_S = 12.0
"""Of a clip; of a longer one its beginning. P.862 is made for 8 to 20 s."""

EMBEDDED = {
    "en-us": "The ship sailed past the lighthouse at six, and sixteen sailors sang softly. She thought of"
    " zebras, fish, and chips.",
    "en-gb": "Bright red trucks carried fresh oranges through the quiet village before sunrise. Nobody"
    " expected the old bridge to hold, but it did.",
    "cmn": "今天天气很好，我们一起去公园散步吧。谢谢你的帮助，希望下次再见。",
    "de": "Zwei Züge fuhren zugleich durch den schmalen Tunnel, und niemand hatte es gesehen. Das Wasser"
    " steht heute ungewöhnlich hoch.",
}
"""Voice of the embedded engine → what it says: four clips, with many hisses, stops and nasals."""


@dataclass(frozen=True)
class Clip:
    """Speech to measure with: int16, mono, at `rate` Hz."""

    name: str
    rate: int
    sound: Int16

    @property
    def seconds(self) -> float:
        """Its length."""
        return len(self.sound) / self.rate


def embedded() -> list[Clip]:
    """
    The embedded engine's clips. Call it in a process of its own: espeak-ng's state is global.

    Raises:
        MissingDependency: espeak-ng is not installed.
    """
    engine = Espeak()
    engine.load({})
    rate = engine.voices[0].sample_rate
    return [Clip(f"espeak {voice}", rate, _say(engine, voice, text)) for voice, text in EMBEDDED.items()]


def _say(engine: Espeak, voice: str, text: str) -> Int16:
    said = bytearray()

    def take(chunk: Chunk) -> bool:
        said.extend(chunk if isinstance(chunk, bytes) else chunk.tobytes())
        return True

    engine.say(Line(text, voice), take)
    return decode_pcm16(bytes(said))


def recorded(folder: Path) -> list[Clip]:
    """
    Every WAV file of a folder: mono, 16 bits.

    Raises:
        ValueError: a file that is none, or none at all; the sentence names it.
    """
    clips = [_read(path) for path in sorted(folder.glob("*.wav"))]
    if not clips:
        raise ValueError(f"{folder}: there is no .wav file in it")
    return clips


def _read(path: Path) -> Clip:
    try:
        with wave.open(str(path)) as file:
            shape = (file.getnchannels(), file.getsampwidth())
            rate, data = file.getframerate(), file.readframes(round(LONGEST_S * file.getframerate()))
    except (OSError, EOFError, wave.Error) as error:
        raise ValueError(f"{path}: not a WAV file of PCM ({error})") from None
    if shape != (1, 2) or not RATES[0] <= rate <= RATES[1] or rate % 50:
        raise ValueError(f"{path}: want mono, 16 bits, 8 to 48 kHz; got {shape[0]} channels, {rate} Hz")
    return Clip(path.stem, rate, np.frombuffer(data, "<i2").astype(np.int16))
