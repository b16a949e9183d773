"""
Mandarin text with English words in it as Kokoro's phonemes.

Chinese goes through misaki, as the model was trained; numbers are first written out by the rules
of PaddleSpeech that misaki carries; English words are another engine's to read. Nothing of the
model is known here.
"""

from __future__ import annotations

import logging
import re
import tempfile
from collections.abc import Callable, Iterator
from typing import Optional

from . import setup
from .plain import plain

EXTRA = "zh"

LETTER = "A-Za-z\u00c0-\u024f"
"""Latin letters with and without accents, for a character class."""

ENGLISH = re.compile(rf"(?<![\d.°{LETTER}])[{LETTER}][{LETTER}\d]*(?:[-.'’ ]+[{LETTER}\d]+)*")
"""English words with their digits: GPT-4o, A4, New York. Not the unit of a number, as in 5kg."""

LETTERS = re.compile(f"[{LETTER}]+")

THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")

MONEY = re.compile(r"([$¥€£])\s*(\d+(?:\.\d+)?(?:[万亿]+)?)")
CURRENCIES = {"$": "美元", "¥": "元", "€": "欧元", "£": "英镑"}
"""Said after the number, written before it."""

SYMBOLS = str.maketrans({"+": "加", "=": "等于", "×": "乘", "÷": "除以", "&": "和", "@": "at"})
DEGREES = str.maketrans({"°": "度"})
"""Symbols that misaki's rules drop, and one that they leave where it is no temperature."""

MARKS = re.compile(r" *([,.;:!?]+) *")
"""Punctuation of a finished text, where a number has none any more."""

STOPS = str.maketrans({"…": "，", "—": "，", "–": "，", "｡": "。", "､": "、"})
"""Marks that misaki's rules drop, and with them the pause."""


class Mandarin:
    """
    Calls itself on text; see the module.

    Args:
        english: an English phrase → its phonemes; None: Latin letters are passed over.

    Raises:
        MissingDependency: misaki or what it needs is not installed.
    """

    def __init__(self, english: Optional[Callable[[str], str]] = None) -> None:
        self.english = english
        jieba = setup.needed("jieba", EXTRA)
        jieba.setLogLevel(logging.WARNING)
        with tempfile.TemporaryDirectory(prefix="abr-tts-") as folder:
            # Elsewhere it would read a cache from /tmp that anybody may have put there.
            jieba.dt.tmp_dir = folder
            jieba.initialize()
        self._phonemes = setup.needed("misaki.zh", EXTRA).ZHG2P.legacy_call
        self._punctuation = setup.needed("misaki.zh", EXTRA).ZHG2P.map_punctuation
        self._numbers = setup.needed("misaki.zh_normalization", EXTRA).TextNormalizer()

    def __call__(self, text: str) -> str:
        """Phonemes of `text`, words apart by spaces, punctuation as in English; "" if none."""
        text = plain(text.translate(STOPS)).translate(STOPS)
        spoken = []
        for part, is_english in _parts(ENGLISH, text):
            if is_english:
                spoken.append(self._english(part))
            else:
                spoken += self._chinese(part)
        return " ".join(MARKS.sub(r"\1 ", " ".join(spoken)).split())

    def _chinese(self, text: str) -> Iterator[str]:
        plainly = _money(THOUSANDS.sub("", text)).translate(SYMBOLS)
        written = self._numbers.normalize_sentence(plainly).translate(DEGREES)
        for part, is_latin in _parts(LETTERS, written):
            if is_latin:
                yield self._english(part)
            elif part.strip():
                yield str(self._phonemes(self._punctuation(part) or " "))

    def _english(self, text: str) -> str:
        return self.english(text) if self.english else ""


def _parts(pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, bool]]:
    """`text` cut into what `pattern` finds (True) and what lies between."""
    at = 0
    for found in pattern.finditer(text):
        if found.start() > at:
            yield text[at : found.start()], False
        yield found[0], True
        at = found.end()
    if at < len(text):
        yield text[at:], False


def _money(text: str) -> str:
    return MONEY.sub(lambda found: found[2] + CURRENCIES[found[1]], text)
