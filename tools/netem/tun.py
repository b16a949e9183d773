"""
A network between two namespaces of this machine, packet by packet, as a scenario says.

    with TunLink(scenario) as link:
        server = link.popen("server", ["abr-tts", "serve", "--host", link.address("server")])
        with link.inside("client"):
            ...  # sockets made here are the client's
        link.start()  # the scenario's time begins anew

Real kernels, real TCP, no root rights outside the namespaces; it needs Linux, /dev/net/tun and the
right to make namespaces. The link itself is `sim.link`, run by `emulator` in a process of its own.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

from emulator import ADDRESSES, SIDES

import abr_tts
from abr_tts.sim.scenario import Scenario, steady

ANSWER_S = 10.0
"""Seconds within which the emulator answers; it takes a few milliseconds, and 0.2 s to start."""

END_S = 5.0
"""Seconds that a program in a namespace has to end before it is killed."""

_CLONE_NEWNET = 0x4000_0000


class NetemError(Exception):
    """The network cannot be emulated here; the sentence says why."""


def missing() -> str | None:
    """What this machine lacks for a TUN link, one clause; None if it looks as if it worked."""
    if not sys.platform.startswith("linux"):
        return "namespaces are Linux's"
    if not os.path.exists("/dev/net/tun"):
        return "there is no /dev/net/tun"
    if os.geteuid() != 0:
        return "only root makes network namespaces"
    for program in ("ip", "nsenter"):
        if shutil.which(program) is None:
            return f"the program {program} is missing (Debian: iproute2, util-linux)"
    return None


def environment() -> dict[str, str]:
    """For a Python that is to have the very package that is running here."""
    return {**os.environ, "PYTHONPATH": str(Path(abr_tts.__file__).parents[1])}


class TunLink:
    """
    Args:
        scenario: what the network is like; its time begins at `__enter__`, and again at `start`.
        congestion: of TCP at both ends. Debian's own, whatever this machine is set to.

    Raises:
        NetemError: at `__enter__`.
    """

    EMULATOR = "emulator.py"
    """What owns the namespaces, beside this file."""

    missing = staticmethod(missing)
    """As the function: for those who make a network of another kind."""

    def __init__(self, scenario: Scenario | None = None, congestion: str = "cubic") -> None:
        self._scenario = scenario or steady(2_000)
        self._congestion = congestion
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> TunLink:
        lacks = self.missing()
        if lacks:
            raise NetemError(lacks)
        with contextlib.ExitStack() as stack:
            self._open(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _open(self, stack: contextlib.ExitStack) -> None:
        self._channel, theirs = Pipe()
        stack.callback(self._channel.close)
        script = str(Path(__file__).with_name(self.EMULATOR))
        self._emulator = subprocess.Popen(
            [sys.executable, script, str(theirs.fileno()), self._congestion],
            pass_fds=[theirs.fileno()],
            env=environment(),
            start_new_session=True,  # a Ctrl-C is ours to handle
        )
        theirs.close()
        stack.callback(self._end_emulator)
        hello = self._receive()
        if isinstance(hello, str):
            raise NetemError(hello)
        self._paths = {side: f"/proc/{self._emulator.pid}/fd/{hello[side]}" for side in SIDES}
        self._namespaces = {}
        for side, path in self._paths.items():
            self._namespaces[side] = os.open(path, os.O_RDONLY)
            stack.callback(os.close, self._namespaces[side])
        self.zero = self.start()

    def _end_emulator(self) -> None:
        self._channel.close()  # it then kills what still runs inside
        try:
            self._emulator.wait(END_S)
        except subprocess.TimeoutExpired:
            self._emulator.kill()
            self._emulator.wait()

    # ------------------------------------------------------------ using it

    @staticmethod
    def address(side: str) -> str:
        """The IPv4 address of `server` or `client` on the link; each has a loopback of its own, too."""
        return ADDRESSES[side]

    def start(self, scenario: Scenario | None = None, seed: int = 1) -> float:
        """
        Begin the scenario anew, or another one; what is on its way keeps its time.

        Args:
            seed: of its chances, beside the scenario's own: as `sim.run` takes it.

        Returns:
            The scenario's second 0 on `time.monotonic()`.
        """
        self._scenario = scenario or self._scenario
        self.zero = float(self._ask("start", (self._scenario, seed)))
        return self.zero

    def counters(self) -> dict[str, dict[str, int]]:
        """By `down` and `up`: packets and bytes sent, packets dropped by the queue, lost, delivered."""
        counted: dict[str, dict[str, int]] = self._ask("counters")
        return counted

    def command(self, side: str, command: list[str]) -> list[str]:
        """`command` so that it runs at `side`; the process keeps its id."""
        return ["nsenter", f"--net={self._paths[side]}", "--", *command]

    def popen(self, side: str, command: list[str], **more: Any) -> subprocess.Popen[Any]:
        """A process at `side`; it is ended with the link, if not before."""
        process = subprocess.Popen(self.command(side, command), **more)
        self._stack.callback(end, process)
        return process

    @contextlib.contextmanager
    def inside(self, side: str) -> Iterator[None]:
        """Sockets that this thread makes within the block belong to `side`."""
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            enter(self._namespaces[side])
            yield
        finally:
            enter(before)
            os.close(before)

    def _ask(self, question: str, argument: Any = None) -> Any:
        self._channel.send((question, argument))
        return self._receive()

    def _receive(self) -> Any:
        try:
            if self._channel.poll(ANSWER_S):
                return self._channel.recv()
        except (EOFError, OSError):
            pass
        raise NetemError("the emulator does not answer; what it said stands above")


def enter(namespace: int) -> None:
    """What this thread makes from now on, sockets say, belongs to the namespace of the descriptor."""
    if ctypes.CDLL(None, use_errno=True).setns(namespace, _CLONE_NEWNET):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def end(process: subprocess.Popen[Any]) -> None:
    """Its input ends, then it is asked to, then it is made to."""
    if process.stdin and not process.stdin.closed:
        process.stdin.close()
    process.terminate()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
