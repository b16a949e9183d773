"""What the engine says, spoken beforehand by espeak-ng: sound by clause."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from abr_tts.engine.base import Chunk, Line
from abr_tts.engine.espeak import Espeak
from versus.heard import Int16

VOICE = "en-us"


@dataclass(frozen=True)
class Spoken:
    """What the engine says: sounds by clause, int16 at `rate` Hz."""

    sounds: dict[str, Int16]
    rate: int

    def seconds(self) -> dict[str, float]:
        """Length of each."""
        return {text: len(sound) / self.rate for text, sound in self.sounds.items()}

    def whole(self, clauses: Sequence[str]) -> Int16:
        """An utterance as the engine made it."""
        return np.concatenate([self.sounds[clause] for clause in clauses])

    def write(self, folder: Path) -> None:
        """The files that `versus/serve.py` reads."""
        names = {f"s{index}": text for index, text in enumerate(self.sounds)}
        arrays: dict[str, Any] = {name: self.sounds[text] for name, text in names.items()}
        np.savez(folder / "sounds.npz", **arrays)
        (folder / "sounds.json").write_text(json.dumps({"rate": self.rate, "texts": names}), "utf-8")


def speak(texts: Sequence[str]) -> Spoken:
    """What espeak-ng makes of each text. In a process of its own: its state is global."""
    engine = Espeak()
    engine.load({})
    sounds = {text: _say(engine, text) for text in texts}
    return Spoken(sounds, engine.voices[0].sample_rate)


def _say(engine: Espeak, text: str) -> Int16:
    said = bytearray()

    def take(chunk: Chunk) -> bool:
        said.extend(chunk if isinstance(chunk, bytes) else chunk.tobytes())
        return True

    engine.say(Line(text, VOICE), take)
    return np.frombuffer(bytes(said), "<i2").astype(np.int16)
