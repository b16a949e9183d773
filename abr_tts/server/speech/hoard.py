"""
What the engine says, kept back until all of it is there, or as much as may be held: for speech that comes
whole while the server is short of power (`load.easing`).

A listener who begins at the first sound would wait in mid-speech whenever the engine turns to others. What is
kept back are the inputs of the core, in order. To the core all of it is one long clause.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Input: TypeAlias = Callable[[float], None]
"""An input of the core: it takes the time."""


class Hoard:
    """
    Args:
        most_samples: of speech that are held at most; 0: nothing is kept back.
    """

    def __init__(self, most_samples: int) -> None:
        self._most = most_samples
        self._kept: list[Input] = []
        self.samples = 0
        """Of speech that lie here."""

    @property
    def holds(self) -> bool:
        """Whether what comes is kept back."""
        return self._most > 0

    def pass_on(self, call: Input, samples: int = 0) -> list[Input]:
        """What the core is to be given now, where this input, of so many samples, is the next."""
        if not self.holds:
            return [call]
        self._kept.append(call)
        self.samples += samples
        return self.release() if self.samples >= self._most else []

    def release(self) -> list[Input]:
        """All of it, for the core; nothing is kept back any more."""
        kept, self._kept = self._kept, []
        self._most = self.samples = 0
        return kept
