"""
Files of keys and certificates that change under a running server: looked at every few seconds and on SIGHUP,
as policy files are. What is in use stays until another good one is there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import ConfigError
from .rounds import Rounds
from .watch import Settling, Sight, look

log = logging.getLogger(__name__)

APPLIED, REFUSED = "applied", "refused"
"""What comes of a change, as metrics name it."""

MOST_KEY_BYTES = 16_777_216
"""Longest file of keys that is looked at for changes: some 400 000 keys. It is read whole every few seconds;
a guess."""


@dataclass(frozen=True, slots=True)
class Kind:
    """
    Args:
        setting: such as `auth.keys_file`; of a pair, the first.
        paths: what is read; all of them are one thing and change together.
        take: given what they say, puts it to use and says so in a sentence; ConfigError leaves all as it was.
    """

    setting: str
    paths: tuple[Path, ...]
    take: Callable[[Sequence[str]], str]


class _Watched:
    """One kind, with what is known of its files."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        first = self.look()[0]
        self.settling = Settling(first)
        self.stale = first.text is None
        if self.stale:
            log.warning("%s: %s; its changes cannot be seen", kind.setting, first.fault)

    def look(self) -> tuple[Sight, tuple[str, ...]]:
        """All of it as one sight, and each text."""
        sights = [look(path, "file", MOST_KEY_BYTES) for path in self.kind.paths]
        for path, sight in zip(self.kind.paths, sights, strict=True):
            if sight.text is None:
                return Sight(None, f"{path}: {sight.fault}"), ()
        texts = tuple(sight.text or "" for sight in sights)
        return Sight("\0".join(texts)), texts


class Refresh:
    """
    Args:
        kinds: what is looked at.
        every_s: seconds between two looks; 0: only when asked.
        told: is told of every change: the setting and what came of it.
    """

    def __init__(self, kinds: Sequence[Kind], every_s: float, told: Callable[[str, str], None]) -> None:
        self._watched = [_Watched(kind) for kind in kinds]
        self._told = told
        self._rounds = Rounds(every_s, lambda: any(one.settling.unsettled for one in self._watched))

    @property
    def stale(self) -> int:
        """How many of them do not say what is in use."""
        return sum(one.stale for one in self._watched)

    def ask(self) -> None:
        """Look now, and take what is there at once."""
        self._rounds.ask()

    async def run(self) -> None:
        """Look until cancelled."""
        await self._rounds.run(lambda: [one.look() for one in self._watched], self._take, "files of keys")

    async def _take(self, seen: Sequence[tuple[Sight, tuple[str, ...]]], now: float, at_once: bool) -> None:
        self.take(seen, now, at_once)

    def take(self, seen: Sequence[tuple[Sight, tuple[str, ...]]], now: float, at_once: bool) -> None:
        """What a look at `now` saw, in the order of the kinds."""
        pairs = list(zip(self._watched, seen, strict=True))
        news = [(one, *saw) for one, saw in pairs if one.settling.see(saw[0], now, at_once)]
        applied = [self._change(*each) for each in news]
        # What was refused, now or before, for what another file said may be good by now.
        if any(applied) or (at_once and not news):
            for one, (sight, texts) in pairs:
                if one.stale and not one.settling.unsettled:
                    self._change(one, sight, texts)

    def _change(self, one: _Watched, sight: Sight, texts: tuple[str, ...]) -> bool:
        setting = one.kind.setting
        try:
            if sight.text is None:
                raise ConfigError(sight.fault)
            words = one.kind.take(texts)
        except ConfigError as error:
            one.stale = True
            log.warning("%s: %s; what was there before is in use", setting, error)
            self._told(setting, REFUSED)
            return False
        one.stale = False
        log.info("%s: %s", setting, words)
        self._told(setting, APPLIED)
        return True
