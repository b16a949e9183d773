"""
Where a text may be cut: how strong the boundary after one of its characters is.

Pure look-ups in a string. Rules for punctuation of many scripts, ASCII and full width;
knows no lengths and no state.
"""

from __future__ import annotations

import re
import unicodedata

from .scripts import UNSPACED, script_of

NONE, WEAK, SPACE, SOFT, HARD, WAIT = range(6)
"""
No cut; a cut if need be (between two characters of a script without spaces, or at the space behind
a number, which has more digits or a unit after it); between words; between phrases; between
sentences; and: only the next characters can tell.
"""

_FULL_ENDERS = frozenset("。｡．！？।॥։።៕။؟۔།")
"""End a sentence whatever follows."""

_ENDERS = _FULL_ENDERS | frozenset(".!?…‼⁇⁈⁉")
"""End a sentence if a space or a script without spaces follows."""

_FULL_PAUSES = frozenset("，、；：､،؛፣፤၊—")
"""End a phrase whatever follows, except between digits."""

_PAUSES = _FULL_PAUSES | frozenset(",;:")
"""End a phrase if a space or a script without spaces follows."""

_CLOSERS = frozenset("\"'”’»›)]}）］｝」』】》〉〕")
"""Belong to what stands before them."""

_MARKS = _ENDERS | _PAUSES | _CLOSERS

_OPENERS = frozenset("“‘«‹([{（［｛「『【《〈〔¿¡")
"""Belong to what stands after them."""

_GLUE = frozenset("\u00a0\u202f\u2007\u2060\ufeff")
"""Spaces that forbid a cut (Unicode line breaking class GL and WJ)."""

LOOK = 16
"""Characters to look back over closers or spaces, and ahead over spaces, before giving up: with no
bound a megabyte of them costs hours. Chosen here."""

BACK = 2 * LOOK
"""Characters before the one asked about that `after` may look at: closers, and a word before them."""

_ABBREVIATIONS = frozenset(
    (
        *("mr", "mrs", "ms", "dr", "prof", "st", "vs", "rev", "gen", "col", "capt", "lt", "sgt", "hon"),
        *("messrs", "mt", "fig", "vol", "pp", "cf", "al", "dept", "approx"),
        *("e.g", "i.e", "viz", "a.k.a"),
    )
)
"""English words whose full stop ends no sentence. A guess at the common ones."""

_NUMBERED = frozenset(
    (
        *("no", "nos", "p", "art", "sec", "ch", "ver", "v", "ca", "c"),
        *("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"),
    )
)
"""English words whose full stop ends no sentence where a number follows. A guess at the common ones."""

_NUMERALS = frozenset("零〇一二三四五六七八九十百千万亿两点")
"""Characters that make up numbers in Chinese; between two of them there is no cut."""

_ITEM = re.compile(r"[-*+•·#>|]|\d{1,3}[.)、．）]")
"""What begins a line that is a paragraph of its own: an item of a list, a heading, a row, as in Markdown."""

_NOT_YET_ITEM = re.compile(r"\d{0,3}")
"""What may become one."""

_ADDRESS = frozenset("@/\\_:.0123456789")
"""Characters that a word of speech has not, but numbers, addresses and names of files have."""

_INITIALS = re.compile(r"(?:[A-Z]\.)*[A-Z]")
"""J. Smith, U.S. Army: less the last full stop."""


def after(text: str, index: int, final: bool) -> int:
    """The boundary between `text[index]` and what follows; `final`: nothing follows the text."""
    char = text[index]
    if char in _MARKS:
        if text[index + 1 : index + 2] in _MARKS:
            return NONE  # the boundary is after the last of them
        mark = _mark_before(text, index) if char in _CLOSERS else index
        return _after_mark(text, index, mark, final)
    if char.isspace():
        return _after_space(text, index, final)
    return _between_letters(text, index, final)


def at_rest(text: str, index: int) -> int:
    """
    The boundary after `text[index]`, which only the next character could tell, when none comes for a while.

    It is taken for what it would be if another sentence followed; after a number or a part of an
    address, which may go on with the next character, there is none.
    """
    char = text[index]
    if index + 1 == len(text) and not char.isspace():
        if char not in _MARKS:
            return NONE
        mark = _mark_before(text, index) if char in _CLOSERS else index
        if (
            mark == index
            and char not in _FULL_ENDERS - {"．"}
            and _ADDRESS & set(_word_before(text, mark).rstrip("."))
        ):
            return NONE
        text += " "
    return after(text + "A", index, False)


def _mark_before(text: str, index: int) -> int:
    """Index of the punctuation that the closers up to `index` follow, or of the last of them."""
    at = index
    while at > max(index - LOOK, 0) and text[at] in _CLOSERS:
        at -= 1
    return at if text[at] in _MARKS else index


def _after_mark(text: str, index: int, mark: int, final: bool) -> int:
    """After the punctuation at `mark` and the closers that follow it up to `index`."""
    if index + 1 == len(text):
        return HARD if final else WAIT
    following = text[index + 1]
    char = text[mark]
    if mark > 0 and text[mark - 1].isdigit() and following.isdigit() and char not in _FULL_ENDERS - {"．"}:
        return NONE  # 3.14, 1,299.00, 12：30
    open_end = char in _FULL_ENDERS or char in _FULL_PAUSES
    if not (open_end or following.isspace() or script_of(following) in UNSPACED):
        return NONE  # example.com, 10:30, "it's"
    if char in _PAUSES:
        return SOFT
    if char in _ENDERS:
        return _after_stop(text, index, mark, final) if char in ".…" else HARD
    return NONE


def _after_stop(text: str, index: int, mark: int, final: bool) -> int:
    """After a full stop and a space: a sentence's end, or an abbreviation's, or a number's."""
    ahead = text[index + 1 : index + 1 + LOOK]
    following = ahead.lstrip()[:1]
    gap = ahead[: len(ahead) - len(ahead.lstrip())]
    if "\n\n" in gap or "\u2029" in gap:
        return HARD  # a paragraph's end, whatever it was
    if not following:
        return HARD if final or len(ahead) == LOOK else WAIT
    trailing = text[mark] == "…" or text[mark - 1 : mark] == "."
    if following.islower():
        return SOFT if trailing else SPACE
    if trailing:
        return HARD
    word = _word_before(text, mark)
    if word.lower() in _ABBREVIATIONS or _INITIALS.fullmatch(word):
        return NONE
    if word.lower() in _NUMBERED and following.isdigit():
        return NONE
    return SPACE if word.isdigit() and len(word) <= 2 else HARD  # "am 3. Oktober", "1. First"


def _word_before(text: str, index: int) -> str:
    """What ends right before `index`, from a space or a Chinese character on; of a longer word its end."""
    begin = index
    while begin > max(index - LOOK, 0) and not _ends_word(text[begin - 1]):
        begin -= 1
    return text[begin:index].lstrip("".join(_OPENERS))


def _ends_word(char: str) -> bool:
    return char.isspace() or script_of(char) in UNSPACED


def _after_space(text: str, index: int, final: bool) -> int:
    char = text[index]
    if char in _GLUE:
        return NONE
    if char == "\u2029" or (char == "\n" and "\n" in _spaces_before(text, index)):
        return HARD
    if char in "\n\u2028\v\f":
        return _after_line(text, index, final)
    return WEAK if index > 0 and text[index - 1].isdigit() else SPACE  # 10 000, 5 km


def _after_line(text: str, index: int, final: bool) -> int:
    """After the end of a line: text may have been broken there, or it is an item's end."""
    ahead = text[index + 1 : index + 1 + LOOK]
    line = ahead.lstrip(" \t")
    if _ITEM.match(line):
        return HARD
    if _NOT_YET_ITEM.fullmatch(line) and not final and len(ahead) < LOOK:
        return WAIT
    return SOFT


def _spaces_before(text: str, index: int) -> str:
    """The white space that ends right before `index`, as far as we look."""
    before = text[max(index - LOOK, 0) : index]
    return before[len(before.rstrip()) :]


def _between_letters(text: str, index: int, final: bool) -> int:
    """Chinese and Japanese may be cut between any two characters, except before closing marks."""
    if index + 1 == len(text):
        return NONE if final else WAIT
    char, following = text[index], text[index + 1]
    if script_of(char) not in UNSPACED and script_of(following) not in UNSPACED:
        return NONE
    if char in _OPENERS or following in _CLOSERS or char.isdigit() or following.isdigit():
        return NONE
    if char in _NUMERALS and following in _NUMERALS:
        return NONE
    return NONE if unicodedata.category(following)[0] in "MPS" else WEAK
