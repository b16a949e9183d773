"""
What an engine is, to the two sides of the pipe: the worker that runs it and the parent that listens.

This module must import under Python 3.10 with numpy alone, and knows neither processes
nor sockets nor any one engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, Union

import numpy as np
import numpy.typing as npt

from ..errors import EngineError

Samples: TypeAlias = npt.NDArray[np.int16]
"""Mono PCM, 1-D, int16."""

Chunk: TypeAlias = Union[npt.NDArray[np.int16], npt.NDArray[np.float32], bytes]
"""
What an engine may hand out: int16, float (full scale at ±1.0; NaN and infinity become 0 and
are counted, louder is clipped), or PCM16 bytes, little-endian, cut anywhere.
"""


@dataclass(frozen=True)
class Voice:
    """
    One voice.

    Args:
        name: what requests call it; unique within an engine.
        languages: BCP 47 tags in lower case, the most exact first.
        sample_rate: Hz of its PCM.
        description: for a person.
    """

    name: str
    languages: tuple[str, ...]
    sample_rate: int
    description: str = ""


@dataclass(frozen=True)
class Abilities:
    """
    What holds for an engine as a whole.

    Args:
        engine: its kind.
        version: of the library or model behind it.
        scripts: scripts (as `text.scripts` names them) that it pronounces whatever the voice;
            empty: every one.
        defaults: script → voice to take when a request names none; `""` holds for the rest.
        speed: the slowest and the fastest speed that it renders; it clamps beyond.
        instructs: it follows `Line.instruct`.
        converts: it is a `Converter`.
        clones: it speaks with voices of a folder of reference speech.
        alone: why, as it was loaded, it speaks one text at a time, though engines of its kind
            need not; empty: it need not.
    """

    engine: str
    version: str = ""
    scripts: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)
    speed: tuple[float, float] = (0.5, 2.0)
    instructs: bool = False
    converts: bool = False
    clones: bool = False
    alone: str = ""


@dataclass(frozen=True)
class Line:
    """
    What to speak: one clause.

    Args:
        text: as the listener's text has it.
        voice: the name of one of the engine's.
        language: BCP 47 tag, if the request named one.
        speed: 1.0 is the voice's own.
        instruct: how to speak it, in words; only where `Abilities.instructs`.
    """

    text: str
    voice: str
    language: str | None = None
    speed: float = 1.0
    instruct: str | None = None


CONVERTED_RATE = 16_000
"""Hz of the speech that `Converter.convert` is given: what speech encoders of voice conversion read."""

CONVERTED_S = 30.0
"""Longest speech that is converted in one piece: CosyVoice's speech tokenizer takes no more."""

Progress: TypeAlias = Callable[[str, float], None]
"""Told while loading: a sentence, what is being done; and the share of all that is done, 0 to 1."""


def unwatched(sentence: str, share: float) -> None:
    """A `Progress` that nobody looks at."""


Emit: TypeAlias = Callable[[Chunk], bool]
"""Takes the next chunk of any length, 0 included; returns False once nobody wants more."""


class Engine(Protocol):
    """
    Text to PCM, in a worker process of its own: one thread calls it, one request at a time; of a kind
    that is `kinds.Kind.parallel`, `say` and `convert` may be called by several threads at once.

    PCM is pushed, not pulled, because C engines speak through a callback: a chunk is on
    its way to the listener before the next one is computed.
    """

    def load(self, options: Mapping[str, Any], progress: Progress = unwatched) -> None:
        """
        Make ready to speak as fast as ever: a model's first words, which are slow, are spoken
        here and thrown away. Called once, before anything else.

        Raises:
            MissingDependency: a library or model is not there; says how to get it.
            EngineError: anything else, in one sentence.
        """

    @property
    def sample_rate(self) -> int:
        """Hz at which it speaks; known even while its only voices are those of a folder."""

    @property
    def voices(self) -> Sequence[Voice]:
        """Every voice, the default one first."""

    @property
    def abilities(self) -> Abilities:
        """What holds whatever the voice."""

    def say(self, line: Line, emit: Emit) -> None:
        """
        Speak `line`, handing every chunk to `emit`; return when all is spoken or unwanted.

        Raises:
            EngineError: this text cannot be spoken; the engine itself is well.
            Exception: any other means that the engine can no longer be trusted: the
                worker reports it and is replaced.
        """


class Converter(Engine, Protocol):
    """An engine that also says what somebody said in another voice."""

    def convert(self, audio: Samples, voice: str, speed: float, emit: Emit) -> None:
        """
        Speak what is said in `audio` with `voice`; otherwise as `say`.

        Args:
            audio: int16, mono, `CONVERTED_RATE` Hz, at most `CONVERTED_S`.
        """


class Sink(Protocol):
    """
    Where a request's PCM goes, on the parent's event loop.

    `pcm` any number of times, then exactly one of `end` and `fault`, then nothing; after
    `Ticket.cancel` nothing at all. One that raises is faulted and heard of no more.
    """

    def pcm(self, samples: Samples) -> None:
        """The next samples (int16, never empty; yours to keep, but not to write on)."""

    def end(self) -> None:
        """Everything was spoken."""

    def fault(self, error: EngineError) -> None:
        """Nothing more comes, for this reason."""
