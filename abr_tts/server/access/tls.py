"""
The certificate of wss://, or one sentence that says what is wrong with it.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from ...errors import ConfigError
from ..config import TlsSettings


class Certificate:
    """
    The certificate of a server, which may be renewed while it serves.

    `context` stays the same for as long as the server listens; each handshake is passed on to the one made
    last, so that nothing of an older certificate is left, whatever kind of key it had.

    Args:
        settings: with both files set.

    Raises:
        ConfigError: a file is missing, unreadable, no PEM, or the two do not belong together.
    """

    def __init__(self, settings: TlsSettings) -> None:
        self._settings = settings
        self._current = self.context = _context(settings)
        self.pem = _pem(settings)
        """The private key and the chain in PEM, for a door that ends TLS by other means."""
        self.context.sni_callback = self._pass_on

    def renew(self) -> None:
        """
        Read the files again; handshakes from here on get what they hold.

        Raises:
            ConfigError: as above; the one before stays.
        """
        self._current, self.pem = _context(self._settings), _pem(self._settings)

    def _pass_on(self, sock: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        """Called in every handshake, with the name that the client wants or None."""
        sock.context = self._current


def certificate(settings: TlsSettings) -> Certificate | None:
    """
    That of a server, None where none is set.

    Raises:
        ConfigError: see `Certificate`.
    """
    return Certificate(settings) if settings.cert_file and settings.key_file else None


def _context(settings: TlsSettings) -> ssl.SSLContext:
    cert, key = settings.cert_file, settings.key_file
    assert cert is not None and key is not None, "the settings have both or none"
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


def _pem(settings: TlsSettings) -> tuple[bytes, bytes]:
    cert, key = settings.cert_file, settings.key_file
    assert cert is not None and key is not None, "the settings have both or none"
    return key.read_bytes(), cert.read_bytes()


def _readable(name: str, path: Path) -> None:
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise ConfigError(f"{name}: cannot read {path}: {error.strerror}") from None


def _no_password() -> str:
    raise ConfigError("tls.key_file: the key is encrypted; a server needs one without a password")
