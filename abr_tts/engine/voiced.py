"""
What pools have in common towards those who want something spoken: the voices there are, and what an engine
is never asked for.

It must not know who speaks, nor who waits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, Optional, TypeVar

from ..errors import Unsupported
from .base import Abilities, Line, Sink, Voice
from .face import Asked
from .voices import Catalogue

Request = TypeVar("Request", bound=Asked)
"""A request as a pool has it."""


class Voiced(ABC, Generic[Request]):
    """
    Of a pool: it makes `_catalogue` when it knows the voices, and takes requests by `_speak`.

    Args:
        abilities: as far as they are known before an engine has told.
    """

    def __init__(self, abilities: Abilities) -> None:
        self.abilities = abilities
        self._catalogue = Catalogue((), abilities)

    @property
    def voices(self) -> tuple[Voice, ...]:
        """See `face.Speaking.voices`."""
        return self._catalogue.voices

    def choose(self, voice: Optional[str], language: Optional[str], text: str) -> Voice:
        """See `voices.Catalogue.choose`."""
        return self._catalogue.choose(voice, language, text)

    def unspeakable(self, text: str, voice: Voice) -> Optional[str]:
        """See `voices.Catalogue.unspeakable`: reason for an `UnknownScript` notice."""
        return self._catalogue.unspeakable(text, voice)

    def say(
        self,
        text: str,
        voice: Voice,
        language: Optional[str],
        speed: float,
        sink: Sink,
        *,
        first: bool = False,
        instruct: Optional[str] = None,
    ) -> Request:
        """Speak one clause; see `face.Speaking.say`."""
        if instruct and not self.abilities.instructs:
            raise Unsupported(f"{self.abilities.engine} cannot be told how to speak")
        return self._speak(Line(text, voice.name, language, speed, instruct), sink, first)

    @abstractmethod
    def _speak(self, line: Line, sink: Sink, first: bool) -> Request:
        """Take a request; `first` as of `say`. Raises `Busy`."""
