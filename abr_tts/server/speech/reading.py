"""
The text of one utterance: pieces in as they come, clauses out as the engine has room for them.

Time is an argument. A text that stands still for a while, as a language model's does while it calls a
tool, is spoken as far as it goes without cutting a word. Knows no engine, no core and no timers.
"""

from __future__ import annotations

import re
from collections import deque

from ...engine.text import Clause, Clauser

CUT_CHARS = 1000
"""Characters of text that are cut into clauses in one go: some 5 ms on a slow processor. A book in
one message then delays nobody; it is cut as it is spoken."""

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
"""Both halves of a character that UTF-16 writes in two."""


class Reading:
    """
    Args:
        clauser: of this text alone.
        idle_s: seconds without new text after which what is held is looked at again; 0: never.
    """

    def __init__(self, clauser: Clauser, idle_s: float) -> None:
        self._clauser, self._idle_s = clauser, idle_s
        self._text: deque[str | None] = deque()  # None: a flush
        self._clauses: deque[Clause] = deque()
        self._ended = self._cut_all = False
        self._rest_at: float | None = None
        self._chars, self._half = 0, ""
        self.taken = 0
        """Characters up to the end of the clause that was taken last."""
        self.left = False
        """The rest of it is not spoken here."""

    def add(self, text: str, now: float) -> None:
        """More text."""
        if self.left:
            return
        self._count(text)
        self._text.extend(text[at : at + CUT_CHARS] for at in range(0, len(text), CUT_CHARS))
        if text and self._idle_s:
            self._rest_at = now + self._idle_s

    def flush(self) -> None:
        """What is here is to be spoken although its sentence may go on."""
        self._text.append(None)

    def end(self) -> None:
        """No more text comes."""
        self._ended = True

    @property
    def ended(self) -> bool:
        """Whether no more text comes."""
        return self._ended

    def settle(self) -> int:
        """
        Characters of text so far, for a client that says again what lies behind them.

        Half a surrogate pair at the end is not counted, and forgotten: its character is said again.
        """
        if self._half:
            last = next((at for at in reversed(range(len(self._text))) if self._text[at] is not None), None)
            if last is None:
                self._clauser.forget_half()
            else:
                self._text[last] = (self._text[last] or "")[:-1]
            self._half = ""
        return self._chars

    def _count(self, text: str) -> None:
        if text:
            text = self._half + text
            self._half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
            self._chars += len(_PAIR.sub("_", text)) - len(self._half)

    def drop(self) -> None:
        """None of it is wanted any more."""
        self._text.clear()
        self._clauses.clear()
        self._rest_at = None

    def cut(self) -> bool:
        """Cut until there is a clause; False: enough was cut in one go, and there is more to do."""
        fed = 0
        while not self._clauses and (self._text or self._ended) and not self._cut_all:
            if fed >= CUT_CHARS:
                return False
            if self._text:
                text = self._text.popleft()
                fed += len(text or "")
                self._clauses.extend(self._clauser.flush() if text is None else self._clauser.feed(text))
            else:
                self._cut_all = True
                self._clauses.extend(self._clauser.end())
        return True

    @property
    def ready(self) -> bool:
        """Whether there is a clause to speak."""
        return bool(self._clauses)

    @property
    def over(self) -> bool:
        """Whether there is none, and none will come."""
        return self._cut_all and not self._clauses

    def take(self) -> Clause:
        """The next clause, only while `ready`."""
        clause = self._clauses.popleft()
        self.taken = clause.end
        return clause

    def leave(self) -> bool:
        """Say no more of it. False: nothing is left to be said, and none may come."""
        if self.cut() and self.over:
            return False
        self.drop()
        self.left = self._ended = self._cut_all = True
        return True

    def rest_at(self) -> float | None:
        """When to call `rest`, if no text comes before; None: there is nothing to be done then."""
        return None if self._clauses or self._text or self._ended else self._rest_at

    def rest(self, unheard_s: float, now: float) -> None:
        """
        The text has not gone on until `rest_at`: there may be a clause now.

        Args:
            unheard_s: speech that was made and that the listener has not heard. As long as it lasts,
                nothing but a whole sentence is taken.
        """
        due = self.rest_at()
        if due is None or now < due:
            return
        hungry = unheard_s <= self._idle_s
        self._clauses.extend(self._clauser.rest(hungry))
        if not self._clauses:  # when the listener is hungry, or not before the next text
            self._rest_at = None if hungry else now + unheard_s - self._idle_s
