"""A certificate of nobody, for benchmarks over TLS (needs trustme, which the tests need too)."""

from __future__ import annotations

import contextlib
import ssl
import tempfile
from collections.abc import Iterator
from pathlib import Path


def check() -> None:
    """
    For before anything is measured.

    Raises:
        SystemExit: trustme is missing; one sentence says what to do.
    """
    try:
        import trustme  # noqa: F401 -- only whether it is there
    except ModuleNotFoundError:
        words = "TLS is measured too, and trustme is missing that makes a certificate for it"
        raise SystemExit(f"{words}: pip install '.[espeak,test]'") from None


@contextlib.contextmanager
def certificate(host: str = "127.0.0.1") -> Iterator[tuple[dict[str, str], ssl.SSLContext]]:
    """A server's settings and a client's context, of an authority that is thrown away afterwards."""
    import trustme

    authority = trustme.CA()
    issued = authority.issue_cert(host)
    context = ssl.create_default_context()
    authority.configure_trust(context)
    with tempfile.TemporaryDirectory() as folder:
        cert, key = Path(folder, "cert.pem"), Path(folder, "key.pem")
        cert.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        key.write_bytes(issued.private_key_pem.bytes())
        yield {"tls.cert_file": str(cert), "tls.key_file": str(key)}, context
