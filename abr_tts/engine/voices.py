"""
Which voice speaks a text: by name, by language, or by the script it is written in.

Look-ups in what an engine said of itself when it was ready, and in the folder of reference voices
that it speaks with too, where another replica may have put one a moment ago.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Optional

from ..errors import UnknownVoice
from .base import Abilities, Voice
from .references import Reference, References
from .scripts import main_script, scripts


class Catalogue:
    """
    The voices of one engine, the default one first.

    Args:
        voices: the engine's own, which may be none where it clones.
        abilities: the engine's.
        references: the folder of voices that it speaks with too.
        rate: Hz at which it speaks with those; by default that of its first voice.
    """

    def __init__(
        self,
        voices: Sequence[Voice],
        abilities: Abilities,
        references: Optional[References] = None,
        rate: int = 0,
    ) -> None:
        self._own = tuple(voices)
        self._abilities = abilities
        self._references = references
        self._rate = rate or (self._own[0].sample_rate if self._own else 0)
        self._named_in_folder: tuple[str, ...] = ()
        self._in_folder: tuple[Voice, ...] = ()
        self._by_name = {voice.name.lower(): voice for voice in self._own}
        self._by_tag: dict[str, Voice] = {}
        for voice in self._own:
            for tag in (voice.name.lower(), *voice.languages):
                self._by_tag.setdefault(tag, voice)

    @property
    def voices(self) -> tuple[Voice, ...]:
        """The engine's own, the default one first, then those that are in the folder now."""
        if self._references is not None and (names := self._references.names()) != self._named_in_folder:
            self._named_in_folder = names
            found = (self._references.get(name) for name in names if name not in self._by_name)
            self._in_folder = tuple(self._voice(reference) for reference in found if reference)
        return self._own + self._in_folder

    def _voice(self, reference: Reference) -> Voice:
        words = f"made of {reference.seconds:.0f} s of speech"
        return Voice(reference.name, reference.languages, self._rate, words)

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
        named = self._by_name.get((defaults.get(script) or defaults.get("") or "").lower())
        voices = (named,) if named else self._own or self.voices
        if not voices:
            raise UnknownVoice("there is no voice yet: add one, see docs/voices.md")
        return voices[0]

    def unspeakable(self, text: str, voice: Voice) -> Optional[str]:
        """The scripts of `text` that cannot be pronounced, "Tibetan, Khmer"; None if all can."""
        known = self._abilities.scripts
        foreign = [script for script in scripts(text) if known and script not in known]
        return ", ".join(foreign) or None

    def _named(self, name: str) -> Voice:
        found = self._by_name.get(name.lower())
        if found is not None:
            return found
        reference = self._references.get(name) if self._references else None
        if reference is not None:
            return self._voice(reference)
        names = {**self._by_name, **{voice.name: voice for voice in self._in_folder}}
        near = difflib.get_close_matches(name.lower(), names, n=5, cutoff=0.5)
        tagged = self._by_tag.get(name.lower())
        if tagged is not None and tagged.name not in near:
            near.insert(0, tagged.name)
        hint = f"; near it: {', '.join(near)}" if near else f"; {self._some()}"
        raise UnknownVoice(f"no voice {name[:80]!r}{hint}", voices=near or [v.name for v in self.voices[:20]])

    def _speaking(self, language: str) -> Voice:
        tag = language.lower().replace("_", "-")
        while tag:
            if tag in self._by_tag:
                return self._by_tag[tag]
            if not self._own:  # nobody's own voice is lent to whoever asked for a language alone
                for voice in self.voices:
                    if tag in voice.languages:
                        return voice
            tag = tag.rpartition("-")[0]
        raise UnknownVoice(f"no voice speaks {language[:80]!r}; {self._some()}", language=language[:80])

    def _some(self) -> str:
        names = [voice.name for voice in self.voices[:12]]
        more = ", …" if len(self.voices) > len(names) else ""
        return f"there {'is' if len(names) == 1 else 'are'} {', '.join(names) or 'none'}{more}"
