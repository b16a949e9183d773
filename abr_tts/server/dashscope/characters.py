"""
Characters as DashScope counts them, for limits and for `usage`: a Han character is two, any other one.
"""

from __future__ import annotations

import re

HAN = re.compile(
    "[\u2e80-\u2fd5\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]"
)
"""
Characters of the script Han in all their forms, Japanese kanji and Korean hanja with them: script property
`Hani` of Unicode 15. "Chinese characters count as two characters, all other characters as one": Alibaba's
reference of the CosyVoice WebSocket API, "Character counting rules".
"""

PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
"""Both halves of a character that UTF-16 writes in two."""


def count(text: str) -> int:
    """Characters of a text."""
    return len(text) + len(HAN.findall(text))


class Heard:
    """A task's text so far, by whose places sentences are named."""

    def __init__(self) -> None:
        self._text, self._half = "", ""
        self.characters = 0
        """As they are counted."""

    def add(self, text: str) -> None:
        """More text; half a surrogate pair waits for the other half, as it does on its way to the engine."""
        self.characters += count(text)
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        text = text[: len(text) - len(self._half)]
        self._text += PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)

    def part(self, begin: int, end: int) -> str:
        """The text from one code point to another."""
        return self._text[begin:end]
