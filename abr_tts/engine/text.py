"""
Text as it arrives, cut into clauses: what an engine speaks at a time, and what marks name.

Pure. However the text was chopped up on its way, the clauses are the same. Knows no
voices: what a clause is written in it says, who reads that is for others to choose.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Optional

from . import boundaries
from .boundaries import HARD, SOFT, SPACE, WAIT, WEAK
from .scripts import WIDE, WIDE_WEIGHT, main_script, pronounceable, script_of, scripts

__all__ = ["Clause", "Clauser", "main_script", "pronounceable", "scripts"]

MAX_CHARS = 240
"""Letters in a clause: 17 s of speech (14 letters a second, measured with espeak-ng). Long
enough for nearly every sentence, short enough to bound what a cancel or a crash costs."""

FIRST_MAX_CHARS = 80
"""Letters in the first clause: a neural engine's first sound waits for it. A guess."""

FIRST_MIN_CHARS = 16
"""The first clause may end at a comma from this many letters on; shorter ones sound chopped. By ear."""

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LONE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Clause:
    """
    A piece of text to speak in one go.

    `text` is the stream's whole text from code point `begin` to `end`, less lone
    surrogates; `script` is what most of it is written in, "" for digits alone.
    """

    text: str
    begin: int
    end: int
    script: str


class Clauser:
    """
    Cuts one stream's text into clauses, at sentence ends, else at pauses, else between words.

    What cannot be pronounced is passed over between clauses. Lengths count letters; a
    character that is a syllable (Han, kana, Hangul) counts as four.

    Args:
        max_chars: longest clause.
        first_max_chars: longest first clause, shorter because a listener waits for it.
    """

    def __init__(self, max_chars: int = MAX_CHARS, first_max_chars: int = FIRST_MAX_CHARS) -> None:
        if min(max_chars, first_max_chars) < WIDE_WEIGHT:
            raise ValueError(f"a clause must have room for one character: {WIDE_WEIGHT} letters at least")
        self._max = max_chars
        self._limit = first_max_chars
        self._first = True
        self._held = ""
        self._offset = 0
        self._half = ""

    def feed(self, text: str) -> list[Clause]:
        """The clauses that are complete with `text`."""
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        self._held += _join(text[: len(text) - len(self._half)])
        return self._cut(final=False)

    def end(self) -> list[Clause]:
        """The rest. The text is complete."""
        self._held += self._half
        self._half = ""
        return self._cut(final=True)

    def _cut(self, final: bool) -> list[Clause]:
        clauses: list[Clause] = []
        at = 0
        while (span := self._next(at, final)) is not None:
            begin, at = span
            clause = self._clause(begin, at)
            if clause is not None:
                clauses.append(clause)
                self._first, self._limit = False, self._max
        at = len(self._held) if final else at
        self._held, self._offset = self._held[at:], self._offset + at
        return clauses

    def _clause(self, begin: int, end: int) -> Optional[Clause]:
        held = self._held
        while begin < end and _is_edge(held[begin]):
            begin += 1
        while begin < end and _is_edge(held[end - 1]):
            end -= 1
        text = _LONE.sub("", held[begin:end])
        if not pronounceable(text):
            return None
        return Clause(text, self._offset + begin, self._offset + end, main_script(text) or "")

    def _next(self, at: int, final: bool) -> Optional[tuple[int, int]]:
        """(begin, end) of the next clause in what is held, or None if it is not complete."""
        text, piece = self._held, _Piece(at)
        index = at
        while index < len(text):
            stop = _word_end(text, index)
            weight, spoken = _measure(text[index]) if stop == index + 1 else (stop - index, True)
            if piece.weight + weight > self._limit:
                if piece.spoken or spoken:
                    return piece.begin, piece.best_cut(text, index, self._limit)
                piece = _Piece(index)
            piece.add(weight, spoken)
            index = stop
            strength = boundaries.after(text, index - 1, final)
            if strength == WAIT:
                return None
            if self._ends(piece, strength):
                if piece.spoken:
                    return piece.begin, index
                piece = _Piece(index)
            elif piece.spoken:
                piece.cuts[strength] = (index, piece.weight)
        return (piece.begin, len(text)) if final and piece.begin < len(text) else None

    def _ends(self, piece: _Piece, strength: int) -> bool:
        return strength == HARD or (strength == SOFT and self._first and piece.weight >= FIRST_MIN_CHARS)


class _Piece:
    """What may become the next clause: its length so far, and where it could be cut."""

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.weight = 0
        self.spoken = False
        self.cuts: dict[int, tuple[int, int]] = {}
        """Strength → the last boundary of it: (index, length up to there)."""

    def add(self, weight: int, spoken: bool) -> None:
        self.spoken = self.spoken or spoken
        self.weight += weight

    def best_cut(self, text: str, index: int, limit: int) -> int:
        """Where to cut what would be too long with the word or character at `index`."""
        for strength, least in ((SOFT, limit // 3), (SPACE, limit // 4), (WEAK, 0), (SPACE, 0), (SOFT, 0)):
            cut, weight = self.cuts.get(strength, (0, -1))
            if weight >= least:
                return cut
        if self.weight == 0 or text[index].isascii():  # in the midst of a word that is longer than all
            return index + limit - self.weight
        while index - 1 > self.begin and unicodedata.category(text[index])[0] == "M":
            index -= 1  # an accent stays with its letter
        return index


_WORD = re.compile("[A-Za-z0-9]+")


def _word_end(text: str, index: int) -> int:
    """End of the ASCII word that begins at `index`; of anything else the next character."""
    match = _WORD.match(text, index)
    return match.end() if match else index + 1


@lru_cache(maxsize=8192)
def _measure(char: str) -> tuple[int, bool]:
    """Length of `char` in letters, and whether it can be pronounced."""
    return WIDE_WEIGHT if script_of(char) in WIDE else 1, pronounceable(char)


def _is_edge(char: str) -> bool:
    """What a clause neither begins nor ends with: white space and lone surrogates."""
    return char.isspace() or "\ud800" <= char <= "\udfff"


def _join(text: str) -> str:
    """`text` with surrogate pairs as the characters that they stand for."""
    if _LONE.search(text) is None:
        return text
    return _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
