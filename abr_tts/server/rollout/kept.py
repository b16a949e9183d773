"""
What was rolled out, in a file, so that a restart does not forget it.

A rollback would otherwise last until the next crash, and a server that crashes while its policy file is bad
could not start again. Policies are kept as TOML that says everything, so that another version of this
program reads them too. A state file that cannot be read is told, and is as none.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...control.policy import Policy
from ...control.policy_file import parse
from ...control.policy_text import as_text
from ...errors import ConfigError
from .slots import Slot, Version

log = logging.getLogger(__name__)

FORMAT = 1
"""Of the file; another one is not read."""


READ_FAULTS = (
    OSError, ConfigError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError,
)  # fmt: skip
"""What may come of reading what is no state file: JSON of another form, policies of another version."""


@dataclass(frozen=True, slots=True)
class Kept:
    """
    What is known of a setting from before.

    Args:
        version: in use; None: none was.
        earlier: before it, the oldest first.
        held: rolled back.
    """

    version: Version | None
    earlier: tuple[Version, ...]
    held: tuple[Policy, ...]


def load(path: Path | None) -> dict[str, Kept]:
    """
    What a state file says of each setting; nothing where there is none yet.

    Raises:
        ConfigError: it could not be written later.
    """
    if path is None:
        return {}
    if not os.access(path.parent, os.W_OK | os.X_OK) or path.is_dir():
        raise ConfigError(f"rollout.state_file: {path} cannot be written")
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != FORMAT:
            raise ValueError(f"it is of format {document['format']!r}, not {FORMAT}")
        return {setting: _kept(value) for setting, value in document["settings"].items()}
    except FileNotFoundError:
        return {}
    except READ_FAULTS as error:
        log.warning("rollout.state_file: %s is not used: %s", path, error)
        return {}


def _kept(value: Mapping[str, Any]) -> Kept:
    version = _version(value["version"]) if value["version"] is not None else None
    earlier = tuple(_version(one) for one in value["earlier"])
    return Kept(version, earlier, tuple(parse(text, "kept") for text in value["held"]))


def _version(value: Mapping[str, Any]) -> Version:
    return Version(parse(value["policy"], "kept"), int(value["number"]))


class Keeper:
    """
    Args:
        path: of the state file; None: nothing is kept.
        slots: what is to be kept.
    """

    def __init__(self, path: Path | None, slots: Iterable[Slot]) -> None:
        self._path, self._slots = path, [slot for slot in slots if slot.path is not None]
        self._one_at_a_time = asyncio.Lock()

    async def save(self) -> None:
        """Write down how things are now. A disk that fails is logged; what is in use stays in use."""
        if self._path is None or not self._slots:
            return
        async with self._one_at_a_time:
            settings = {slot.setting: _told(slot) for slot in self._slots}
            text = json.dumps({"format": FORMAT, "settings": settings}, indent=1)
            try:
                await asyncio.to_thread(_write, self._path, text)
            except OSError as error:
                log.error("%s cannot be written: %s", self._path, error.strerror or error)


def _told(slot: Slot) -> dict[str, Any]:
    return {
        "version": _as_json(slot.version) if slot.version else None,
        "earlier": [_as_json(version) for version in reversed(slot.earlier)],
        "held": [as_text(policy) for policy in slot.held],
    }


def _as_json(version: Version) -> dict[str, Any]:
    return {"number": version.number, "policy": as_text(version.policy)}


def _write(path: Path, text: str) -> None:
    """All of it or nothing: a reader never finds half a file."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)
