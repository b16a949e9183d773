"""
Which voice speaks a text: by name, by language, or by the script it is written in.

Pure look-ups in what an engine said of itself when it was ready.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Optional

from ..errors import UnknownVoice
from .base import Abilities, Voice
from .scripts import main_script, scripts


class Catalogue:
    """The voices of one engine, the default one first."""

    def __init__(self, voices: Sequence[Voice], abilities: Abilities) -> None:
        self.voices = tuple(voices)
        self._abilities = abilities
        self._by_name = {voice.name.lower(): voice for voice in self.voices}
        self._by_tag: dict[str, Voice] = {}
        for voice in self.voices:
            for tag in (voice.name.lower(), *voice.languages):
                self._by_tag.setdefault(tag, voice)

    def choose(self, voice: Optional[str], language: Optional[str], text: str) -> Voice:
        """
        The voice called `voice`; else the first one for `language`, or for a wider tag ("pt" for
        "pt-ao"); else the default for the script that most of `text` is written in.

        Raises:
            UnknownVoice: no such voice, with the nearest names; or none for this language.
        """
        if voice:
            return self._named(voice)
        if language:
            return self._speaking(language)
        script = main_script(text) or ""
        defaults = self._abilities.defaults
        name = defaults.get(script) or defaults.get("") or self.voices[0].name
        return self._by_name.get(name.lower(), self.voices[0])

    def unspeakable(self, text: str, voice: Voice) -> Optional[str]:
        """The scripts of `text` that cannot be pronounced, "Tibetan, Khmer"; None if all can."""
        known = self._abilities.scripts
        foreign = [script for script in scripts(text) if known and script not in known]
        return ", ".join(foreign) or None

    def _named(self, name: str) -> Voice:
        found = self._by_name.get(name.lower())
        if found is not None:
            return found
        near = difflib.get_close_matches(name.lower(), self._by_name, n=5, cutoff=0.5)
        tagged = self._by_tag.get(name.lower())
        if tagged is not None and tagged.name not in near:
            near.insert(0, tagged.name)
        hint = f"; near it: {', '.join(near)}" if near else f"; there are {self._some()}"
        raise UnknownVoice(f"no voice {name[:80]!r}{hint}", voices=near or [v.name for v in self.voices[:20]])

    def _speaking(self, language: str) -> Voice:
        tag = language.lower().replace("_", "-")
        while tag:
            if tag in self._by_tag:
                return self._by_tag[tag]
            tag = tag.rpartition("-")[0]
        raise UnknownVoice(
            f"no voice speaks {language[:80]!r}; there are {self._some()}", language=language[:80]
        )

    def _some(self) -> str:
        names = [voice.name for voice in self.voices[:12]]
        return ", ".join(names) + (", …" if len(self.voices) > len(names) else "")
