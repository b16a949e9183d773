"""
Connections whose right to be here ends while they are open: the key that they came by was removed from its
file, or their token is out of date. They are told `unauthorized` and closed with 1008.

A signing key of JSON Web Tokens that is removed ends nothing by itself: its tokens end at their time.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from ..guest import Guest
from .auth import Auth

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""Seconds between two looks: a look at a thousand connections takes 0.1 ms (measured here)."""


class Standing:
    """
    Args:
        auth: who may be here, now.
        guests: who is.
        now: seconds since 1970, as tokens have it.
    """

    def __init__(
        self, auth: Auth, guests: Callable[[], Iterable[Guest]], now: Callable[[], float] = time.time
    ) -> None:
        self._auth, self._guests, self._now = auth, guests, now
        self._going: set[Guest] = set()

    def look(self) -> int:
        """Send away whose right has ended, each once; how many."""
        faults, before = self._auth.faults(self._now()), self._going
        gone = {guest: words for guest in self._guests() if (words := faults(guest.caller))}
        self._going = set(gone)  # one who does not read takes a while to go
        for guest in self._going - before:
            guest.dismiss(gone[guest])
        if told := len(self._going - before):
            log.info("%d connections were closed: their key or token is no longer good", told)
        return told

    async def run(self) -> None:
        """Look until cancelled."""
        with suppress(asyncio.CancelledError):
            while True:
                await asyncio.sleep(LOOK_S)
                self.look()
