"""
Two network namespaces with a veth pair between them, and the kernel's own netem at its ends. As
`emulator`, but it moves no packet: at the seconds that a scenario says it tells `tc` what changes.
`tcnetem.NetemLink` starts it; people do not run it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from multiprocessing.connection import Connection

from emulator import ADDRESSES, DEVICE, SIDES, ip, kill_inhabitants, set_up, unshare
from tcnetem import Step, both
from tun import enter

from abr_tts.sim.scenario import Scenario

WAKE_PORT = 9
"""Of the datagrams that wake a token bucket: discard (RFC 863)."""

HORIZON_S = 3600.0
"""Seconds of a schedule that are worked out at its start; afterwards the network stays as it is."""


def new_namespaces(congestion: str) -> list[int]:
    """Descriptors of both, linked; this process stays in the server's."""
    server, client = unshare(), unshare()
    far = f"/proc/{os.getpid()}/fd/{server}"
    ip(f"link add name {DEVICE} type veth peer name {DEVICE} netns {far}")
    set_up("client", congestion)
    enter(server)
    set_up("server", congestion)
    return [server, client]


def waker(side: str, namespace: int) -> socket.socket:
    """
    What wakes the token bucket of a side, by a datagram to the other side's waker. After a change of its
    rate it sleeps on for as long as the old rate would take, unless a packet comes (sch_tbf.c).
    """
    enter(namespace)
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((ADDRESSES[side], WAKE_PORT))
    made.connect((ADDRESSES[SIDES[1 - SIDES.index(side)]], WAKE_PORT))
    return made


class Kernel:
    """
    Args:
        channel: to who asks, as `emulator.Emulator` answers.
        namespaces: of server and client.
    """

    def __init__(self, channel: Connection, namespaces: list[int]) -> None:
        self._channel = channel
        self._paths = dict(zip(SIDES, (f"/proc/{os.getpid()}/fd/{one}" for one in namespaces), strict=True))
        self._wakers = {side: waker(side, one) for side, one in zip(SIDES, namespaces, strict=True)}
        self._steps: deque[tuple[str, Step]] = deque()
        self._zero = 0.0

    def run(self) -> None:
        """Take each step when it is due, until the other end of the pipe is gone."""
        while True:
            wait_s = self._zero + self._steps[0][1].at - time.monotonic() if self._steps else None
            if self._channel.poll(None if wait_s is None else max(0.0, wait_s)):
                if not self._answer():
                    return
                continue
            self._take()

    def _take(self) -> None:
        side, step = self._steps.popleft()
        self._inside(side, "tc", *step.arguments)
        with contextlib.suppress(OSError):  # its queue is full: then there are packets that wake it
            self._wakers[side].send(b"")

    def _answer(self) -> bool:
        try:
            question, argument = self._channel.recv()
        except (EOFError, OSError):
            return False
        self._channel.send(self._start(*argument) if question == "start" else self._counters())
        return True

    def _start(self, scenario: Scenario, seed: int) -> float:
        self._steps = deque(both(scenario, HORIZON_S, seed))
        self._zero = time.monotonic()
        while self._steps and self._steps[0][1].at == 0:
            self._take()
        return self._zero

    def _counters(self) -> dict[str, dict[str, int]]:
        """By direction: what the sender's device was given since ever."""
        found = {}
        for side, direction in zip(SIDES, ("down", "up"), strict=True):
            lines = self._inside(side, "cat", "/proc/net/dev").splitlines()
            (words,) = (line.split() for line in lines if line.split()[0] == f"{DEVICE}:")
            found[direction] = {"sent_bytes": int(words[9]), "sent_packets": int(words[10])}
        return found

    def _inside(self, side: str, *command: str) -> str:
        done = subprocess.run(
            ["nsenter", f"--net={self._paths[side]}", "--", *command], text=True, stdout=subprocess.PIPE
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed; what it said stands above")
        return done.stdout


def main() -> None:
    """Make the namespaces, tell their descriptors, and run."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it goes to all of a terminal; the pipe tells us when
    channel = Connection(int(sys.argv[1]))
    try:
        namespaces = new_namespaces(sys.argv[2])
    except OSError as error:
        channel.send(str(error))
        return
    try:
        channel.send(dict(zip(SIDES, namespaces, strict=True)))
        with contextlib.suppress(BrokenPipeError):
            Kernel(channel, namespaces).run()
    finally:
        kill_inhabitants(namespaces)


if __name__ == "__main__":
    main()
