"""
The process between two network namespaces: it owns both, and moves packets from one to the other
as a scenario says. `tun` starts it and talks to it over a pipe; people do not run it.

Each way is a `sim.link.Link`, the very object that the simulator uses, so that virtual time and
this agree. The namespaces have no name: they exist while this process does, or one that runs in
them, and it kills those when the pipe breaks. So nothing is left whatever ends the program that
asked for them.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from abr_tts.sim.link import Link
from abr_tts.sim.scenario import Scenario

SIDES = ("server", "client")
ADDRESSES = {"server": "198.18.0.1", "client": "198.18.0.2"}
"""RFC 2544 keeps this network for measurements; packets to it never leave the two namespaces."""

NETWORK, PREFIX = "198.18.0.0", 24
DEVICE = "link"
MTU = 1500
"""Of Ethernet and of most paths."""

TX_PACKETS = 2_000
"""Packets that wait for this process at most; all real queueing is the scenario's."""

PRIORITY = 10
"""Real-time priority, so that a busy machine does not show as jitter; this process is mostly asleep."""

SETTINGS = {
    "ipv6/conf/all/disable_ipv6": "1",  # its neighbour discovery would be traffic of nobody
    "ipv6/conf/default/disable_ipv6": "1",
    "ipv4/tcp_no_metrics_save": "1",  # or a connection would begin with what the last one learned
}
"""Of the kernel, in each namespace."""

_CLONE_NEWNET = 0x4000_0000
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x4004_54CA, 0x0001, 0x1000
_SIOCETHTOOL, _OFFLOADS = 0x8946, (0x1F, 0x24, 0x2C)
"""linux/if_tun.h, linux/sockios.h, linux/ethtool.h; the offloads are TSO, GSO and GRO: packets must
be cut by TCP, or the link would count a lump of 64 kB as one."""


def unshare() -> int:
    """
    A new network namespace, which this process enters.

    Returns:
        A descriptor of it.
    """
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET):
        code = ctypes.get_errno()
        raise OSError(code, f"no network namespace can be made: {os.strerror(code)}")
    return os.open("/proc/self/ns/net", os.O_RDONLY)


def new_namespace(side: str, congestion: str) -> tuple[int, int]:
    """
    A new network namespace, which this process enters.

    Returns:
        A descriptor of the namespace, and one of the TUN device in it.
    """
    namespace = unshare()
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), _IFF_TUN | _IFF_NO_PI))
    set_up(side, congestion)
    return namespace, device


def set_up(side: str, congestion: str) -> None:
    """Address, route and settings of the device, in the namespace that this process is in."""
    for name, value in SETTINGS.items():
        with contextlib.suppress(FileNotFoundError):
            Path("/proc/sys/net", name).write_text(value)
    _switch_off_offloads()
    ip(
        f"addr add {ADDRESSES[side]}/{PREFIX} dev {DEVICE}",
        f"link set dev {DEVICE} mtu {MTU} txqueuelen {TX_PACKETS} up",
        "link set dev lo up",
        # By the route, because a namespace may make its default only what the machine allows to all.
        f"route change {NETWORK}/{PREFIX} dev {DEVICE} congctl {congestion}",
    )


def ip(*lines: str) -> None:
    """
    Commands of `ip`, in the namespace that this process is in.

    Raises:
        OSError: with what it said.
    """
    done = subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), text=True, capture_output=True)
    if done.returncode:
        raise OSError(done.returncode, f"ip: {done.stderr.strip()}")


def _switch_off_offloads() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for command in _OFFLOADS:
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            request = struct.pack("16sP16x", DEVICE.encode(), ctypes.addressof(value))
            fcntl.ioctl(control, _SIOCETHTOOL, request)


class Way:
    """
    One direction.

    Args:
        source, target: TUN devices, from and to.
        clock: seconds.
    """

    def __init__(self, source: int, target: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.source, self._target, self._clock = source, target, clock
        self._link: Link | None = None
        self._zero = 0.0
        self._flying: deque[tuple[float, bytes]] = deque()
        self.delivered_packets = self.delivered_bytes = 0

    def start(self, link: Link, zero: float) -> None:
        """Be like `link` from now on; what is on its way keeps its time."""
        self._link, self._zero = link, zero

    @property
    def due(self) -> float | None:
        """When the next packet arrives."""
        return self._flying[0][0] if self._flying else None

    def take(self) -> None:
        """Take what the source sends."""
        with contextlib.suppress(BlockingIOError):
            while True:
                packet = os.read(self.source, 65_536)
                now = self._clock()
                arrives = self._link.send(len(packet), now - self._zero) if self._link else None
                if arrives is not None:
                    last = self._flying[-1][0] if self._flying else 0.0
                    self._flying.append((max(last, self._zero + arrives), packet))

    def deliver(self, now: float) -> None:
        """Hand over what has arrived."""
        while self._flying and self._flying[0][0] <= now:
            packet = self._flying.popleft()[1]
            with contextlib.suppress(OSError):  # the device's owner is being ended
                os.write(self._target, packet)
            self.delivered_packets += 1
            self.delivered_bytes += len(packet)

    def counters(self) -> dict[str, int]:
        """Packets and bytes of this direction: delivered ones since ever, the others since `start`."""
        link = self._link
        if link is None:
            return {}
        return {
            "sent_packets": link.sent_packets,
            "sent_bytes": link.sent_bytes,
            "dropped": link.dropped,
            "lost": link.lost,
            "delivered_packets": self.delivered_packets,
            "delivered_bytes": self.delivered_bytes,
        }


class Emulator:
    """Both ways, and what `tun` asks over the pipe."""

    def __init__(self, channel: Connection, devices: tuple[int, int]) -> None:
        self._channel = channel
        server, client = devices
        self._down, self._up = Way(server, client), Way(client, server)

    def run(self) -> None:
        """Move packets until the other end of the pipe is gone."""
        ways = (self._down, self._up)
        sources = {self._down.source: self._down, self._up.source: self._up}
        watched = [*sources, self._channel.fileno()]
        while True:
            dues = [way.due for way in ways if way.due is not None]
            timeout = max(0.0, min(dues) - time.monotonic()) if dues else None
            ready, _, _ = select.select(watched, [], [], timeout)
            for one in ready:
                if one in sources:
                    sources[one].take()
                elif not self._answer():
                    return
            now = time.monotonic()
            for way in ways:
                way.deliver(now)

    def _answer(self) -> bool:
        try:
            question, argument = self._channel.recv()
        except (EOFError, OSError):
            return False
        answer: Any = None
        if question == "start":
            answer = self._start(*argument)
        elif question == "counters":
            answer = {"down": self._down.counters(), "up": self._up.counters()}
        self._channel.send(answer)
        return True

    def _start(self, scenario: Scenario, seed: int) -> float:
        zero, chance = time.monotonic(), f"{scenario.seed}/{seed}"  # the very texts of `sim.run`
        for way, name in ((self._down, "down"), (self._up, "up")):
            direction = getattr(scenario, name)
            way.start(Link(direction, scenario.duration_s, f"{chance}/{name}"), zero)
        return zero


def kill_inhabitants(namespaces: list[int]) -> None:
    """End every process in the namespaces, which are ours alone, but for this one and who started it."""
    ours = {os.fstat(one).st_ino for one in namespaces}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) not in (os.getpid(), os.getppid()):
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{entry}/ns/net").st_ino in ours:
                    os.kill(int(entry), signal.SIGKILL)


def main() -> None:
    """Make the namespaces, tell their descriptors, and run."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it goes to all of a terminal; the pipe tells us when
    channel = Connection(int(sys.argv[1]))
    try:
        made = [new_namespace(side, sys.argv[2]) for side in SIDES]
    except OSError as error:
        channel.send(str(error))
        return
    namespaces = [namespace for namespace, _ in made]
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(PRIORITY))
    gc.freeze()
    try:
        channel.send(dict(zip(SIDES, namespaces, strict=True)))
        Emulator(channel, (made[0][1], made[1][1])).run()
    finally:
        kill_inhabitants(namespaces)


if __name__ == "__main__":
    main()
