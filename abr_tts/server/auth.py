"""
Who may connect: API keys, and the web pages that may use a browser's connection.

It looks at the headers of one request and says no before any WebSocket exists. Keys are
compared as digests in constant time and are never logged.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from ..errors import ConfigError
from .config import AuthSettings

KEY_PROTOCOL = "abr-tts.key."
"""
A browser cannot set headers on a WebSocket, so it may offer its key as one more subprotocol,
`abr-tts.key.<key>`, beside `abr-tts.v1`. The server never selects that one, so it is not echoed.
"""

_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
"""Characters of a subprotocol's name (RFC 9110 5.6.2, token): a key made of others cannot be sent."""


@dataclass(frozen=True, slots=True)
class Caller:
    """
    Who connects, as far as it matters later.

    Args:
        address: of the peer, which may be a proxy.
        key_name: of its API key, empty where that has none.
        key_digest: tells keys apart; the key itself is not kept.
        session: the id of its connection, which all its streams have in common; empty for none.
    """

    address: str = ""
    key_name: str = ""
    key_digest: str = ""
    session: str = ""


class Auth:
    """
    A key may have a name, written before it with a colon: `anna:KEY`. Several may share one.

    Args:
        settings: the keys, and the web pages.
        section: in which they stand, for errors.

    Raises:
        ConfigError: the file of keys cannot be read, or a key has characters that cannot be sent.
    """

    def __init__(self, settings: AuthSettings, section: str = "auth") -> None:
        keys = read_keys(settings.keys, settings.keys_file, section)
        for number, (_, key) in enumerate(keys, 1):
            if not key or not _TOKEN.issuperset(key):
                raise ConfigError(
                    f"{section}: key {number} has other characters than letters, digits and - . _ ~"
                )
        if settings.keys_file and not keys:
            raise ConfigError(f"{settings.keys_file}: no API key in it, so nobody could connect")
        self._digests = [_digest(key) for _, key in keys]
        self._names = [name for name, _ in keys]
        self._origins = frozenset(origin.rstrip("/").lower() for origin in settings.origins)

    @property
    def needs_key(self) -> bool:
        """Whether a key is asked for at all."""
        return bool(self._digests)

    def allows_key(self, headers: Mapping[str, str]) -> bool:
        """Whether the request bears one of the keys, or none is asked for."""
        if not self._digests:
            return True
        given = _digest(_given_key(headers))
        return any(self._matches(given))

    @property
    def key_names(self) -> frozenset[str]:
        """The names that keys have."""
        return frozenset(filter(None, self._names))

    def shares_a_key(self, other: Auth) -> bool:
        """Whether a key opens both."""
        return not set(self._digests).isdisjoint(other._digests)

    def caller(self, headers: Mapping[str, str], address: str, session: str = "") -> Caller:
        """Who connects from `address`; of a request that `allows_key` has let through."""
        if not self._digests:
            return Caller(address, session=session)
        given = _digest(_given_key(headers))
        names = [name for name, fits in zip(self._names, self._matches(given), strict=True) if fits]
        return Caller(address, names[0] if names else "", given.hex()[:32], session)

    def _matches(self, given: bytes) -> list[bool]:
        """Against every key, whichever fits: the time it takes tells nothing."""
        return [hmac.compare_digest(given, known) for known in self._digests]

    def allows_origin(self, headers: Mapping[str, str]) -> bool:
        """
        Whether the page that connects may do so.

        A browser names the page's origin and nothing stops it from connecting to a server on the
        listener's own machine or network, so only the server's own pages and the listed may.
        Other programs send no origin.
        """
        origin = headers.get("Origin", "").rstrip("/").lower()
        if not origin or "*" in self._origins or origin in self._origins:
            return True
        return urlsplit(origin).netloc == headers.get("Host", "").lower()


def _given_key(headers: Mapping[str, str]) -> str:
    """The key of a request: from Authorization, else from the subprotocols, else empty."""
    scheme, _, key = headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return key.strip()
    for item in headers.get("Sec-WebSocket-Protocol", "").split(","):
        if item.strip().startswith(KEY_PROTOCOL):
            return item.strip().removeprefix(KEY_PROTOCOL)
    return ""


def _named(entry: str) -> tuple[str, str]:
    """`anna:KEY` -> (anna, KEY); a key itself cannot hold a colon."""
    name, colon, key = entry.partition(":")
    return (name.strip(), key.strip()) if colon else ("", entry)


def _digest(key: str) -> bytes:
    """Of equal length for every key, so that a comparison does not tell a key's length."""
    return hashlib.sha256(key.encode(errors="surrogateescape")).digest()


def read_keys(given: Sequence[str], path: Path | None, section: str = "auth") -> list[tuple[str, str]]:
    """
    Keys with their names, empty where they have none: those of a setting, then those of a file.

    Raises:
        ConfigError: the file cannot be read.
    """
    return [_named(entry) for entry in (*given, *_read_file(path, section))]


def _read_file(path: Path | None, section: str) -> list[str]:
    if path is None:
        return []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"{section}.keys_file: cannot read {path}: {reason}") from None
    stripped = (line.partition("#")[0].strip() for line in lines)
    return [line for line in stripped if line]
