"""
The policies of a server: its own, its canary, those that requests may name, those of named API keys.

They are read when the server is made, so that a bad file is told at once and no request waits for
a disk; `rollout` replaces them later. Also here: whose link is remembered from one stream to the
next, which a policy says.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from ...control.estimator import Estimate
from ...control.memory import Memory
from ...control.policy import Policy
from ...control.policy_file import PRESETS, preset
from ...errors import ConfigError, UnknownPolicy
from ..access.auth import Caller
from ..config import Settings
from .canary import takes
from .kept import Kept
from .slots import Slot, Version, judge
from .watch import look

log = logging.getLogger(__name__)

NAME_CHARS = 64
"""Longest name that a request can give (protocol/SPEC.md, "stream_start")."""

LONGEST_MEMORY_S = 86_400.0
"""Seconds that any policy may have a link remembered (`memory_s`): policies change while the server runs,
and how much of what is kept is believed is asked of each stream's own."""

CANARY = "canary.policy"
"""The setting of the canary, the only one that may go without a policy."""


class Policies:
    """
    The policy of a stream is, in this order: the one that its request names; that of its API key's name;
    the canary, for the share of sessions that has it; the server's own.

    Args:
        settings: `stream.policy`, `stream.policies`, `auth.policies` and `canary`.
        key_names: names that API keys have; None: any, for tokens bring their own.
        kept: what is known of settings from before the server started.

    Raises:
        ConfigError: a policy that there is not, a bad file (with line and key), a key that nobody has.
    """

    def __init__(
        self,
        settings: Settings,
        key_names: Collection[str] | None = (),
        kept: Mapping[str, Kept] | None = None,
    ) -> None:
        stream, auth = settings.stream, settings.auth
        self._kept = kept or {}
        self._made: list[Slot] = []
        self._offered = {
            _checked(name): self._slot(source, f"stream.policies.{name}", {})
            for name, source in stream.policies.items()
        }
        self.own = self._slot(stream.policy, "stream.policy", self._offered)
        """The setting of the server's own."""
        self._of_keys = {
            name: self._slot(source, f"auth.policies.{name}", self._offered)
            for name, source in auth.policies.items()
        }
        for name in self._of_keys:
            if key_names is not None and name not in key_names:
                raise ConfigError(f"auth.policies: no API key is named {name!r}{_near(name, key_names)}")
        source = settings.canary.policy
        self.canary = self._slot(source, CANARY, {}, optional=True) if source else None
        """The canary's; None: the settings name none."""
        self.share = settings.canary.share
        """Share of sessions that have the canary, 0 to 1."""

    @property
    def slots(self) -> tuple[Slot, ...]:
        """Every setting that names a policy, once where one names another."""
        return tuple(self._made)

    @property
    def offered(self) -> tuple[str, ...]:
        """Names of the policies that a request may give."""
        return tuple(self._offered)

    def in_use(self) -> Iterator[tuple[str, Version]]:
        """Every version that a stream can get now, with what it is for; the same one may come twice."""
        slots = [("server", self.own)]
        slots += [("canary", self.canary)] if self.canary else []
        slots += [("offered", slot) for slot in self._offered.values()]
        slots += [("key", slot) for slot in self._of_keys.values()]
        for role, slot in slots:
            if slot.version is not None:
                yield role, slot.version

    def choose(self, name: str | None, caller: Caller) -> Policy:
        """
        The policy of a request that comes now.

        Args:
            name: that the request gives; what it may name are the offered ones, and the one that it
                would get without a canary. A request that names one never gets the canary.

        Raises:
            UnknownPolicy: with the names that there are.
        """
        of_key = self._of_keys.get(caller.key_name)
        usual = _in_use(of_key or self.own)
        if name is None:
            version = self._of_canary(caller) if of_key is None else None
            return version.policy if version else usual
        if name in self._offered:
            return _in_use(self._offered[name])
        if name == usual.name:
            return usual
        names = sorted({*self._offered, usual.name})
        raise UnknownPolicy(f"no policy {name!r}; there are {', '.join(names)}", policies=names)

    def _of_canary(self, caller: Caller) -> Version | None:
        return self.canary.version if self.canary and takes(caller.session, self.share) else None

    def _slot(self, source: Any, setting: str, named: Mapping[str, Slot], *, optional: bool = False) -> Slot:
        """What a setting names: an offered policy, a preset, or the path of a file."""
        if not isinstance(source, str) or not source:
            raise ConfigError(f"{setting} must be a preset or the path of a policy file, not {source!r}")
        if source in named:
            return named[source]
        if source in PRESETS:
            slot = Slot(setting, None, Version(preset(source), 0), optional=optional)
        else:
            path = _path(source, setting, named)
            kept = self._kept.get(setting)
            slot = _resume(path, setting, optional, kept) if kept else _read(path, setting, optional)
        self._made.append(slot)
        return slot


class LinkMemory:
    """What was learned of each client's link, kept as each stream's policy says."""

    def __init__(self, keep_s: float = LONGEST_MEMORY_S) -> None:
        self._memory = Memory(keep_s)

    def recall(self, policy: Policy, caller: Caller, now: float) -> Estimate | None:
        """For a stream that starts now; what is older than its policy allows is not believed."""
        client = _client(policy, caller)
        estimate = self._memory.recall(client, now) if client else None
        return estimate if estimate is None or now - estimate.at < policy.memory_s else None

    def keep(self, policy: Policy, caller: Caller, estimate: Estimate | None) -> None:
        """From a stream that is under way or over."""
        client = _client(policy, caller)
        if client:
            self._memory.keep(client, estimate)


def _client(policy: Policy, caller: Caller) -> str:
    """Under which name the link of a caller is remembered; empty: under none."""
    if policy.memory_key == "none":
        return ""
    return caller.address if policy.memory_key == "address" else f"{caller.key_digest}@{caller.address}"


def _path(source: str, setting: str, named: Mapping[str, Slot]) -> Path:
    path = Path(source).expanduser()
    if not path.exists() and path.name == source and not path.suffix:
        names = (*named, *PRESETS)
        there = ", ".join(dict.fromkeys(names))
        raise ConfigError(f"{setting}: no policy {source!r}; there are {there}{_near(source, names)}")
    return path


def _read(path: Path, setting: str, optional: bool) -> Slot:
    """A setting that names a file, which an optional one finds or not."""
    sight = look(path)
    if sight.missing and optional:
        return Slot(setting, path, None, sight, optional=True)
    try:
        return Slot(setting, path, Version(judge(sight, path), 0), sight, optional=optional)
    except ConfigError as error:
        raise ConfigError(f"{setting}: {error}") from None


def _resume(path: Path, setting: str, optional: bool, kept: Kept) -> Slot:
    """The same where something is known from before: as if the file had changed while the server ran."""
    sight = look(path)
    slot = Slot(
        setting, path, kept.version, sight, optional=optional, earlier=kept.earlier, held=kept.held
    )  # fmt: skip
    newest = max((v.number for v in (*kept.earlier, kept.version) if v), default=0)
    change = slot.take(sight, newest + 1)
    if slot.version is None and not optional:
        raise ConfigError(f"{setting}: {slot.fault}")
    log.log(logging.WARNING if slot.fault else logging.INFO, "%s: %s", setting, change.words)
    return slot


def _in_use(slot: Slot) -> Policy:
    assert slot.version is not None, "only a canary may be without a policy"
    return slot.version.policy


def _checked(name: str) -> str:
    if not 0 < len(name) <= NAME_CHARS:
        raise ConfigError(f"stream.policies: a name has 1 to {NAME_CHARS} characters, not {len(name)}")
    return name


def _near(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {close[0]}?" if close else ""
