"""
JSON Web Tokens (RFC 7519) as keys: signed elsewhere, for a while, with a name inside.

What may sign is said by a file alone: a JWKS (RFC 7517), public keys in PEM, or one shared secret. Its
keys say the algorithm as well; what a token's header says is only held against that, so that a public
key is never taken for a secret (RFC 8725 section 3.1).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from ...errors import ConfigError, MissingDependency, to_install
from ..config import AuthSettings

ALGORITHMS = {"oct": "HS256", "RSA": "RS256", "EC": "ES256"}
"""Kind of a key (RFC 7518 section 6.1) → what is signed with it."""

SECRET_BYTES = 32
"""A shared secret has at least as many bytes as the hash that it signs with (RFC 7518 section 3.2)."""

MOST_KEYS = 64
"""Keys of one file; a token without `kid` is tried against all of its algorithm."""

MOST_CHARS = 8000
"""Longest token that is looked at; a request's headers hold little more (aiohttp: 8190 bytes a line)."""

NAME_CHARS = 200
"""Longest `sub` that is a name."""

_PEM = re.compile(r"-----BEGIN [A-Z ]*PUBLIC KEY-----.*?-----END [A-Z ]*PUBLIC KEY-----", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """What verifies a signature: its id, its one algorithm, the key as PyJWT wants it."""

    kid: str | None
    algorithm: str
    key: Any


class Bearer:
    """
    Args:
        settings: issuer, audience and slack.
        text: what `auth.jwt_file` says.

    Raises:
        ConfigError: it holds no key, or one that cannot be used.
        MissingDependency: PyJWT is not installed.
    """

    def __init__(self, settings: AuthSettings, text: str) -> None:
        self._jwt = _library()
        self._settings = settings
        self._keys = _keys(self._jwt, text, str(settings.jwt_file))

    def __len__(self) -> int:
        return len(self._keys)

    def name(self, token: str) -> str | None:
        """The `sub` of a token, as of `read`."""
        said = self.read(token)
        return said[0] if said else None

    def read(self, token: str) -> tuple[str, float] | None:
        """
        `sub` and `exp` of a token that is signed, in time, from the issuer and for us; None of any other.

        Both must be there. `nbf` and `iat` bind where they are.
        """
        if len(token) > MOST_CHARS or token.count(".") != 2 or not token.isascii():
            return None
        try:
            header = self._jwt.get_unverified_header(token)
        except self._jwt.PyJWTError:
            return None
        kid, algorithm = header.get("kid"), header.get("alg")
        for one in self._keys:
            if one.algorithm == algorithm and (kid is None or one.kid is None or one.kid == kid):
                said = self._verified(token, one)
                if said is not None:
                    return said
        return None

    def _verified(self, token: str, one: SigningKey) -> tuple[str, float] | None:
        settings = self._settings
        try:
            claims = self._jwt.decode(
                token, one.key, algorithms=[one.algorithm],
                audience=settings.jwt_audience, issuer=settings.jwt_issuer, leeway=settings.jwt_leeway_s,
                options={"require": ["exp", "sub"], "verify_aud": settings.jwt_audience is not None},
            )  # fmt: skip
        except self._jwt.PyJWTError:
            return None
        name = claims["sub"]
        if not isinstance(name, str) or not 0 < len(name) <= NAME_CHARS:
            return None
        try:
            name.encode()
            return name, float(claims["exp"])
        except (UnicodeEncodeError, OverflowError):  # half a character; a time beyond all numbers
            return None


def _library() -> Any:
    try:
        import jwt
    except ImportError:
        raise MissingDependency(f"auth.jwt_file needs PyJWT: {to_install('jwt')}") from None
    return jwt


def _keys(jwt: Any, text: str, path: str) -> list[SigningKey]:
    try:
        if text.lstrip().startswith("{"):
            keys = _of_jwks(jwt, json.loads(text))
        elif "-----BEGIN" in text:
            keys = [_of_pem(jwt, found[0]) for found in _PEM.finditer(text)]
        else:
            keys = [_of_secret(text.strip())]
    except (ValueError, KeyError, TypeError, AttributeError, jwt.PyJWTError) as error:
        # The words of a parser may hold what it read, which may be a secret.
        raise ConfigError(f"{path}: no key that can verify a JWT ({type(error).__name__})") from None
    if not 0 < len(keys) <= MOST_KEYS:
        raise ConfigError(f"{path}: {len(keys)} keys that can verify a JWT, but 1 to {MOST_KEYS} are wanted")
    return keys


def _of_jwks(jwt: Any, value: Any) -> list[SigningKey]:
    """Those of a set that sign with one of the three algorithms; others may be there for others."""
    keys = []
    for one in value["keys"]:
        algorithm = ALGORITHMS.get(one["kty"])
        wanted = one.get("alg", algorithm) == algorithm and one.get("use", "sig") == "sig"
        if algorithm is None or not wanted or (one["kty"] == "EC" and one["crv"] != "P-256"):
            continue
        key = jwt.PyJWK(one, algorithm).key
        if algorithm == "HS256":
            _long_enough(key)
        keys.append(SigningKey(one.get("kid"), algorithm, key))
    return keys


def _of_pem(jwt: Any, pem: str) -> SigningKey:
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    key = load_pem_public_key(pem.encode())
    if isinstance(key, rsa.RSAPublicKey):
        return SigningKey(None, "RS256", key)
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name == "secp256r1":
        return SigningKey(None, "ES256", key)
    raise ValueError("neither RSA nor P-256")


def _of_secret(secret: str) -> SigningKey:
    _long_enough(secret.encode())
    return SigningKey(None, "HS256", secret.encode())


def _long_enough(secret: bytes) -> None:
    if len(secret) < SECRET_BYTES:
        raise ConfigError(f"auth.jwt_file: the secret has {len(secret)} bytes, but needs {SECRET_BYTES}")
