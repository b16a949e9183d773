"""
English by hibari and Mandarin by Kokoro in one engine: each run of a text goes to the one that reads it.

Both speak at 24 kHz, so one stream holds both. Where only one is installed it is that one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Optional, Union

from ...errors import EngineError, MissingDependency
from ..base import Abilities, Emit, Line, Progress, Voice, unwatched
from ..scripts import shares
from . import setup
from .hibari import Hibari
from .kokoro import RATE, THREADS, Kokoro

OPTIONS = {"threads": int, "models": str}

Part = Union[Hibari, Kokoro]


class Neural:
    """
    The engine (see `base.Engine`). Options: `models` as `Hibari` has it; `threads`: of Kokoro, default 2.

    A voice of Kokoro reads English words in its own text itself; one of hibari leaves Chinese
    to Kokoro's first voice.
    """

    def load(self, options: Mapping[str, Any], progress: Progress = unwatched) -> None:
        """Load whichever is installed."""
        options = setup.checked("neural", options, OPTIONS)
        count = setup.threads("neural", options, THREADS)
        self._hibari: Optional[Hibari] = Hibari()
        self._kokoro: Optional[Kokoro] = None
        own = {name: value for name, value in options.items() if name != "threads"}
        try:
            self._hibari.load({**own, "threads": 1}, _first_third(progress))
        except MissingDependency as fault:
            self._hibari, missing = None, fault
        try:
            kokoro = Kokoro(self._hibari.phonemes if self._hibari else None)
            kokoro.load({"threads": count}, _last_two_thirds(progress))
            self._kokoro = kokoro
        except MissingDependency:
            if self._hibari is None:
                raise missing from None
        self._parts: list[Part] = [part for part in (self._hibari, self._kokoro) if part]
        self._speaker = {voice.name: part for part in self._parts for voice in part.voices}

    @property
    def sample_rate(self) -> int:
        """Hz."""
        return RATE

    @property
    def voices(self) -> Sequence[Voice]:
        """hibari's, then Kokoro's."""
        return [voice for part in self._parts for voice in part.voices]

    @property
    def abilities(self) -> Abilities:
        """The scripts of both; the default voice for each is the first of the one that reads it."""
        every = [part.abilities for part in self._parts]
        scripts = tuple(dict.fromkeys(script for one in every for script in one.scripts))
        version = ", ".join(f"{one.engine} {one.version}" for one in every)
        defaults = {"": self.voices[0].name, **{script: self._default(script) for script in scripts}}
        return Abilities("neural", version, scripts, defaults, every[0].speed)

    def say(self, line: Line, emit: Emit) -> None:
        """Speak each run with the voice that reads it; see `base.Engine.say`."""
        if line.voice not in self._speaker:
            raise EngineError(f"no voice {line.voice!r}; there are {', '.join(self._speaker)}")
        wanted = True

        def passed(chunk: Any) -> bool:
            nonlocal wanted
            wanted = emit(chunk)
            return wanted

        for part, voice in shares(line.text, lambda script: self._reader(line.voice, script)):
            self._speaker[voice].say(replace(line, text=part, voice=voice), passed)
            if not wanted:
                return

    def _reader(self, voice: str, script: str) -> str:
        """The voice for a run of `script` where `voice` was asked for."""
        if not script or script in self._speaker[voice].abilities.scripts:
            return voice
        return self._default(script)

    def _default(self, script: str) -> str:
        able = (part for part in self._parts if script in part.abilities.scripts)
        return next(able, self._parts[0]).voices[0].name


def _first_third(progress: Progress) -> Progress:
    return lambda sentence, share: progress(sentence, share / 3)


def _last_two_thirds(progress: Progress) -> Progress:
    return lambda sentence, share: progress(sentence, (1 + 2 * share) / 3)
