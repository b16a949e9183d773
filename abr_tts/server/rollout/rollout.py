"""
How new policies come into use while the server runs, and how they go out of it again.

`look` reads the files, which may take time; `take` makes of it what is new; `rollback` undoes the latest
of that. Streams that run keep the policy they began with, new ones take what is in use when they start.
It knows no socket and no signal, and time is an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import LocalError
from .policies import CANARY, Policies
from .slots import RESHARED, UNCHANGED, Change, Slot, Version
from .watch import Sight, look


class NothingToRollBack(LocalError):
    """No policy has a version before it, or not that of this setting, and no canary is in use."""


class NoCanary(LocalError):
    """The settings name no canary, so no session can have it."""


class Rollout:
    """
    Args:
        policies: of the server.
        tell: is called with every change, as it happens.
    """

    def __init__(self, policies: Policies, tell: Callable[[Change], None]) -> None:
        self._policies, self._tell = policies, tell
        self._files = [slot for slot in policies.slots if slot.path is not None]
        self._taken = max((_number(slot) for slot in policies.slots), default=0)

    # ------------------------------------------------------------ files

    @property
    def has_files(self) -> bool:
        """Whether there is anything to look at: presets do not change."""
        return bool(self._files)

    @property
    def unsettled(self) -> bool:
        """A file is different and may still be written; look again soon."""
        return any(slot.settling.unsettled for slot in self._files)

    @property
    def faults(self) -> list[str]:
        """For each setting that is not in use as it stands, why; the name of the setting before it."""
        return [f"{slot.setting}: {slot.fault}" for slot in self._policies.slots if slot.fault]

    def look(self) -> list[tuple[Slot, Sight]]:
        """Read every file; for a thread, as a disk may hang."""
        return [(slot, look(slot.path)) for slot in self._files if slot.path is not None]

    def take(self, seen: Sequence[tuple[Slot, Sight]], now: float, at_once: bool = False) -> list[Change]:
        """
        What comes of a look.

        Args:
            seen: by `look`.
            now: seconds, on a clock that does not go back.
            at_once: somebody asked for it: what is there is complete, and it is told if it is not new.
        """
        changes = []
        for slot, sight in seen:
            if slot.settling.see(sight, now, at_once):
                self._taken += 1
                changes.append(slot.take(sight, self._taken))
        if at_once and not changes:
            words = "; ".join(["no policy file has changed", *self.faults])
            changes.append(Change("stream.policy", UNCHANGED, words))
        for change in changes:
            self._tell(change)
        return changes

    # ------------------------------------------------------------ what an operator asks

    def rollback(self, setting: str | None = None) -> Change:
        """
        Undo the latest roll-out: back to the version before it; a canary ends.

        Args:
            setting: undo the latest one of this setting; None: of whichever was rolled out last.

        Raises:
            NothingToRollBack: there is none.
        """
        slots = [slot for slot in self._policies.slots if slot.undoable and setting in (None, slot.setting)]
        if not slots:
            raise NothingToRollBack(f"nothing to roll back: {self._why_nothing(setting)}")
        change = max(slots, key=_number).undo()
        self._tell(change)
        return change

    def _why_nothing(self, setting: str | None) -> str:
        if setting is None:
            return "no policy has an earlier version, and no canary is in use"
        if setting not in [slot.setting for slot in self._policies.slots]:
            return f"no policy is set by {setting[:80]!r}"
        return "no canary is in use" if setting == CANARY else f"{setting} has no earlier version"

    def set_share(self, share: float) -> None:
        """
        Have the canary given to another share of sessions, until the server ends.

        Raises:
            ValueError: it is not from 0 to 1.
            NoCanary: nothing could be shared out.
        """
        if not 0 <= share <= 1:
            raise ValueError(f"a share is a number from 0 to 1, not {share!r:.20}")
        if self._policies.canary is None:
            raise NoCanary(f"this server has no canary to share out; see {CANARY}")
        before, self._policies.share = self._policies.share, float(share)
        self._tell(Change("canary.share", RESHARED, f"{share:g} of sessions instead of {before:g}"))

    # ------------------------------------------------------------ what is told

    def status(self) -> dict[str, Any]:
        """All of it, for an operator; JSON values."""
        slots = self._policies.slots
        return {"canary_share": self._policies.share, "settings": [_told(slot) for slot in slots]}

    def summary(self) -> dict[str, Any]:
        """What is in use and what is wrong, without a path, for anybody."""
        own, canary = self._policies.own.version, self._policies.canary
        tried = canary.version if canary else None
        return {
            "policy": _named(own) if own else None,
            "canary": _named(tried) | {"share": self._policies.share} if tried else None,
            "policy_faults": [_pathless(slot) for slot in self._policies.slots if slot.fault],
        }


def _number(slot: Slot) -> int:
    return slot.version.number if slot.version else 0


def _told(slot: Slot) -> dict[str, Any]:
    return {
        "setting": slot.setting,
        "file": str(slot.path) if slot.path else None,
        **(_named(slot.version) if slot.version else {"name": None, "hash": None}),
        "fault": slot.fault,
        "earlier": [_named(version) for version in slot.earlier],
        "can_roll_back": slot.undoable,
    }


def _named(version: Version) -> dict[str, Any]:
    return {"name": version.policy.name, "hash": version.hash}


def _pathless(slot: Slot) -> str:
    """The fault of a setting with the bare name of its file."""
    fault = slot.fault.replace(str(slot.path), slot.path.name) if slot.path else slot.fault
    return f"{slot.setting}: {fault}"
