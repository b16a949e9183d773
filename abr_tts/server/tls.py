"""
The certificate of wss://, or one sentence that says what is wrong with it.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from ..errors import ConfigError
from .config import TlsSettings


def context(settings: TlsSettings) -> ssl.SSLContext | None:
    """
    The TLS context of a server, None where no certificate is set.

    Raises:
        ConfigError: a file is missing, unreadable, no PEM, or the two do not belong together.
    """
    cert, key = settings.cert_file, settings.key_file
    if cert is None or key is None:
        return None
    for name, path in (("tls.cert_file", cert), ("tls.key_file", key)):
        _readable(name, path)
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        made.load_cert_chain(cert, key, password=_no_password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise ConfigError(f"tls: the key in {key} is not that of the certificate in {cert}") from None
        raise ConfigError(f"tls: {cert} and {key} are not a certificate and its key in PEM form") from None
    return made


def _readable(name: str, path: Path) -> None:
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise ConfigError(f"{name}: cannot read {path}: {error.strerror}") from None


def _no_password() -> str:
    raise ConfigError("tls.key_file: the key is encrypted; a server needs one without a password")
