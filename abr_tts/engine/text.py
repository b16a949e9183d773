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

GROWTH = 1.5
"""How much longer than the one before a clause may be, up to the maximum: an engine that needs two
thirds of the time that its speech lasts has made it while the one before is heard. Chosen here."""

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
        first_max_chars: longest first clause, shorter because a listener waits for it; those
            after it may each be longer by half, until they reach `max_chars`.
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
        self._piece = _Piece(0)
        self._at = 0
        """What of `_held` has been looked at: the next text is read on from here."""
        self._open = False
        """The boundary before `_at` is not known yet."""

    @property
    def held(self) -> int:
        """Characters kept in memory: less than a clause and what a boundary looks back over, of any text."""
        return len(self._held)

    def feed(self, text: str) -> list[Clause]:
        """The clauses that are complete with `text`."""
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        self._held += _join(text[: len(text) - len(self._half)])
        return self._cut(final=False)

    def forget_half(self) -> None:
        """The text does not end with half a surrogate pair after all: its character will be said again."""
        self._half = ""

    def end(self) -> list[Clause]:
        """The rest. The text is complete."""
        self._held += self._half
        self._half = ""
        return self._cut(final=True)

    def flush(self) -> list[Clause]:
        """All of it so far, as if it ended here; more may come. Half a surrogate pair is kept."""
        return self._cut(final=True)

    def rest(self, hungry: bool) -> list[Clause]:
        """
        The clause to speak, if any, when no text has come for a while: nobody shall wait in silence.

        It ends where the text does, if that looks like a sentence's end; for a `hungry` listener, who has
        nothing else to hear, after a phrase, else between two words. The word or number that the text
        ends with may go on, and is kept.
        """
        end = self._resting_end(hungry)
        clauses = [] if end is None else self._take(end)
        self._forget()
        return clauses

    def _resting_end(self, hungry: bool) -> Optional[int]:
        piece = self._piece
        if not piece.spoken:
            return None
        strength = boundaries.at_rest(self._held, self._at - 1) if self._open else boundaries.NONE
        if strength == HARD or (hungry and strength == SOFT):
            return self._at
        if strength == SPACE:
            piece.cuts[SPACE] = (self._at - piece.begin, piece.weight)
        for kind, least in ((SOFT, 0), (SPACE, FIRST_MIN_CHARS)):
            cut, weight = piece.cuts.get(kind, (0, -1))
            if hungry and weight >= least:
                return piece.begin + cut
        return None

    def _cut(self, final: bool) -> list[Clause]:
        clauses: list[Clause] = []
        while (end := self._next_end(final)) is not None:
            clauses += self._take(end)
        self._forget()
        return clauses

    def _take(self, end: int) -> list[Clause]:
        """The piece at hand up to `end`, if it can be spoken; another begins there."""
        clause = self._clause(self._piece.begin, end)
        self._piece, self._at, self._open = _Piece(end), end, False
        if clause is None:
            return []
        self._first, self._limit = False, min(self._max, int(self._limit * GROWTH))
        return [clause]

    def _forget(self) -> None:
        """Let go of what no clause needs any more, unpronounceable text as well as spoken."""
        done = max(0, self._piece.begin - boundaries.BACK)
        self._held, self._offset = self._held[done:], self._offset + done
        self._piece.begin -= done
        self._at -= done

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

    def _next_end(self, final: bool) -> Optional[int]:
        """Read on to where the piece at hand ends, or None if the text does not say yet."""
        text, limit = self._held, self._limit
        while True:
            if self._open and self._ends(boundaries.after(text, self._at - 1, final)):
                return self._at
            index, piece = self._at, self._piece
            if self._open or index == len(text):
                return index if final and piece.begin < index else None
            stop = _word_end(text, index, limit)
            weight, spoken = _measure(text[index]) if stop == index + 1 else (stop - index, True)
            if piece.weight + weight > limit:
                if piece.spoken or spoken:
                    return piece.best_cut(text, index, limit)
                piece = self._piece = _Piece(index)
            piece.add(weight, spoken)
            self._at, self._open = stop, True

    def _ends(self, strength: int) -> bool:
        """Whether a boundary of this strength at `_at` ends the piece; `_open` is left if it waits."""
        if strength == WAIT:
            return False
        self._open, piece = False, self._piece
        if strength == HARD or (strength == SOFT and self._first and piece.weight >= FIRST_MIN_CHARS):
            if piece.spoken:
                return True
            self._piece = _Piece(self._at)
        elif piece.spoken:
            piece.cuts[strength] = (self._at - piece.begin, piece.weight)
        return False


class _Piece:
    """What may become the next clause: its length so far, and where it could be cut."""

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.weight = 0
        self.spoken = False
        self.cuts: dict[int, tuple[int, int]] = {}
        """Strength → the last boundary of it: (characters, length up to there)."""

    def add(self, weight: int, spoken: bool) -> None:
        self.spoken = self.spoken or spoken
        self.weight += weight

    def best_cut(self, text: str, index: int, limit: int) -> int:
        """Where to cut what would be too long with the word or character at `index`."""
        for strength, least in ((SOFT, limit // 3), (SPACE, limit // 4), (WEAK, 0), (SPACE, 0), (SOFT, 0)):
            cut, weight = self.cuts.get(strength, (0, -1))
            if weight >= least:
                return self.begin + cut
        if self.weight == 0 or text[index].isascii():  # in the midst of a word that is longer than all
            return index + limit - self.weight
        while index - 1 > self.begin and unicodedata.category(text[index])[0] == "M":
            index -= 1  # an accent stays with its letter
        return index


_WORD = re.compile("[A-Za-z0-9]+")


def _word_end(text: str, index: int, limit: int) -> int:
    """
    End of the ASCII word that begins at `index`; of anything else the next character.

    What comes after `limit` letters cannot matter, and is not looked at: a word of a megabyte
    would be read again for each of its clauses. Where a word is read in parts the clauses are
    the same, since there is no boundary between them.
    """
    match = _WORD.match(text, index, index + limit + 1)
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
