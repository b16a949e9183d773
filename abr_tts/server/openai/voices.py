"""
Whose voice is meant: the engine's own names, names of the settings, and OpenAI's, which every client has
written into it somewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...engine.base import Voice
from .models import VoiceInfo

NAMES = (
    "alloy", "ash", "ballad", "coral", "echo", "fable", "nova", "onyx", "sage", "shimmer", "verse", "marin",
    "cedar",
)  # fmt: skip
"""OpenAI's voices (API reference, "Create speech", voice)."""


def meant(name: str, aliases: Mapping[str, str], voices: Sequence[Voice]) -> str | None:
    """
    The engine's voice that a request means; None: the one for the script of its text.

    What the settings say goes first, then the engine's own names, then OpenAI's. Any other name is
    handed on, for the engine to refuse in its words.
    """
    wanted = name.lower()
    for alias, voice in aliases.items():
        if alias.lower() == wanted:
            return voice
    if any(voice.name.lower() == wanted for voice in voices):
        return name
    return None if wanted in NAMES else name


def listed(aliases: Mapping[str, str], voices: Sequence[Voice]) -> Iterator[VoiceInfo]:
    """Every voice that may be asked for, the engine's first; they alone have a rate."""
    own = {voice.name.lower() for voice in voices}
    for voice in voices:
        yield VoiceInfo(voice.name, voice.name, list(voice.languages), voice.description, voice.sample_rate)
    for alias, name in aliases.items():
        yield VoiceInfo(alias, alias, [], f"here {name}")
    for name in NAMES:
        if name not in own and name not in {alias.lower() for alias in aliases}:
            yield VoiceInfo(name, name, [], "the voice for the script of the text")
