"""
Which files of a server hold what lets people in, and what a change of each does: API keys, keys of JSON Web
Tokens, admin keys, the certificate.
"""

from __future__ import annotations

from ...errors import ConfigError
from ..config import Settings
from ..rollout.refresh import Kind
from .auth import Auth
from .tls import Certificate


def kinds(settings: Settings, auth: Auth, admin: Auth, certificate: Certificate | None) -> list[Kind]:
    """
    Args:
        settings: which files there are.
        auth, admin: of clients and of operators, no key of which may be one of the others.
        certificate: of TLS, where the server speaks it.
    """
    made = []
    if settings.auth.keys_file:
        made.append(
            Kind("auth.keys_file", (settings.auth.keys_file,), lambda texts: _rekey(auth, admin, texts[0]))
        )
    if settings.admin.keys_file:
        made.append(
            Kind("admin.keys_file", (settings.admin.keys_file,), lambda texts: _rekey(admin, auth, texts[0]))
        )
    if settings.auth.jwt_file:
        made.append(Kind("auth.jwt_file", (settings.auth.jwt_file,), lambda texts: _resign(auth, texts[0])))
    cert, key = settings.tls.cert_file, settings.tls.key_file
    if certificate and cert and key:
        made.append(Kind("tls.cert_file", (cert, key), lambda texts: _recertify(certificate)))
    return made


def _rekey(auth: Auth, other: Auth, text: str) -> str:
    ring = auth.ring_of(text)
    if ring.meets(other.ring):
        raise ConfigError("one of the keys is an API key and an admin key, so any client could roll back")
    auth.ring = ring
    return f"{len(ring)} keys are in use"


def _resign(auth: Auth, text: str) -> str:
    auth.bearer = auth.bearer_of(text)
    return f"{len(auth.bearer)} keys verify tokens"


def _recertify(certificate: Certificate) -> str:
    certificate.renew()
    return "new connections get the new certificate"
