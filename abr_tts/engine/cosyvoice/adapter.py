"""
The engine: which function of CosyVoice speaks a line, and what becomes of its sound.

All that is known to go wrong in CosyVoice is met in the modules beside this one; see docs/engines.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Optional

from ...errors import EngineError
from ..base import Abilities, Emit, Line, Progress, Samples, Voice, unwatched
from .guards import Guards
from .loading import load_model
from .options import parse
from .prompts import Prompts
from .turns import Refused, Turns
from .variant import Variant, accepted, samples_of, take_turns

_FIVE = ("zh", "en", "ja", "yue", "ko")
LANGUAGES: dict[int, tuple[str, ...]] = {1: _FIVE, 2: _FIVE, 3: (*_FIVE, "de", "es", "fr", "it", "ru")}
"""What each version was trained on (the README of CosyVoice): its voices speak all of it."""

_FOUR = ("Han", "Kana", "Hangul", "Latin")
SCRIPTS: dict[int, tuple[str, ...]] = {1: _FOUR, 2: _FOUR, 3: (*_FOUR, "Cyrillic")}
"""What those languages are written in, as `scripts` names it."""

NAMED = {"中文": "zh", "英文": "en", "日语": "ja", "粤语": "yue", "韩语": "ko"}
"""First characters of the names of CosyVoice-300M-SFT's voices → their first language."""

SPEED = (0.5, 2.0)
"""Slowest and fastest. CosyVoice stretches its spectrogram to any length; beyond these it slurs."""

SPEEDS_APART = 1e-3
"""Difference from 1 below which a speed is the voice's own."""


class CosyVoice:
    """The engine (see `base.Converter`). Its options are the fields of `options.Options`."""

    def load(self, options: Mapping[str, Any], progress: Progress = unwatched) -> None:
        """Import, build, register the voices of the settings, speak a few words."""
        self._options = parse(options)
        model, version = load_model(self._options, progress)
        self._use(model, version, progress)

    def _use(self, model: Any, version: int, progress: Progress) -> None:
        """Everything after the model is built."""
        chosen = self._options
        inner: Any = getattr(model, "model", None)
        self._variant = Variant(model, version, chosen.system)
        take_turns(model)
        self._turns = Turns(inner)
        self._inner = inner
        self._hop = getattr(inner, "token_hop_len", None)
        if hasattr(inner, "stream_scale_factor"):
            inner.stream_scale_factor = chosen.stream_scale_factor
        self._built_in = list(model.list_available_spks())
        self._prompts = Prompts(self._variant, chosen.voices, chosen.voices_dir)
        if not self._built_in and not self._prompts.own:
            self._prompts.add_sample(chosen.path)
        for number, reference in enumerate(self._prompts.own.values()):
            progress(f"the voice {reference.name}", 0.7 + 0.15 * number / len(self._prompts.own))
            self._prompts.learn(reference, self._variant.transcript(reference.text) if reference.text else "")
        self._voices = self._listed()
        self._warm_up(progress)
        progress("ready", 1.0)

    def _warm_up(self, progress: Progress) -> None:
        if not self._options.warm_up or not self._voices:
            return
        progress("speaking the first words", 0.9)
        self.say(Line(self._options.warm_up, self._voices[0].name), lambda chunk: True)

    # -- what it has ----------------------------------------------------------------------

    @property
    def sample_rate(self) -> int:
        """Hz at which it speaks, whatever the voice; known even where it has no voice yet."""
        return self._variant.rate

    @property
    def voices(self) -> Sequence[Voice]:
        """Those that the model came with and those of the settings, `default_voice` first."""
        return self._voices

    def _listed(self) -> list[Voice]:
        spoken, rate = LANGUAGES[self._variant.version], self._variant.rate
        voices = [
            Voice(name, _first(NAMED.get(name[:2], ""), spoken), rate, "came with the model")
            for name in self._built_in
        ]
        voices += [
            Voice(name, _first(*reference.languages, spoken), rate, "copied from a prompt")
            for name, reference in self._prompts.own.items()
        ]
        default = self._options.default_voice
        if default and default not in [voice.name for voice in voices]:
            raise EngineError(f"cosyvoice: there is no voice {default!r} to be the default one")
        return sorted(voices, key=lambda voice: voice.name != default)

    @property
    def abilities(self) -> Abilities:
        """What this version of CosyVoice can do."""
        variant = self._variant
        return Abilities(
            f"cosyvoice{variant.version if variant.version > 1 else ''}",
            type(variant.model).__name__,
            SCRIPTS[variant.version],
            {"": self._voices[0].name} if self._voices else {},
            SPEED,
            instructs=variant.instructs,
            converts=variant.converts,
            clones=True,
            alone=self._alone,
        )

    @property
    def _alone(self) -> str:
        """Pieces that grow are counted for all generations together, in one number of the model's."""
        factor = self._options.stream_scale_factor
        if self._hop is None or factor == 1:
            return ""
        return f"with stream_scale_factor = {factor} one text would change the pieces of another"

    # -- speaking -------------------------------------------------------------------------

    def say(self, line: Line, emit: Emit) -> None:
        """Speak `line`; see `base.Engine.say`. What holds nothing to pronounce is silence of length 0."""
        if any(char.isalnum() for char in line.text):
            self._speak(lambda: self._spoken(line), emit)

    def convert(self, audio: Samples, voice: str, speed: float, emit: Emit) -> None:
        """Say what is said in `audio` with a voice that is copied from a prompt; see `base.Converter`."""
        if not self._variant.converts:
            raise EngineError("this version of CosyVoice converts no voices")
        reference = self._prompts.get(voice)
        if reference is None:
            raise EngineError(f"{voice!r} is not copied from a prompt: nothing can be converted to it")
        prompt = self._prompts.speech(reference)
        function = self._variant.model.inference_vc
        with self._variant.source(audio) as source:
            self._speak(lambda: function(source, prompt, **self._manner(function, speed)), emit)

    def _speak(self, start: Callable[[], Iterable[Any]], emit: Emit) -> None:
        """Run a generation; its sound, with its edges guarded, goes to `emit`."""
        if self._hop is not None:
            self._inner.token_hop_len = self._hop
        chosen = self._options
        guards = Guards(self._variant.rate, chosen.fade_in_ms, chosen.tail_guard_ms)
        current: Optional[str] = None
        turn = self._turns.run(start, lambda: emit(b""))
        try:
            for sentence, output in turn:
                if sentence != current and (rest := guards.end()).size and not emit(rest):
                    return
                current = sentence
                if not emit(guards.push(samples_of(output))):
                    return
            emit(guards.end())
        except Refused as error:
            raise EngineError(f"CosyVoice cannot speak this: {error}") from error
        finally:
            turn.close()  # type: ignore[attr-defined]

    def _spoken(self, line: Line) -> Iterable[Any]:
        """The generator of CosyVoice that speaks `line`."""
        if line.voice in self._built_in:
            return self._spoken_by_its_own(line)
        reference = self._prompts.get(line.voice)
        if reference is None:
            raise EngineError(f"CosyVoice has no voice {line.voice!r}")
        model, variant = self._variant.model, self._variant
        if line.instruct:
            if variant.version == 1 or not variant.instructs:
                raise EngineError("this voice cannot be told how to speak")
            text, speech, name = self._prompts.ready(reference, variant.instruction(line.instruct))
            return self._called(model.inference_instruct2, line, variant.prompted, name, text, speech)
        if reference.text:
            text, speech, name = self._prompts.ready(reference, variant.transcript(reference.text))
            return self._called(model.inference_zero_shot, line, variant.prompted, name, text, speech)
        _, speech, name = self._prompts.ready(reference, "")
        return self._called(model.inference_cross_lingual, line, variant.unprompted, name, speech)

    def _spoken_by_its_own(self, line: Line) -> Iterable[Any]:
        model, variant = self._variant.model, self._variant
        if not line.instruct:
            return self._called(model.inference_sft, line, variant.unprompted, "", line.voice)
        if variant.version > 1 or not variant.instructs:
            raise EngineError("this voice cannot be told how to speak: take one that is copied from a prompt")
        told = variant.instruction(line.instruct)
        return self._called(model.inference_instruct, line, variant.prompted, "", line.voice, told)

    def _called(
        self, function: Any, line: Line, worded: Callable[[str], str], name: str, *arguments: Any
    ) -> Iterable[Any]:
        """`function` for the text of `line`; `name` is that of a prompt in the model's table."""
        manner = self._manner(function, line.speed)
        if name:
            manner["zero_shot_spk_id"] = name
        made: Iterable[Any] = function(worded(line.text), *arguments, **manner)
        return self._prompts.lent(name, made) if name else made

    def _manner(self, function: Any, speed: float) -> dict[str, Any]:
        """In pieces or whole: CosyVoice ignores a speed in silence where it hands out pieces."""
        speed = min(max(speed, SPEED[0]), SPEED[1])
        own = abs(speed - 1.0) < SPEEDS_APART
        stream, front = self._options.stream and own, self._options.text_frontend
        return accepted(function, stream=stream, speed=1.0 if own else speed, text_frontend=front)


def _first(*tags: Any) -> tuple[str, ...]:
    """One tuple of language tags, each once."""
    flat = [tag for part in tags for tag in ((part,) if isinstance(part, str) else part) if tag]
    return tuple(dict.fromkeys(flat))
