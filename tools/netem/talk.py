"""
What is said in an experiment, and when each piece of it is there: one plan, for every backend.

A server's engine plays it in real time and the simulator in virtual time, so that what differs
between them is the network alone. The sound is real speech, since packet sizes follow it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from abr_tts.engine.base import Samples, Voice
from abr_tts.engine.pool import EngineSpec, Pool
from abr_tts.engine.text import Clauser
from abr_tts.engine.tone import expected
from abr_tts.errors import EngineError, MissingDependency
from abr_tts.sim.engine import EngineModel, conversation
from abr_tts.sim.speaker import CHARACTERS_A_SECOND

CLAUSE_CHARS, FIRST_CLAUSE_CHARS = 200, 80
"""The server's own limits of a clause (`engine.clause_chars`, `engine.first_clause_chars`), so that it
cuts a text as the plan does."""

WORDS = "the train leaves the city and the network goes with it sentence by sentence mile after mile"
"""Of the texts that stand for lengths alone."""

STORY = (
    "The ship sailed past the lighthouse at six, and sixteen sailors sang softly. She thought of zebras, "
    "fish and chips. Bright red trucks carried fresh oranges through the quiet village before sunrise. "
    "Nobody expected the old bridge to hold, but it did. The conductor asked whether anyone had seen his "
    "watch; it lay under the third seat on the left."
)
"""Read aloud where the texts of a plan stand for lengths alone: some 20 s, with hisses, stops and nasals."""

Chunk = tuple[float, int]
"""Seconds after its clause was begun, and samples."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A sentence that a server takes for one clause, and its chunks."""

    text: str
    chunks: tuple[Chunk, ...]

    @property
    def samples(self) -> int:
        """Its length."""
        return sum(size for _, size in self.chunks)


@dataclass(frozen=True, slots=True)
class Planned:
    """One utterance, and the seconds of rest after it."""

    clauses: tuple[Clause, ...]
    rest_s: float

    @property
    def text(self) -> str:
        """The whole."""
        return " ".join(clause.text for clause in self.clauses)

    @property
    def samples(self) -> int:
        """Its length."""
        return sum(clause.samples for clause in self.clauses)


@dataclass(frozen=True, slots=True)
class Talk:
    """
    A session's utterances.

    Args:
        voice: int16 samples at `rate`; each utterance says them from the first, over and over.
    """

    utterances: tuple[Planned, ...]
    voice: npt.NDArray[np.int16]
    rate: int

    @property
    def audio_s(self) -> float:
        """Seconds of speech in all."""
        return sum(one.samples for one in self.utterances) / self.rate

    def plan(self) -> Iterator[tuple[float, float]]:
        """(seconds of speech, seconds of rest), as `sim.run` takes it."""
        for one in self.utterances:
            yield one.samples / self.rate, one.rest_s

    def as_json(self) -> dict[str, Any]:
        """Everything but the sound."""
        return {"rate": self.rate, "utterances": [asdict(one) for one in self.utterances]}

    @classmethod
    def from_json(cls, document: Mapping[str, Any], voice: npt.NDArray[np.int16]) -> Talk:
        """The talk that `as_json` wrote."""
        utterances = tuple(
            Planned(
                tuple(
                    Clause(clause["text"], tuple((at, size) for at, size in clause["chunks"]))
                    for clause in one["clauses"]
                ),
                one["rest_s"],
            )
            for one in document["utterances"]
        )
        return cls(utterances, voice, document["rate"])


class Recital(EngineModel):
    """An engine for `sim.run` that says a talk, utterance after utterance."""

    def __init__(self, talk: Talk) -> None:
        super().__init__(rate=talk.rate)
        object.__setattr__(self, "_left", iter(talk.utterances))

    def clauses(self, audio_s: float, rng: Random) -> list[list[Chunk]]:
        """The next utterance's, whatever is asked for."""
        planned: Planned = next(self._left)  # type: ignore[attr-defined]
        return [list(clause.chunks) for clause in planned.clauses]


def seeded(seed: int, utterances: int, model: EngineModel, voice: Samples) -> Talk:
    """
    The conversation that `sim.run` holds of itself with this seed and engine, in words.

    Args:
        voice: int16 samples at `model.rate`.
    """
    planned = []
    for index, (audio_s, rest_s) in zip(range(utterances), conversation(f"{seed}/talk"), strict=False):
        cut = model.clauses(audio_s, Random(f"{seed}/{index}/clauses"))
        clauses = tuple(
            Clause(_sentence(index, number, chunks, model.rate), tuple(chunks))
            for number, chunks in enumerate(cut)
        )
        planned.append(Planned(clauses, rest_s))
    return Talk(tuple(planned), voice, model.rate)


def spoken(text: str, model: EngineModel) -> Talk:
    """
    One utterance: `text` as espeak-ng reads it, at the pace of `model`.

    Raises:
        ValueError: there is nothing to pronounce in it.
        MissingDependency, EngineError: as `read_aloud`.
    """
    clauser = Clauser(CLAUSE_CHARS, FIRST_CLAUSE_CHARS)
    texts = [clause.text for clause in [*clauser.feed(text), *clauser.end()]]
    if not texts:
        raise ValueError("there is nothing to pronounce in the text")
    sounds, rate = read_aloud(texts)
    model = replace(model, rate=rate, clause_s=(1e6, 1e6))
    clauses = []
    for index, (clause, sound) in enumerate(zip(texts, sounds, strict=True)):
        pace = model if index == 0 else replace(model, late_s=0.0)
        (chunks,) = pace.clauses(len(sound) / rate, Random(0))
        clauses.append(Clause(clause, tuple(chunks)))
    return Talk((Planned(tuple(clauses), 0.0),), np.concatenate(sounds), rate)


def speech(model: EngineModel) -> Samples:
    """The story at `model.rate`: espeak-ng's where it is installed and speaks at that rate, else a tone."""
    try:
        (sound,), rate = read_aloud([STORY])
        if rate == model.rate:
            return sound
    except (MissingDependency, EngineError):
        pass
    return expected("x" * 50)


def read_aloud(texts: list[str]) -> tuple[list[Samples], int]:
    """
    What espeak-ng makes of each text, int16, and its rate.

    Raises:
        MissingDependency, EngineError: it is not installed, or cannot speak.
    """
    return asyncio.run(_read_aloud(texts))


async def _read_aloud(texts: list[str]) -> tuple[list[Samples], int]:
    pool = Pool(EngineSpec("espeak"))
    await pool.start()
    try:
        voice = pool.voices[0]
        return [await _one(pool, voice, text) for text in texts], voice.sample_rate
    finally:
        await pool.stop()


async def _one(pool: Pool, voice: Voice, text: str) -> Samples:
    taken = _Taken()
    pool.say(text, voice, None, 1.0, taken)
    await taken.over
    return np.concatenate(taken.pieces)


class _Taken:
    """A sink that keeps everything."""

    def __init__(self) -> None:
        self.pieces: list[Samples] = [np.zeros(0, np.int16)]
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.pcm = self.pieces.append

    def end(self) -> None:
        self.over.set_result(None)

    def fault(self, error: EngineError) -> None:
        self.over.set_exception(error)


def _sentence(utterance: int, number: int, chunks: list[Chunk], rate: int) -> str:
    """Words of about the length that the clause has, with a full stop; no two of a talk are alike."""
    characters = round(sum(size for _, size in chunks) / rate * CHARACTERS_A_SECOND)
    name = f"Part {number + 1} of {utterance + 1}"
    text = f"{name} {WORDS} {WORDS}"[: max(characters - 1, len(name))].rstrip()
    return f"{text}."
