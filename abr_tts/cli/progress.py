"""The line that tells a person at a terminal how far a speech is, how good, and what changed last."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..client.events import Event

REDRAW_S = 0.1
"""Seconds between two drawings: fast enough to seem alive."""

ERASE = "\r\x1b[2K"
"""To the first column, and clear the line (ECMA-48)."""

COLUMNS = 80
"""Width of a terminal that does not tell its own."""


class Progress:
    """
    A line on stderr, redrawn in place where that is a terminal.

    Args:
        wanted: False keeps it silent, whatever stderr is.
    """

    def __init__(self, wanted: bool = True) -> None:
        self._wanted, self._shown = wanted, wanted and sys.stderr.isatty()
        self._next = 0.0
        self._change = ""
        self.warnings: list[str] = []
        """What the server warned of, also where nothing is shown."""

    def note(self, event: Event) -> None:
        """What the server says of the stream: the last change of what it sends stays in the line; a warning
        stays on the screen."""
        from ..client.events import Reconnecting
        from ..wire.messages import Error, Switch

        if isinstance(event, Reconnecting) and event.attempt == 1:
            self.end(f"abr-tts: {event.reason}; connecting again", anywhere=True)
        if isinstance(event, Error):
            self.warnings.append(event.message)
            self.end(f"abr-tts: warning: {event.message}", anywhere=True)
        if isinstance(event, Switch) and event.source != event.target:
            self._change = f"  {event.source} to {event.target}: {event.reason}"
            self._next = 0.0

    def draw(self, seconds: float, rung: str, bank_ms: float, switches: int) -> None:
        """Speech got so far, the rung heard, what is in hand, and how often what is heard has changed."""
        now = time.monotonic()
        if self._shown and now >= self._next:
            self._next = now + REDRAW_S
            times = "switch" if switches == 1 else "switches"
            words = (
                f"{seconds:7.1f} s  {rung:8} bank {bank_ms / 1000:4.1f} s  {switches} {times}{self._change}"
            )
            print(ERASE + words[: _columns() - 1], end="", file=sys.stderr, flush=True)

    def end(self, words: str = "", anywhere: bool = False) -> None:
        """The line goes; `words`, if any, stay in its place: `anywhere`, or on a terminal alone."""
        if self._shown:
            print(ERASE + words, end="\n" if words else "", file=sys.stderr, flush=True)
        elif words and anywhere and self._wanted:
            print(words, file=sys.stderr, flush=True)


def _columns() -> int:
    """Beyond the terminal's width a line would wrap, and could not be erased."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or COLUMNS
    except (OSError, ValueError):
        return COLUMNS


BAR_CELLS = 24
"""Characters of a bar."""


class Bar:
    """
    How much of a long piece of work is done, on stderr; nothing at all where stderr is no terminal.

    Args:
        what: what is being done, in a word or two.
        wanted: False keeps it silent on a terminal, too.
    """

    def __init__(self, what: str, wanted: bool = True) -> None:
        self._what, self._shown = what, wanted and sys.stderr.isatty()
        self._total = self._done = 0
        self._begun = self._next = 0.0

    def begin(self, total: int) -> None:
        """So many steps will be made; what was done before is forgotten."""
        self._total, self._done = total, 0
        self._begun = time.monotonic()
        self._next = 0.0

    def step(self) -> None:
        """One more step is made."""
        self._done += 1
        now = time.monotonic()
        if self._shown and (now >= self._next or self._done == self._total):
            self._next = now + REDRAW_S
            left_s = (now - self._begun) / self._done * (self._total - self._done)
            filled = BAR_CELLS * self._done // max(1, self._total)
            words = (
                f"{self._what} [{'#' * filled}{'.' * (BAR_CELLS - filled)}] "
                f"{self._done}/{self._total}, {left_s:.0f} s left"
            )
            print(ERASE + words[: _columns() - 1], end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """The line goes."""
        if self._shown:
            print(ERASE, end="", file=sys.stderr, flush=True)
