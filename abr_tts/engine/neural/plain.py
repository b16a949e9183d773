"""Text in characters that dictionaries know: the same letters and digits without their looks. Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

LOOKS = ("<wide>", "<narrow>", "<font>", "<circle>", "<square>", "<compat>", "<super>", "<sub>", "<fraction>")
"""Decompositions of forms of other characters: full width, mathematical, ligatures, ½."""


MARK = re.compile(r"([,;:!?])(?=[^\W\d])")
"""A mark that was full width needs the space after it that it brought along."""


def plain(text: str) -> str:
    """`text` with digits in ASCII, no forms of letters, no control characters and no lone surrogates."""
    if text.isascii() and text.isprintable():
        return text
    return MARK.sub(r"\1 ", "".join(map(_plain, text)))


@lru_cache(maxsize=8192)
def _plain(char: str) -> str:
    category = unicodedata.category(char)
    if category == "Nd":
        return str(unicodedata.digit(char))
    if category in ("Cc", "Zl", "Zp"):
        return " "
    if category == "Cs" or char == "\ufffd":
        return ""
    if unicodedata.decomposition(char).startswith(LOOKS):
        return unicodedata.normalize("NFKC", char).replace("\u2044", "/")
    return char
