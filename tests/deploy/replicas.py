"""Three real server processes, and the shipped nginx with TLS before them."""

import contextlib
import os
import re
import signal
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import trustme

from ..ports import kept_port

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 60.0
"""Seconds that a process may take to start or to end, on a busy machine."""

LISTENS = re.compile(r"ws://127\.0\.0\.1:(\d+)")
OPENED = re.compile(r"^abr_tts_connections_opened_total (\S+)$", re.M)


class Replica:
    """`abr-tts serve` with the tone engine, as a process of its own. Started again, it keeps its port."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.start()

    def start(self) -> None:
        """Serve; returns when it can speak."""
        command = [sys.executable, "-m", "abr_tts", "serve", "--port", str(self.port), "--engine", "tone"]
        self.process = subprocess.Popen(
            [*command, "--workers", "1", "--set", "server.codec_threads=1", "--set", "log.level=info"],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stderr=subprocess.PIPE,
            text=True,
        )
        said = []
        while not said or not LISTENS.search(said[-1]):
            said.append(self.process.stderr.readline())
            assert said[-1], "".join(said)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def tells(self, path: str) -> str:
        """What it answers to those who reach it itself."""
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=WAIT_S) as answer:
            return answer.read().decode()

    @property
    def opened(self) -> int:
        """Connections that it has taken so far."""
        return int(float(OPENED.search(self.tells("/metrics"))[1]))

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=WAIT_S)

    def terminate(self) -> None:
        """What `docker stop` and Kubernetes do first."""
        self.process.send_signal(signal.SIGTERM)

    def ends(self) -> int:
        """Its exit status, once it is over."""
        self.process.communicate(timeout=WAIT_S)
        return self.process.returncode

    def revive(self) -> None:
        """Up again, whatever a test has done to it."""
        self.kill()
        self.start()


@dataclass(frozen=True)
class Certificate:
    """A throw-away authority's: files for a server, and a context that trusts it."""

    files: tuple[Path, Path]
    trust: ssl.SSLContext


def certificate(folder: Path) -> Certificate:
    authority, trust = trustme.CA(), ssl.create_default_context()
    authority.configure_trust(trust)
    issued, files = authority.issue_cert("127.0.0.1"), (folder / "cert.pem", folder / "key.pem")
    issued.cert_chain_pems[0].write_to_path(files[0])
    issued.private_key_pem.write_to_path(files[1])
    return Certificate(files, trust)


@contextlib.contextmanager
def three() -> Iterator[list[Replica]]:
    """Three of them, until the block ends."""
    started: list[Replica] = []
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            started.append(Replica(stack.enter_context(kept_port())))
            stack.callback(started[-1].kill)
        yield started
