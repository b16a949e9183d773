"""
Debian's nginx in front of a server, with TLS or without, as an operator would set it up: its own
defaults, and the three lines that a WebSocket needs.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

START_S = 5.0
"""Seconds that it may take to listen."""

PROGRAM = shutil.which("nginx") or "/usr/sbin/nginx"
"""Debian's place is not on the path of every user."""

CONFIGURATION = """
daemon off;
master_process off;
pid {folder}/pid;
error_log stderr warn;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3;
    uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
    server {{
        listen {listen}{ssl};
        {certificate}
        location / {{
            proxy_pass http://{upstream};
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection "upgrade";
            proxy_set_header Host $host;
        }}
    }}
}}
"""


def installed() -> bool:
    """Whether there is an nginx on this machine."""
    return Path(PROGRAM).exists()


@contextlib.contextmanager
def proxy(
    listen: tuple[str, int],
    upstream: str,
    certificate: tuple[str, str] | None,
    popen: Callable[[list[str]], subprocess.Popen[Any]],
    connect: Callable[[tuple[str, int]], socket.socket] = socket.create_connection,
) -> Iterator[None]:
    """
    nginx between `listen` and `upstream`; it listens once the block begins.

    Args:
        listen: address and port.
        upstream: host:port of the server.
        certificate: files of certificate and key; None for plain HTTP.
        popen: starts it, in a namespace say, and sees to its end.
        connect: reaches `listen`.

    Raises:
        OSError: it does not listen; what it said stands on standard error.
    """
    lines = ""
    if certificate:
        lines = f"ssl_certificate {certificate[0]}; ssl_certificate_key {certificate[1]};"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "nginx.conf").write_text(
            CONFIGURATION.format(
                folder=folder,
                listen=f"{listen[0]}:{listen[1]}",
                ssl=" ssl" if certificate else "",
                certificate=lines,
                upstream=upstream,
            )
        )
        process = popen([PROGRAM, "-p", folder, "-c", f"{folder}/nginx.conf", "-e", "stderr"])
        try:
            _wait(listen, connect, process)
            yield
        finally:
            process.terminate()
            process.wait()


def _wait(
    listen: tuple[str, int],
    connect: Callable[[tuple[str, int]], socket.socket],
    process: subprocess.Popen[Any],
) -> None:
    end = time.monotonic() + START_S
    while True:
        try:
            connect(listen).close()
            return
        except OSError:
            if time.monotonic() > end or process.poll() is not None:
                raise
            time.sleep(0.05)
