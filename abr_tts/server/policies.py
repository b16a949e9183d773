"""
The policies of a server: its own, those that requests may name, those of named API keys.

They are read when the server is made, so that a bad file is told at once and no request waits for
a disk. Also here: whose link is remembered from one stream to the next, which a policy says.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ..control.estimator import Estimate
from ..control.memory import Memory
from ..control.policy import Policy
from ..control.policy_file import PRESETS, preset, read
from ..errors import ConfigError, UnknownPolicy
from .auth import Caller
from .config import Settings

NAME_CHARS = 64
"""Longest name that a request can give (protocol/SPEC.md, "stream_start")."""


class Policies:
    """
    Args:
        settings: `stream.policy`, `stream.policies` and `auth.policies`.
        key_names: names that API keys have.

    Raises:
        ConfigError: a policy that there is not, a bad file (with line and key), a key that nobody has.
    """

    def __init__(self, settings: Settings, key_names: Collection[str] = ()) -> None:
        stream, auth = settings.stream, settings.auth
        self._offered = {
            _checked(name): _load(source, f"stream.policies.{name}", {})
            for name, source in stream.policies.items()
        }
        self._own = _load(stream.policy, "stream.policy", self._offered)
        self._of_keys = {
            name: _load(source, f"auth.policies.{name}", self._offered)
            for name, source in auth.policies.items()
        }
        for name in self._of_keys:
            if name not in key_names:
                raise ConfigError(f"auth.policies: no API key is named {name!r}{_near(name, key_names)}")

    def choose(self, name: str | None, caller: Caller) -> Policy:
        """
        The policy of a request: the one it names, else its key's, else the server's.

        Args:
            name: that the request gives; what it may name are the offered ones, and the one that it
                would get anyway.

        Raises:
            UnknownPolicy: with the names that there are.
        """
        usual = self._of_keys.get(caller.key_name, self._own)
        if name is None or (name == usual.name and name not in self._offered):
            return usual
        if name in self._offered:
            return self._offered[name]
        names = sorted({*self._offered, usual.name})
        raise UnknownPolicy(f"no policy {name!r}; there are {', '.join(names)}", policies=names)

    @property
    def longest_memory_s(self) -> float:
        """Seconds that something learned of a link is of use to one of them."""
        return max(p.memory_s for p in (self._own, *self._offered.values(), *self._of_keys.values()))


class LinkMemory:
    """What was learned of each client's link, kept as each stream's policy says."""

    def __init__(self, keep_s: float) -> None:
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


def _load(source: Any, setting: str, named: Mapping[str, Policy]) -> Policy:
    """A policy by the name of an offered one, of a preset, or by the path of its file."""
    if not isinstance(source, str) or not source:
        raise ConfigError(f"{setting} must be a preset or the path of a policy file, not {source!r}")
    if source in named:
        return named[source]
    if source in PRESETS:
        return preset(source)
    path = Path(source).expanduser()
    if not path.exists() and path.name == source and not path.suffix:
        names = (*named, *PRESETS)
        there = ", ".join(dict.fromkeys(names))
        raise ConfigError(f"{setting}: no policy {source!r}; there are {there}{_near(source, names)}")
    try:
        return read(path)
    except ConfigError as error:
        raise ConfigError(f"{setting}: {error}") from None


def _checked(name: str) -> str:
    if not 0 < len(name) <= NAME_CHARS:
        raise ConfigError(f"stream.policies: a name has 1 to {NAME_CHARS} characters, not {len(name)}")
    return name


def _near(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {close[0]}?" if close else ""
