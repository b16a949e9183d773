"""
What the log says of pages that were refused: enough that an operator learns which origin is missing from
`auth.origins`, and no more however often anybody asks.
"""

from __future__ import annotations

import logging

log = logging.getLogger(__name__)

EVERY_S = 60.0
"""Seconds between two lines: a page that tries again by itself must not fill the log. A guess."""

SHOWN_CHARS = 100
"""Characters of an origin that are shown: a name of a host has at most 253, one of a page rarely 50."""


class RefusedPages:
    """Tells of refused origins, one line a minute at most."""

    def __init__(self) -> None:
        self._next, self._untold = float("-inf"), 0

    def note(self, origin: str, now: float) -> None:
        """
        One was refused.

        Args:
            origin: as the browser names it; anybody may send anything there.
            now: seconds.
        """
        if now < self._next:
            self._untold += 1
            return
        more = f"; {self._untold} more since the last such line" if self._untold else ""
        self._next, self._untold = now + EVERY_S, 0
        log.warning("refused a page of %s, which is not in auth.origins%s", ascii(origin[:SHOWN_CHARS]), more)
