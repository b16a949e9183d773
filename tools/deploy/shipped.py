"""
The shipped nginx.conf on this machine, before servers at addresses of one's own: for tests and benchmarks.

The files are copied as they are; only addresses, ports and the certificate are put in, in nginx.d/.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

PROGRAM = shutil.which("nginx") or "/usr/sbin/nginx"
"""Debian's place is not on the path of every user."""

START_S = 10.0
"""Seconds that it may take to listen, on a busy machine."""

LISTEN, SERVER = "listen 8443 ", "server tts:8765 "
"""What is replaced, in listen.conf and servers.conf."""

CERTIFICATE = re.compile(r"^(ssl_certificate(?:_key)?) +\S+;$", re.M)


@dataclass(frozen=True)
class Shipped:
    """A running nginx: where it listens, and the file with all that it said."""

    port: int
    said: Path
    process: subprocess.Popen[Any]


def installed() -> bool:
    """Whether there is an nginx on this machine."""
    return Path(PROGRAM).exists()


def write(
    folder: Path,
    servers: Sequence[str],
    certificate: tuple[Path, Path],
    listen: str,
    balance: str | None = None,
) -> Path:
    """
    The configuration with these addresses in `folder`; the path of its nginx.conf.

    Args:
        servers: host:port of each.
        certificate: files of certificate and key.
        listen: host:port.
        balance: lines in place of balance.conf, to compare with others.
    """
    parts = folder / "nginx.d"
    shutil.copytree(HERE / "nginx.d", parts)
    shutil.copy(HERE / "nginx.conf", folder)
    files = {"ssl_certificate": certificate[0], "ssl_certificate_key": certificate[1]}
    text = (parts / "listen.conf").read_text("utf-8").replace(LISTEN, f"listen {listen} ")
    text = CERTIFICATE.sub(lambda match: f"{match[1]} {files[match[1]]};", text)
    (parts / "listen.conf").write_text(text, "utf-8")
    lines = (parts / "servers.conf").read_text("utf-8").splitlines()
    each = next(line for line in lines if line.startswith(SERVER)).removeprefix(SERVER)
    rest = [line for line in lines if not line.startswith(SERVER)]
    (parts / "servers.conf").write_text(
        "\n".join([*(f"server {at} {each}" for at in servers), *rest]), "utf-8"
    )
    if balance is not None:
        (parts / "balance.conf").write_text(balance, "utf-8")
    return folder / "nginx.conf"


@contextlib.contextmanager
def shipped(
    servers: Sequence[str],
    certificate: tuple[Path, Path],
    *,
    balance: str | None = None,
    listen: tuple[str, int] | None = None,
    popen: Callable[..., subprocess.Popen[Any]] = subprocess.Popen,
    connect: Callable[[tuple[str, int]], socket.socket] = socket.create_connection,
) -> Iterator[Shipped]:
    """
    nginx with the shipped configuration; it listens once the block begins.

    Args:
        servers, certificate, balance: as of `write`.
        listen: address and port; any free port of 127.0.0.1 if None.
        popen, connect: start it and reach it, elsewhere than here say, in a namespace.

    Raises:
        OSError: it does not listen; the message is what it said.
    """
    with contextlib.ExitStack() as stack:
        at = listen or stack.enter_context(_kept_port())
        name = stack.enter_context(tempfile.TemporaryDirectory())
        folder = Path(name)
        folder.chmod(0o755)  # the workers are another user
        path = write(folder, servers, certificate, f"{at[0]}:{at[1]}", balance)
        said = folder / "said"
        with said.open("wb") as file:
            directives = f"daemon off; pid {folder}/pid;"
            process = popen(
                [PROGRAM, "-p", name, "-c", str(path), "-e", "stderr", "-g", directives],
                stdout=file,
                stderr=file,
            )
            try:
                _wait(at, connect, process, said)
                yield Shipped(at[1], said, process)
            finally:
                process.terminate()
                process.wait()


def check(path: Path) -> tuple[bool, str]:
    """What `nginx -t` thinks of a configuration: whether it is good, and its words."""
    command = [PROGRAM, "-t", "-p", str(path.parent), "-c", str(path), "-e", "stderr"]
    done = subprocess.run(
        [*command, "-g", f"pid {path.parent}/pid;"], capture_output=True, text=True, timeout=START_S
    )
    return done.returncode == 0, done.stderr


@contextlib.contextmanager
def _kept_port() -> Iterator[tuple[str, int]]:
    """
    Address and port that nobody gets by chance meanwhile, and nginx by its number: Linux lets sockets with
    SO_REUSEADDR share a port of which none listens yet. Elsewhere the port is only likely to be free.
    """
    with socket.socket() as keeper:
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        keeper.bind(("127.0.0.1", 0))
        host, port = keeper.getsockname()
        if sys.platform != "linux":
            keeper.close()
        yield host, port


def _wait(
    at: tuple[str, int],
    connect: Callable[[tuple[str, int]], socket.socket],
    process: subprocess.Popen[Any],
    said: Path,
) -> None:
    end = time.monotonic() + START_S
    while True:
        try:
            connect(at).close()
            return
        except OSError:
            if time.monotonic() > end or process.poll() is not None:
                raise OSError(said.read_text("utf-8") or "nginx does not listen") from None
            time.sleep(0.05)
