"""
Where it listens: [server], [tls], [web].
"""

# ruff: noqa: RUF009 -- `setting` returns a dataclass field, which is what a default may be
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...errors import ConfigError
from ..access.proxies import Proxies
from .options import Section, setting


@dataclass(frozen=True)
class ServerSettings(Section):
    """[server]: where it listens and how it stops."""

    host: str = setting("127.0.0.1", "Address to listen on; 0.0.0.0 or :: opens it to the network.")
    port: int = setting(8765, "TCP port; 0 takes any free one.", low=0, high=65535)
    trusted_proxies: tuple[str, ...] = setting(
        (), "Networks of proxies, e.g. 10.0.0.0/8, whose X-Forwarded-For or X-Real-IP tells a listener's "
        "address; of anybody else these are ignored.",
    )  # fmt: skip
    backlog_connections: int = setting(
        512, "Connections that the kernel holds until they are accepted.", low=1, high=65535
    )
    drain_s: float = setting(
        30.0, "Seconds in which a stop is done: running streams may end, then they are closed, for which "
        "limits.close_timeout_s is kept back.",
        low=0, high=3600,
    )  # fmt: skip
    trim_s: float = setting(20.0, "Seconds after which freed memory goes back; 0: never.", low=0, high=3600)
    codec_threads: int = setting(
        0, "Threads that encode audio; 0 takes one for each processor core.", low=0, high=256
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        Proxies(self.trusted_proxies)


@dataclass(frozen=True)
class TlsSettings(Section):
    """[tls]: wss:// by the server itself. Behind a proxy that ends TLS, leave it out."""

    cert_file: Path | None = setting(None, "PEM file of the certificate and its chain.")
    key_file: Path | None = setting(None, "PEM file of the certificate's private key.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, other in (("cert_file", "key_file"), ("key_file", "cert_file")):
            if getattr(self, name) and not getattr(self, other):
                raise ConfigError(f"tls.{name} is set, but tls.{other} is missing: TLS needs both")


@dataclass(frozen=True)
class WebSettings(Section):
    """[web]: pages for people; see web.md. They need no key, what they ask for does."""

    enabled: bool = setting(
        True,
        "Whether there are pages: to hear it at /, for operators at /ops, the client's files at /static/.",
    )
