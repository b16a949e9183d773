"""
Who may connect: API keys, JSON Web Tokens, tickets, and the web pages that may use a browser's connection.

It looks at one request and says no before any WebSocket exists. Neither keys nor tickets are ever logged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from ...errors import ConfigError
from ..config import AuthSettings
from .bearer import Bearer
from .keys import Ring, digest, given_key, whole_ring
from .refused import RefusedPages
from .tickets import Grant, Tickets

DIGEST_CHARS = 32
"""Characters of a digest that tells callers apart: 128 bits."""


@dataclass(frozen=True, slots=True)
class Caller:
    """
    Who connects, as far as it matters later.

    Args:
        address: of the peer, which may be a proxy.
        key_name: of its API key, or the `sub` of its JWT; empty where there is none.
        key_digest: tells keys apart; the key itself is not kept.
        session: the id of its connection, which all its streams have in common; empty for none.
        grant: what its ticket allows; None: it came without one.
        expires: `exp` of its JSON Web Token, seconds since 1970; None: it came by an API key, or by none.
    """

    address: str = ""
    key_name: str = ""
    key_digest: str = ""
    session: str = ""
    grant: Grant | None = None
    expires: float | None = field(default=None, compare=False)


class Auth:
    """
    A key may have a name, written before it with a colon: `anna:KEY`. Several may share one.

    Args:
        settings: the keys, and the web pages.
        section: in which they stand, for errors.

    Raises:
        ConfigError: a file cannot be read or has no key, or a key has characters that cannot be sent.
        MissingDependency: JSON Web Tokens are asked for and PyJWT is not installed.
    """

    def __init__(self, settings: AuthSettings, section: str = "auth") -> None:
        self._settings, self._section = settings, section
        self.ring = self.ring_of(None)
        self.bearer = self.bearer_of(None) if settings.jwt_file else None
        self.tickets = Tickets(settings.ticket_s, settings.tickets, settings.tickets_per_key)
        self.refused_pages = RefusedPages()
        """Whoever refuses a page tells it, so that the log does."""
        self._origins = frozenset(origin.rstrip("/").lower() for origin in settings.origins)

    # ------------------------------------------------------------ what is in use, and what may be next

    def ring_of(self, text: str | None) -> Ring:
        """
        The keys with what their file says now; `self.ring` makes them those in use.

        Raises:
            ConfigError: as above.
        """
        settings = self._settings
        return whole_ring(settings.keys, settings.keys_file, text, self._section)

    def bearer_of(self, text: str | None) -> Bearer:
        """
        The keys of JSON Web Tokens with what their file says now; `self.bearer` makes them those in use.

        Raises:
            ConfigError: it cannot be read, or holds no key that can be used.
        """
        path = self._settings.jwt_file
        assert path is not None, "asked for where a file is set"
        if text is None:
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
                raise ConfigError(f"auth.jwt_file: cannot read {path}: {reason}") from None
        return Bearer(self._settings, text)

    @property
    def needs_key(self) -> bool:
        """Whether a key is asked for at all."""
        return bool(self.ring) or self.bearer is not None

    @property
    def key_names(self) -> frozenset[str] | None:
        """The names that keys have; None: any, for tokens bring their own."""
        return None if self.bearer else frozenset(filter(None, self.ring.names))

    def shares_a_key(self, other: Auth) -> bool:
        """Whether a key opens both."""
        return self.ring.meets(other.ring)

    # ------------------------------------------------------------ one request

    def allows_key(self, headers: Mapping[str, str]) -> bool:
        """Whether the request bears one of the keys, or none is asked for."""
        return self._bearing(given_key(headers)) is not None

    def caller(self, headers: Mapping[str, str], address: str, session: str = "") -> Caller:
        """Who connects from `address`; of a request that `allows_key` has let through."""
        name, key_digest, expires = self._bearing(given_key(headers)) or ("", "", None)
        return Caller(address, name, key_digest, session, expires=expires)

    def knows(self, headers: Mapping[str, str], ticket: str | None, now: float) -> bool:
        """The same as `allows_key`, for a request that may have a ticket instead, which stays good."""
        if ticket is None:
            return self.allows_key(headers)
        return self.tickets.look(ticket, _origin(headers), now) is not None

    def enter(
        self, headers: Mapping[str, str], ticket: str | None, address: str, session: str, now: float
    ) -> Caller | None:
        """Who connects; a ticket stays good until it is `tickets.use`d. None: nobody who may."""
        if ticket is None:
            return self.caller(headers, address, session) if self.allows_key(headers) else None
        grant = self.tickets.look(ticket, _origin(headers), now)
        if grant is None:
            return None
        caller = Caller(address, grant.key_name, grant.key_digest, session, grant, grant.expires)
        return None if self.faults(time.time())(caller) else caller

    def faults(self, unix_s: float) -> Callable[[Caller], str]:
        """
        What tells of a caller why it may be here no longer, in words; empty: it may.

        Args:
            unix_s: seconds since 1970.
        """
        known = frozenset(_told_apart(one) for one in self.ring.digests)
        patience_s = self._settings.jwt_leeway_s + self._settings.jwt_grace_s

        def fault(caller: Caller) -> str:
            if not (self._settings.revoke and caller.key_digest):
                return ""
            if caller.expires is not None:
                return "" if unix_s < caller.expires + patience_s else "its token is out of date"
            return "" if caller.key_digest in known else "its key was removed"

        return fault

    def use_up(self, headers: Mapping[str, str], ticket: str | None, now: float) -> None:
        """A ticket has opened its connection."""
        if ticket is not None:
            self.tickets.use(ticket, _origin(headers), now)

    def allows_origin(self, headers: Mapping[str, str]) -> bool:
        """
        Whether the page that connects may do so.

        A browser names the page's origin and nothing stops it from connecting to a server on the
        listener's own machine or network, so only the server's own pages and the listed may.
        Other programs send no origin.
        """
        origin = _origin(headers)
        if not origin or "*" in self._origins or origin in self._origins:
            return True
        try:
            return urlsplit(origin).netloc == headers.get("Host", "").lower()
        except ValueError:  # it is no address
            return False

    def _bearing(self, key: str) -> tuple[str, str, float | None] | None:
        """Name, digest and `exp` of who bears this, empty where nobody is asked; None: nobody who may."""
        if not self.needs_key:
            return "", "", None
        name = self.ring.find(key)
        if name is not None:
            return name, _told_apart(digest(key)), None
        said = self.bearer.read(key) if self.bearer else None
        # By the name, not the token: it is renewed, and its bearer's streams stay the same bearer's.
        return None if said is None else (said[0], _told_apart(digest(f"sub:{said[0]}")), said[1])


def _told_apart(key_digest: bytes) -> str:
    return key_digest.hex()[:DIGEST_CHARS]


def _origin(headers: Mapping[str, str]) -> str:
    return headers.get("Origin", "").rstrip("/").lower()
