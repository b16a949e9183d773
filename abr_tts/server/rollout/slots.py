"""
One setting that names a policy: the version in use, the good ones before it, what is wrong with its file.

A bad file never replaces a good version. A version that was rolled back is held: its file may go on saying
it, but it is not taken again until another one was. Nothing here reads a file or knows a clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ...control.policy import Policy
from ...control.policy_file import parse
from ...control.policy_text import as_text
from ...errors import ConfigError
from ...trace import digest
from .watch import Settling, Sight

KEPT = 10
"""Versions before the one in use that can be gone back to; some 5 kB each. A guess."""

HASH_CHARS = 12
"""Characters of a hash in metrics, logs and answers: 48 bits tell any number of versions apart."""

APPLIED, REFUSED, HELD, UNCHANGED, ENDED, ROLLED_BACK, RESHARED = OUTCOMES = (
    "applied", "refused", "held", "unchanged", "ended", "rolled_back", "reshared",
)  # fmt: skip
"""
What came of a change: taken; a bad file; a version that was rolled back; nothing new in it; a canary whose
file is gone; gone back to the version before; another share of sessions for the canary.
"""


NOTHING = Sight(None)
"""Of a preset, which has no file."""


def fingerprint(policy: Policy) -> str:
    """The first characters of the hash that traces carry as `policy_sha256`."""
    return digest(as_text(policy))[:HASH_CHARS]


def judge(sight: Sight, path: Path) -> Policy:
    """
    The policy that a file says.

    Raises:
        ConfigError: it says none, in one sentence; whatever is wrong with it, nothing else is raised.
    """
    if sight.text is None:
        raise ConfigError(f"{path}: {sight.fault}")
    return parse(sight.text, str(path))


class Version:
    """
    A policy that is or was in use.

    Args:
        policy: itself.
        number: its place in the order in which this server took versions.
    """

    def __init__(self, policy: Policy, number: int) -> None:
        self.policy, self.number = policy, number
        self.hash = fingerprint(policy)

    def __str__(self) -> str:
        return f"{self.policy.name} ({self.hash})"


@dataclass(frozen=True, slots=True)
class Change:
    """
    What came of a look at a file, or of going back.

    Args:
        setting: such as `stream.policy`.
        outcome: one of `OUTCOMES`.
        words: a sentence for the operator.
    """

    setting: str
    outcome: str
    words: str


class Slot:
    """
    Args:
        setting: its name, such as `stream.policy`.
        path: the file; None: a preset, which does not change.
        version: to begin with; None: none, which only an optional one may have.
        sight: of the file, from which that version is.
        optional: it may go without a policy, and does so when its file is gone or it is rolled back.
        earlier: good versions before it, the oldest first.
        held: policies that were rolled back.
    """

    def __init__(
        self,
        setting: str,
        path: Path | None,
        version: Version | None,
        sight: Sight = NOTHING,
        *,
        optional: bool = False,
        earlier: Iterable[Version] = (),
        held: Iterable[Policy] = (),
    ) -> None:
        self.setting, self.path, self.version, self.optional = setting, path, version, optional
        self.settling = Settling(sight)
        """What is known of the file."""
        self.fault = ""
        """Why what the setting says is not what is in use; empty where it is."""
        self._earlier: deque[Version] = deque(earlier, KEPT)
        self._held = {fingerprint(policy): policy for policy in held}

    @property
    def earlier(self) -> tuple[Version, ...]:
        """What can be gone back to, the latest first."""
        return tuple(reversed(self._earlier))

    @property
    def held(self) -> tuple[Policy, ...]:
        """What was rolled back since another version was taken."""
        return tuple(self._held.values())

    @property
    def undoable(self) -> bool:
        """Whether there is something to roll back."""
        return self.version is not None and (self.optional or bool(self._earlier))

    def take(self, sight: Sight, number: int) -> Change:
        """
        The file says something else now.

        Args:
            sight: what it says.
            number: of the version, should it be one.
        """
        assert self.path is not None, "a preset has no file"
        if sight.missing and self.optional:
            return self._end()
        try:
            version = Version(judge(sight, self.path), number)
        except ConfigError as error:
            return self._refuse(str(error))
        if self.version is not None and version.hash == self.version.hash:
            self.fault = ""
            self._held.clear()
            return Change(self.setting, UNCHANGED, f"{version} is in use already")
        if version.hash in self._held:
            self.fault = self._held_back(version)
            return Change(self.setting, HELD, self.fault)
        return self._apply(version)

    def undo(self) -> Change:
        """Go back to the version before; an optional one to none. Only where it is `undoable`."""
        left = self.version
        assert left is not None and self.undoable, "asked before"
        self.version = None if self.optional else self._earlier.pop()
        self._held[left.hash] = left.policy
        self.fault = self._held_back(left)
        return Change(self.setting, ROLLED_BACK, self.fault)

    # ------------------------------------------------------------ what comes of a file

    def _apply(self, version: Version) -> Change:
        left, self.version = self.version, version
        if left is not None and not self.optional:
            self._earlier.append(left)
        self._held.clear()
        self.fault = ""
        instead = f" instead of {left}" if left else ""
        return Change(self.setting, APPLIED, f"new streams take {version}{instead}")

    def _refuse(self, reason: str) -> Change:
        self.fault = f"{reason}; {self._instead}"
        return Change(self.setting, REFUSED, self.fault)

    def _end(self) -> Change:
        left, self.version, self.fault = self.version, None, ""
        self._held.clear()
        words = f"{self.path} is gone, so {left} ends" if left else f"there is no {self.path} (yet)"
        return Change(self.setting, ENDED if left else UNCHANGED, words)

    def _held_back(self, version: Version) -> str:
        until = f"{self.path} says one that was not rolled back" if self.path else "the server starts anew"
        return f"{version} was rolled back; {self._instead} until {until}"

    @property
    def _instead(self) -> str:
        return f"{self.version} is in use" if self.version else "none is in use"
