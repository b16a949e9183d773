"""
One conversion: a clip goes to the engine whole, and what it makes of it is sent as any utterance.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ...engine.base import Samples, Voice
from ...errors import AbrError
from ...stream.terms import Terms
from ...wire.messages import StreamStart
from .making import Making
from .surroundings import Link, Services
from .utterance import Utterance


class Conversion(Utterance):
    """
    Args:
        audio: what is to be said again: int16, mono, 16 kHz.
        request: voice, speed and the rest of what was asked; it has no text.
        handle, voice, terms, link, services: as of `Utterance`.
    """

    def __init__(
        self,
        audio: Samples,
        request: StreamStart,
        handle: int,
        voice: Voice,
        terms: Terms,
        link: Link,
        services: Services,
    ) -> None:
        super().__init__(request, handle, voice, terms, link, services, making=partial(Converting, audio))


class Converting(Making):
    """
    The making of speech from a clip instead of a text.

    Args:
        audio: as of `Conversion`.
        rest: as of `Making`.
    """

    def __init__(self, audio: Samples, *rest: Any, **more: Any) -> None:
        super().__init__(*rest, **more)
        self._audio: Samples | None = audio

    def text_so_far(self) -> tuple[bool, int]:
        """It takes no text."""
        return False, 0

    def _say_next(self) -> None:
        """The clip to the engine as soon as there is room for speech; after it the end."""
        if self._saying.busy or self._ended:
            return
        if self._audio is None:
            self._end_speech()
        elif self._credit:
            self._saying.in_turn(self._convert)

    def _convert(self) -> None:
        self._credit -= 1
        audio, self._audio = self._audio, None
        assert audio is not None, "there was one when it asked for its turn"
        try:
            self._saying.convert(audio)
        except AbrError as error:
            self._failed(error)
        else:
            self._feed(lambda now: self._core.mark(0, 0, now))
