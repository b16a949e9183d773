"""Which certificates a command believes: the system's, those of an authority of one's own, or any."""

from __future__ import annotations

import argparse
import ssl
from pathlib import Path

from .failure import Failure


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Declare the two flags; at most one of them may be given."""
    flags = parser.add_mutually_exclusive_group()
    flags.add_argument(
        "--ca",
        metavar="FILE",
        type=Path,
        help="believe certificates of this authority alone, not of the system's: PEM, its own certificate "
        "or a server's that signed itself",
    )
    flags.add_argument("--insecure", action="store_true", help="accept any certificate (for tests only)")


def context_of(arguments: argparse.Namespace) -> ssl.SSLContext | None:
    """
    What was asked for; None: the system's authorities.

    Raises:
        Failure: the file cannot be read, or holds no certificate.
    """
    if arguments.insecure:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context
    return _believing(arguments.ca) if arguments.ca is not None else None


def _believing(path: Path) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=path)
    except ssl.SSLError:  # before OSError, whose kind it is
        raise Failure(f"--ca {path}: holds no certificate in PEM") from None
    except OSError as fault:
        raise Failure(f"--ca {path}: cannot be read: {fault.strerror or fault}") from None
    return context
