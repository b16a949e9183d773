"""
A real server that says a talk, in a process of its own, and what stands before it: nothing, TLS or nginx.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from nginx import installed, proxy
from talk import Talk
from tun import NetemError, end, environment

LOOPBACK = "127.0.0.1"
PORT = 8443
"""Of nginx in a namespace of its own; on loopback it takes a free one."""

WITH_PARENT = ("setpriv", "--pdeathsig", "TERM", "--") if shutil.which("setpriv") else ()
"""Runs a command so that the kernel ends it when its parent has died (util-linux)."""

Popen = Callable[..., subprocess.Popen[Any]]


@dataclass(frozen=True, slots=True)
class Front:
    """What stands before the server: nothing, TLS of its own, or nginx with TLS."""

    tls: bool = False
    nginx: bool = False

    @property
    def encrypted(self) -> bool:
        """Whether the listener's connection is `wss://`."""
        return self.tls or self.nginx

    def lacks(self) -> str | None:
        """What this machine lacks for it, one clause; None: nothing."""
        return "nginx is not installed" if self.nginx and not installed() else None


PRIORITY = 1
"""Real-time priority of server and listener, the lowest there is, where this program may: an experiment
is about the network, and should not show what else the machine is busy with. They use little of it."""


def hurry() -> None:
    """This process, and what it starts, comes before others."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(PRIORITY))


class Process:
    """
    `paced` with a talk: a server in a process of its own.

    Args:
        popen: starts it, in a namespace say, and sees to its end.
        settings: of the server, by dotted name.
    """

    def __init__(self, popen: Popen, settings: dict[str, Any], talk: Talk, folder: Path) -> None:
        hurry()
        (folder / "talk.json").write_text(json.dumps(talk.as_json()))
        np.save(folder / "voice.npy", talk.voice)
        script = str(Path(__file__).with_name("paced.py"))
        self._process = popen(
            [sys.executable, script, json.dumps({"server.port": 0, **settings}), str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment(),
        )  # fmt: skip
        self.url: str = self._read()["url"]

    def firsts(self) -> dict[int, float]:
        """Utterance → when the engine's first samples were there, on `time.monotonic()`."""
        assert self._process.stdin
        self._process.stdin.write("firsts\n")
        return {int(index): at for index, at in self._read()["firsts"].items()}

    def _read(self) -> Any:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise NetemError("the server ended; what it said stands above")
        return json.loads(line)


@contextlib.contextmanager
def serve(
    popen: Popen, host: str, front: Front, settings: dict[str, Any], talk: Talk
) -> Iterator[tuple[Process, str, Any]]:
    """(server, URL, TLS context) of a server with what stands before it, on `host`."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="abr-tts-netem-")))
        files, context = stack.enter_context(_certificate(host)) if front.encrypted else ({}, None)
        inner = {"server.host": LOOPBACK if front.nginx else host, **({} if front.nginx else files)}
        process = Process(popen, {**settings, **inner}, talk, folder)
        url = process.url
        if front.nginx:
            place = host, _free_port() if host == LOOPBACK else PORT
            pair = files["tls.cert_file"], files["tls.key_file"]
            stack.enter_context(proxy(place, url.split("/")[2], pair, popen))
            url = f"wss://{place[0]}:{place[1]}/v1/stream"
        yield process, url, context


@contextlib.contextmanager
def _certificate(host: str) -> Iterator[tuple[dict[str, str], ssl.SSLContext]]:
    """That of the benchmarks."""
    sys.path.append(str(Path(__file__).parents[1] / "bench"))
    from certificate import certificate

    try:
        import trustme  # noqa: F401 -- it makes the certificate, and is an extra
    except ImportError:
        raise NetemError("TLS needs a throw-away certificate: pip install trustme") from None
    with certificate(host) as made:
        yield made


def _free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as taken:
        return int(taken.getsockname()[1])


@contextlib.contextmanager
def children() -> Iterator[Popen]:
    """A `popen` whose processes end with the block, and with this program if that is killed."""
    with contextlib.ExitStack() as stack:

        def popen(command: list[str], **more: Any) -> subprocess.Popen[Any]:
            process = subprocess.Popen([*WITH_PARENT, *command], **more)
            stack.callback(end, process)
            return process

        yield popen
