"""
hibari: English of a natural sound, 24 kHz, a hundred times faster than real time on one core.

A distillate of Kokoro-82M (https://github.com/MMWilliams/hibari). It passes over every script
but Latin in silence; what it can pronounce is therefore said in `abilities.scripts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import EngineError, MissingDependency
from ..base import Abilities, Emit, Line, Progress, Voice, unwatched
from . import setup
from .edges import pause_after, trimmed
from .plain import plain

RATE = 24_000
SPEED = (0.5, 2.0)
"""What the model was made for; it stumbles beyond."""

GAIN = 1.7
"""As loud as Kokoro, so that one stream can hold both (RMS 0.045 and 0.10); peaks of 0.3 to 0.54 then keep
below full scale (measured)."""

SEED = 0
"""Of the noise in its consonants, so that a text sounds the same twice."""

OPTIONS = {"threads": int, "models": str}


class Hibari:
    """
    The engine (see `base.Engine`). Options:

    `threads`: of the model, default 1: more gain a third at best. `models`: folder with the files
    of hibari's other voices (`bm_fable.int8.onnx`, …), default its own cache. None is downloaded.
    """

    def load(self, options: Mapping[str, Any], progress: Progress = unwatched) -> None:
        """Load the voices whose files are here, and speak a few words."""
        options = setup.checked("hibari", options, OPTIONS)
        count = setup.threads("hibari", options, default=1)
        progress("loading hibari", 0.0)
        self._package = setup.needed("hibari", "neural")
        self._registry = setup.needed("hibari.voices", "neural")
        dictionaries: dict[bool, Any] = {}
        self._models: dict[str, Any] = {}
        for name, path in self._files(options.get("models")).items():
            british = bool(self._registry.VOICES[name]["british"])
            model = self._package.Hibari(name, str(path), count, dictionaries.get(british))
            dictionaries[british] = model.g2p
            self._models[name] = model
        progress("warming up", 0.8)
        self.say(Line("Warming up, 1 2 3.", next(iter(self._models))), lambda chunk: True)

    def _files(self, folder: str | None) -> dict[str, Path]:
        """Voice → its file, of the voices that are on disk; the packaged one first."""
        known = self._registry.VOICES
        if folder and not Path(folder).is_dir():
            raise EngineError(f"hibari: option models: there is no folder {folder}")
        home = Path(folder or self._registry.cache_dir())
        packaged = Path(self._registry.ASSETS)
        paths = {
            name: (packaged if voice.get("bundled") else home) / voice["file"]
            for name, voice in known.items()
        }
        found = {name: path for name, path in paths.items() if path.is_file()}
        if not found:
            raise MissingDependency("hibari has no voice here; pip install --force-reinstall hibari-tts")
        return found

    @property
    def sample_rate(self) -> int:
        """Hz."""
        return RATE

    @property
    def voices(self) -> Sequence[Voice]:
        """heart, then those that were put beside it."""
        return [self._voice(name) for name in self._models]

    def _voice(self, name: str) -> Voice:
        about = self._registry.VOICES[name]
        tag = str(about["language"]).lower()
        return Voice(name, (tag, "en"), RATE, f"{about['accent']} English, {about['gender']}")

    @property
    def abilities(self) -> Abilities:
        """Latin letters only: English words, and others as an English reader guesses them."""
        first = next(iter(self._models))
        version = setup.release("hibari-tts")
        return Abilities("hibari", version, ("Latin",), {"": first, "Latin": first}, SPEED)

    def phonemes(self, text: str) -> str:
        """English `text` as Kokoro's phonemes, in the default voice's accent."""
        model = next(iter(self._models.values()))
        return str(model.g2p(plain(text)) or "")

    def say(self, line: Line, emit: Emit) -> None:
        """Speak, a sentence at a time; see `base.Engine.say`."""
        model = self._models.get(line.voice)
        if model is None:
            raise EngineError(f"hibari has no voice {line.voice!r}; there are {', '.join(self._models)}")
        speed = min(max(line.speed, SPEED[0]), SPEED[1])
        text = plain(line.text)
        sentences = [one for one in model.phonemize(text) if any(map(str.isalpha, one))]
        for number, phonemes in enumerate(sentences, 1):
            audio = GAIN * model.from_phonemes(phonemes, speed, SEED)
            mark = text if number == len(sentences) else phonemes
            if not emit(trimmed(audio, RATE, pause_after(mark) / speed)):
                return
