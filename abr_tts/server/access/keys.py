"""
API keys: how they are written, what a request bears, and whether it is one of them.

Keys are kept as digests and compared in constant time. Nothing here reads a clock or a socket.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import ConfigError

KEY_PROTOCOL = "abr-tts.key."
"""
A browser cannot set headers on a WebSocket, so it may offer its key as one more subprotocol,
`abr-tts.key.<key>`, beside `abr-tts.v1`. The server never selects that one, so it is not echoed.
"""

_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
"""Characters of a subprotocol's name (RFC 9110 5.6.2, token): a key made of others cannot be sent."""


@dataclass(frozen=True, slots=True)
class Ring:
    """The keys that open a door: their digests, and beside each its name, empty where it has none."""

    digests: tuple[bytes, ...] = ()
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.digests)

    def find(self, key: str) -> str | None:
        """The name of a key; None if it is none of them. It takes equally long, whichever fits."""
        given = digest(key)
        fits = [hmac.compare_digest(given, known) for known in self.digests]
        return next((name for name, fit in zip(self.names, fits, strict=True) if fit), None)

    def meets(self, other: Ring) -> bool:
        """Whether a key is on both."""
        return not set(self.digests).isdisjoint(other.digests)


def ring(entries: Iterable[str], section: str) -> Ring:
    """
    The keys of `entries`, each with its name and a colon before it or not: `anna:KEY`, `KEY`.

    Raises:
        ConfigError: a key has characters that cannot be sent; it is not shown.
    """
    named = [_named(entry) for entry in entries]
    for number, (_, key) in enumerate(named, 1):
        if not key or not _TOKEN.issuperset(key):
            raise ConfigError(
                f"{section}: key {number} has other characters than letters, digits and - . _ ~"
            )
    return Ring(tuple(digest(key) for _, key in named), tuple(name for name, _ in named))


def whole_ring(given: Sequence[str], path: Path | None, text: str | None, section: str) -> Ring:
    """
    The keys of a setting, then those of a file.

    Args:
        given: the setting's.
        path: the file, None for none.
        text: what the file says; None: it is read here.
        section: in which they stand, for errors.

    Raises:
        ConfigError: the file cannot be read or has no key, or a key cannot be sent.
    """
    if path is None:
        return ring(given, section)
    lines = _lines(_read(path, section) if text is None else text)
    made = ring((*given, *lines), section)
    if not made:
        raise ConfigError(f"{path}: no API key in it, so nobody could connect")
    return made


def read_keys(given: Sequence[str], path: Path | None, section: str = "auth") -> list[tuple[str, str]]:
    """
    Keys with their names, empty where they have none: those of a setting, then those of a file.

    Raises:
        ConfigError: the file cannot be read.
    """
    lines = _lines(_read(path, section)) if path else []
    return [_named(entry) for entry in (*given, *lines)]


def given_key(headers: Mapping[str, str]) -> str:
    """What a request bears: from Authorization, else from the subprotocols, else empty."""
    scheme, _, key = headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return key.strip()
    for item in headers.get("Sec-WebSocket-Protocol", "").split(","):
        if item.strip().startswith(KEY_PROTOCOL):
            return item.strip().removeprefix(KEY_PROTOCOL)
    return ""


def digest(key: str) -> bytes:
    """Of equal length for every key, so that a comparison does not tell a key's length."""
    return hashlib.sha256(key.encode(errors="surrogateescape")).digest()


def _named(entry: str) -> tuple[str, str]:
    """`anna:KEY` -> (anna, KEY); a key itself cannot hold a colon."""
    name, colon, key = entry.partition(":")
    return (name.strip(), key.strip()) if colon else ("", entry)


def _read(path: Path, section: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"{section}.keys_file: cannot read {path}: {reason}") from None


def _lines(text: str) -> list[str]:
    """One key a line; # starts a comment."""
    stripped = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in stripped if line]
