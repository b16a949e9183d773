"""
Which part of a text was heard: from marks and ticks played to a position in the text.

Clauses that sounded to their end count whole; inside one the position is estimated from the share
of its time that has passed, and rounded down to the start of a word. Knows no sound and no socket.
`tests/js/heard.fixture.json` binds it and the JavaScript's `heard.js`.
"""

from __future__ import annotations

from ..units import TICKS_PER_SECOND
from ..wire.messages import Mark

LETTER_TICKS = TICKS_PER_SECOND // 14
"""Ticks that a letter takes, until a clause of this speech has told: espeak-ng speaks 14 characters of
English a second, measured; a voice that is slower is believed to be further than it is by that much."""

WIDE_LETTERS = 4
"""Letters that last as long as one Han, kana or Hangul character: as `engine.scripts` counts."""

_WIDE = ((0x2E80, 0xA4CF), (0xAC00, 0xD7A3), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))
"""Code points of those, roughly: the blocks of Unicode."""


class HeardText:
    """
    The text of one speech, and where its clauses lie in time.

    Positions are code points of the whole text, halves of surrogate pairs joined, as in `Mark`.
    """

    def __init__(self, text: str = "") -> None:
        self._pieces = [text]
        self._marks: list[Mark] = []
        self._end: int | None = None

    @property
    def text(self) -> str:
        """All of it so far."""
        if len(self._pieces) > 1:
            whole = "".join(self._pieces)
            self._pieces = [whole if whole.isascii() else _join(whole)]
        return self._pieces[0]

    def add(self, text: str) -> None:
        """More text."""
        self._pieces.append(text)

    def mark(self, mark: Mark) -> None:
        """A clause begins; they come in their order, one that is told again is passed over."""
        if mark not in self._marks[-1:]:
            self._marks.append(mark)

    def end(self, ticks: int) -> None:
        """The speech is so long, or what one server speaks of it."""
        self._end = ticks

    def clause_at(self, ticks: int) -> int:
        """Position where the last clause begins that begins by `ticks`."""
        return max((mark.begin for mark in self._marks if mark.pts <= ticks), default=0)

    def at(self, played: int, reach: int) -> int:
        """
        Position up to which the text was heard.

        Args:
            played: ticks heard.
            reach: ticks that are known to be speech, `played` or more: the clause at hand is not shorter.
        """
        begun = [index for index, mark in enumerate(self._marks) if mark.pts < played]
        if not begun:
            return 0
        index = begun[-1]
        mark, until = self._marks[index], self._until(index)
        clause = self.text[mark.begin : mark.end]
        if until is not None and played >= until:
            return mark.begin + len(clause)
        weights = [_letters(char) for char in clause]
        if until is None:
            until = max(reach, mark.pts + round(sum(weights) * self._pace(index)))
        return mark.begin + _whole_words(clause, weights, (played - mark.pts) / (until - mark.pts))

    def _until(self, index: int) -> int | None:
        """Where the clause ends; None if that is not known yet."""
        if index + 1 < len(self._marks):
            return self._marks[index + 1].pts
        return self._end if self._end is not None and self._end > self._marks[index].pts else None

    def _pace(self, index: int) -> float:
        """Ticks a letter took in the clauses before this one."""
        begin, ticks = self._marks[0], self._marks[index].pts - self._marks[0].pts
        letters = sum(map(_letters, self.text[begin.begin : self._marks[index].begin]))
        return ticks / letters if ticks and letters else LETTER_TICKS


def _whole_words(clause: str, weights: list[int], share: float) -> int:
    """Characters of `clause` that lie within `share` of its length, less a word that has only begun."""
    left, count = share * sum(weights), 0
    while count < len(clause) - 1 and weights[count] <= left:
        left -= weights[count]
        count += 1
    while count > 0 and _inside(clause[count - 1], clause[count]):
        count -= 1
    return count


def _inside(before: str, after: str) -> bool:
    """Whether no word begins between these two."""
    return not (before.isspace() or after.isspace() or _letters(before) > 1 or _letters(after) > 1)


def _letters(char: str) -> int:
    code = ord(char)
    return WIDE_LETTERS if any(low <= code <= high for low, high in _WIDE) else 1


def _join(text: str) -> str:
    """Surrogate pairs as the characters that they stand for; a half that is alone stays."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
