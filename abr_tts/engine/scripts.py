"""
Which script a character is written in, and what of a text can be pronounced at all.

Pure, and without tables of code points: the Unicode name of a letter begins with its
script. Knows no voices and no engines.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Optional

COMMON = ""
"""The script of what all scripts share: digits, punctuation, spaces, marks, symbols."""

WIDE_WEIGHT = 4
"""
Letters of an alphabet that take as long to speak as one character of `WIDE` scripts.
Measured here: espeak-ng speaks 14 characters a second of English, 3.3 of Mandarin.
"""

WIDE = frozenset({"Han", "Kana", "Hangul", "Bopomofo", "Yi"})
"""Scripts whose characters are syllables or words; between two of them a clause may be cut."""

UNSPACED = frozenset({"Han", "Kana", "Bopomofo", "Yi"})
"""Scripts that write no spaces between words."""

SPOKEN_SYMBOLS = frozenset("%‰&@+№§°")
"""Symbols that are read aloud, beside letters, numbers and currency (category Sc)."""

_ALIASES = {
    "Cjk": "Han",
    "Ideographic": "Han",
    "Hiragana": "Kana",
    "Katakana": "Kana",
    "Katakana-hiragana": "Kana",
    "Canadian": "Canadian Syllabics",
}
"""First word of a name → script, where the two differ."""

_TWO_WORDS = frozenset({"OLD", "NEW", "TAI", "LINEAR", "MEETEI", "OL", "PAHAWH", "SORA", "SYLOTI"})
"""First words of names that are half of a script's name."""


@lru_cache(maxsize=8192)
def script_of(char: str) -> str:
    """The script of one character: "Latin", "Han", "Cyrillic", "Kana", …; COMMON if it has none."""
    if char.isascii():
        return "Latin" if char.isalpha() else COMMON
    plain = unicodedata.normalize("NFKC", char)[0]
    if plain != char:  # a form of another letter: full width, ligature, mathematical, Ω of ohm
        return script_of(plain)
    category = unicodedata.category(char)
    if category not in ("Lu", "Ll", "Lt", "Lo", "Nl"):
        return _script_of_sign(char)
    words = unicodedata.name(char, "UNNAMED").split()
    name = " ".join(words[: 2 if words[0] in _TWO_WORDS else 1]).title()
    return _ALIASES.get(words[0].capitalize(), name)


def _script_of_sign(char: str) -> str:
    """Repetition and length signs are written in a script, other signs in all of them."""
    if char in "々〆〻":
        return "Han"
    if char in "ーｰゝゞヽヾ":
        return "Kana"
    return COMMON


def runs(text: str) -> list[tuple[int, int, str]]:
    """
    `text` cut where its script changes: (begin, end, script), without a gap.

    What is COMMON belongs to the run before it, or to the first run at the start of the
    text; a text of nothing else is one run of COMMON.
    """
    found: list[tuple[int, int, str]] = []
    begin, current = 0, COMMON
    for index, char in enumerate(text):
        script = script_of(char)
        if script in (COMMON, current):
            continue
        if current:
            found.append((begin, index, current))
            begin = index
        current = script
    if begin < len(text):
        found.append((begin, len(text), current))
    return found


def shares(text: str, reader: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """
    `text` in runs, each with whom `reader` names for its script; neighbours of one reader stay together.

    COMMON belongs to the run before it, as in `runs`.
    """
    begin, current = 0, ""
    for start, _, script in runs(text):
        voice = reader(script)
        if current and voice != current:
            yield text[begin:start], current
            begin = start
        current = voice
    if begin < len(text):
        yield text[begin:], current


def weights(text: str) -> Counter[str]:
    """Script → how much of `text` is written in it, in letters; in order of appearance."""
    weight: Counter[str] = Counter()
    for char in text:
        script = script_of(char)
        if script:
            weight[script] += WIDE_WEIGHT if script in WIDE else 1
    return weight


def scripts(text: str) -> tuple[str, ...]:
    """The scripts of `text` in order of appearance, without COMMON."""
    return tuple(weights(text))


def main_script(text: str) -> Optional[str]:
    """
    The script that most of `text` is written in, the earlier of two equals; None if it has none.

    Japanese mixes Han and Kana: where Kana is a quarter of both or more, it is Kana.
    """
    weight = weights(text)
    if "Kana" in weight and 4 * weight["Kana"] >= weight["Kana"] + weight["Han"]:
        weight["Kana"] += weight.pop("Han", 0)
    return max(weight, key=lambda script: weight[script], default=None)


def pronounceable(text: str) -> bool:
    """Whether there is anything to say: a letter, a number, a currency or another spoken symbol."""
    return any(_spoken(char) for char in text)


@lru_cache(maxsize=8192)
def _spoken(char: str) -> bool:
    category = unicodedata.category(char)
    return category[0] in "LN" or category == "Sc" or char in SPOKEN_SYMBOLS
