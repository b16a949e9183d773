"""
Who may come in: [auth], [admin].
"""

# ruff: noqa: RUF009 -- `setting` returns a dataclass field, which is what a default may be
from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import ConfigError
from .options import Section, setting

ORIGIN = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[^/\s]+/?", re.IGNORECASE)
"""What a browser sends as Origin (RFC 6454 section 6.2), and the word for any."""


@dataclass(frozen=True)
class AuthSettings(Section):
    """[auth]: who may speak. Without any key everybody who reaches the port may."""

    keys: tuple[str, ...] = setting(
        (), "API keys, each with a name before it or not (anna:KEY); better in a file.", secret=True
    )
    keys_file: Path | None = setting(
        None, "File with one API key a line, with a name before it or not; # starts a comment."
    )
    policies: dict[str, Any] = setting(
        {}, "Policy of the keys of a name, as stream.policy has it for all; a request may name another."
    )
    origins: tuple[str, ...] = setting(
        (),
        "Web origins besides the server's own whose pages may connect, e.g. https://example.org; * for any.",
    )
    ticket_s: float = setting(
        60.0, "Seconds within which a ticket of POST /v1/tickets opens one connection; 0: none are given.",
        low=0, high=3600,
    )  # fmt: skip
    tickets: int = setting(10_000, "Tickets that are out at once.", low=1, high=1_000_000)
    tickets_per_key: int = setting(
        5000, "Of those, that one key has, or one sub of JSON Web Tokens.", low=1, high=1_000_000
    )
    jwt_file: Path | None = setting(
        None, "File that verifies JSON Web Tokens, which then are keys as well: a JWKS, public keys in PEM "
        "(RS256, ES256), or a shared secret (HS256).",
    )  # fmt: skip
    jwt_issuer: str | None = setting(None, "The iss that a token must have; any if empty.")
    jwt_audience: str | None = setting(None, "An aud that a token must have; any if empty.")
    jwt_leeway_s: float = setting(
        10.0, "Seconds that exp and nbf may be off, as clocks are.", low=0, high=600
    )
    revoke: bool = setting(
        True, "Whether a connection ends, with 1008, when its key is removed or its token is out of date."
    )
    jwt_grace_s: float = setting(
        300.0, "Seconds beyond its exp after which a token is out of date for what it has opened.",
        low=0, high=31_536_000,
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        for origin in self.origins:
            if not ORIGIN.fullmatch(origin):
                raise ConfigError(
                    f"auth.origins: {origin!r} is no web origin, which is scheme://host or scheme://host:port"
                )


@dataclass(frozen=True)
class AdminSettings(Section):
    """[admin]: who may see and roll back policies, at /admin/policy. Without any key nobody may."""

    keys: tuple[str, ...] = setting((), "Admin keys; better in a file.", secret=True)
    keys_file: Path | None = setting(None, "File with one admin key a line; # starts a comment.")
