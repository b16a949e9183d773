"""
Does a TUN link do what its scenario says? Measured from outside, by sockets at its two ends.

Rate: datagrams come faster than the link carries them; what arrives, and when, is its rate.
Round trip: the least of many echoes, against the delays and the time that bits take. Loss: a TCP
transfer into a small queue; what the queue drops, TCP sends again, and nothing else.

    python tools/netem/selfcheck.py [SCENARIO.json] [--json]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import struct
import threading
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tun import TunLink

from abr_tts.sim.scenario import Direction, Scenario, from_json, steady

IP_UDP_BYTES = 28
"""Of an IPv4 and a UDP header."""

FULL = 1472
"""Bytes of a datagram that fills a packet."""

RATE_SHARE, RTT_MS = 0.01, 2.0
"""What may be amiss: share of the rate; milliseconds of the round trip."""

PING_BYTES, PINGS = 36, 20
RATE_S, TRANSFER_S, TRANSFER_KBPS = 4.0, 4.0, 2_000.0
"""Seconds of the two long measurements; 4 s of 40 kbit/s are 13 packets."""

SENSIBLE_KBPS = (40.0, 5_000.0)
"""Bounds of the rates that are checked: below, a packet takes too long to tell 1 % in four seconds; above,
there is more than twice what the dearest rung needs."""

USUAL = [(2000.0, 20.0), (400.0, 30.0), (40.0, 30.0)]
"""(kbit/s, delay in ms each way) of the links that are checked when none is named."""

SURPLUS = 2.0
"""By so much more is sent than the link carries: the queue then bridges the moments in which a busy machine
keeps the sender waiting."""

SMALL_QUEUE = 15_000
"""Bytes of the queue into which TCP transfers: ten packets, so that it drops in time."""

_SO_TIMESTAMPNS = 35
"""asm-generic/socket.h: tell with each datagram when it came, as a struct timespec of the wall clock."""

_RETRANSMITS_AT = 100
"""Offset of tcpi_total_retrans (u32) in struct tcp_info, linux/tcp.h."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Rate and round trip that were asked of a link, and that it had."""

    kbps: float
    measured_kbps: float
    rtt_ms: float
    measured_rtt_ms: float

    @property
    def faults(self) -> list[str]:
        """What is not as it should be."""
        found = []
        if abs(self.measured_kbps / self.kbps - 1) > RATE_SHARE:
            found.append(f"the rate is {self.measured_kbps:.1f} kbit/s instead of {self.kbps:g}")
        if abs(self.measured_rtt_ms - self.rtt_ms) > RTT_MS:
            found.append(f"the round trip is {self.measured_rtt_ms:.2f} ms instead of {self.rtt_ms:.2f}")
        return found


@dataclass(frozen=True, slots=True)
class Loss:
    """Packets that the queue dropped, and that TCP sent again."""

    drops: int
    retransmits: int

    @property
    def faults(self) -> list[str]:
        """What is not as it should be."""
        if self.drops == 0:
            return ["the queue dropped nothing, so that nothing was checked"]
        if self.drops != self.retransmits:
            return [f"{self.drops} packets were dropped and {self.retransmits} sent again"]
        return []


def check(wanted: list[tuple[float, float]]) -> list[Pace | Loss]:
    """Measure links of these (kbit/s downwards, delay in ms each way), and how packets are dropped."""
    with TunLink() as link:
        return [*(pace(link, kbps, delay_ms) for kbps, delay_ms in wanted), loss(link)]


def pace(link: TunLink, kbps: float, delay_ms: float) -> Pace:
    """Rate and round trip of a link that is constant."""
    scenario = steady(kbps, delay_ms=delay_ms)
    link.start(scenario)
    least_s = least_rtt_s(link)
    size = PING_BYTES + IP_UDP_BYTES
    due_ms = 2 * delay_ms + size * 8 / kbps + size * 8 / scenario.up.kbps_at(0)
    measured = measure_rate(link, kbps)
    return Pace(kbps, round(measured, 2), round(due_ms, 3), round(least_s * 1000, 3))


def loss(link: TunLink) -> Loss:
    """What becomes of a fast TCP transfer before a small queue."""
    scenario = steady(TRANSFER_KBPS)
    link.start(replace(scenario, down=replace(scenario.down, queue_bytes=SMALL_QUEUE)))
    return transfer(link)


def like(direction: Direction) -> list[tuple[float, float]]:
    """(kbit/s, delay in ms) that are worth a check before a scenario is run: its best and least rate, within
    SENSIBLE_KBPS."""
    low, high = SENSIBLE_KBPS
    rates = {min(high, max(low, kbps)) for _, kbps in direction.rate if kbps > 0}
    return [(kbps, direction.delay_s * 1000) for kbps in sorted({min(rates), max(rates)})]


def measure_rate(link: TunLink, kbps: float) -> float:
    """kbit/s that arrive at the client while the server sends SURPLUS times that."""
    source, target = _datagrams(link, "server"), _datagrams(link, "client")
    target.settimeout(1.0)
    target.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    gap_s = (FULL + IP_UDP_BYTES) * 8 / (1000 * SURPLUS * kbps)
    end = time.time() + RATE_S + 4 * gap_s

    def send() -> None:
        due = time.time()
        while due < end:
            source.sendto(bytes(FULL), target.getsockname())
            due += gap_s
            time.sleep(max(0.0, due - time.time()))

    thread = threading.Thread(target=send)
    thread.start()
    arrivals: list[float] = []
    try:
        while len(arrivals) < 2 or arrivals[-1] < end:
            arrivals.append(_arrival(target))
        with contextlib.suppress(TimeoutError):
            while True:
                _arrival(target)  # what still comes would be in the way of the next measurement
    finally:
        thread.join()
        source.close()
        target.close()
    return (len(arrivals) - 1) * (FULL + IP_UDP_BYTES) * 0.008 / (arrivals[-1] - arrivals[0])


def least_rtt_s(link: TunLink) -> float:
    """The least round trip of small datagrams from the client to the server and back."""
    ours, theirs = _datagrams(link, "client"), _datagrams(link, "server")
    ours.settimeout(5.0)

    def echo() -> None:
        for _ in range(PINGS):
            data, sender = theirs.recvfrom(2048)
            theirs.sendto(data, sender)

    thread = threading.Thread(target=echo)
    thread.start()
    least = float("inf")
    for _ in range(PINGS):
        began = time.monotonic()
        ours.sendto(bytes(PING_BYTES), theirs.getsockname())
        ours.recv(2048)
        least = min(least, time.monotonic() - began)
    thread.join()
    ours.close()
    theirs.close()
    return least


def transfer(link: TunLink) -> Loss:
    """Send by TCP as fast as it goes."""
    with link.inside("server"):
        listener = socket.create_server((link.address("server"), 0))
    with link.inside("client"):
        reader = socket.create_connection(listener.getsockname())
    writer, _ = listener.accept()
    writer.settimeout(1.0)

    def read() -> None:
        while reader.recv(65_536):
            pass

    thread = threading.Thread(target=read)
    thread.start()
    end = time.monotonic() + TRANSFER_S
    while time.monotonic() < end:
        try:
            writer.send(bytes(4096))
        except TimeoutError:
            continue
    writer.shutdown(socket.SHUT_WR)
    thread.join()  # all has arrived
    info = writer.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RETRANSMITS_AT + 4)
    (retransmits,) = struct.unpack_from("I", info, _RETRANSMITS_AT)
    for one in (listener, reader, writer):
        one.close()
    return Loss(link.counters()["down"]["dropped"], retransmits)


def _arrival(target: socket.socket) -> float:
    """When the next datagram came, by the kernel's clock: this program may be late on a busy machine."""
    _, notes, _, _ = target.recvmsg(2048, 64)
    seconds, nanos = struct.unpack("qq", notes[0][2])
    return float(seconds + nanos / 1e9)


def _datagrams(link: TunLink, side: str) -> socket.socket:
    with link.inside(side):
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((link.address(side), 0))
    return made


def read(path: Path) -> Scenario:
    """The scenario of a file."""
    return from_json(json.loads(path.read_text("utf-8")))


def main() -> None:
    """Check the rates of a scenario, or three usual ones, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenario", nargs="?", type=Path)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    wanted = like(read(args.scenario).down) if args.scenario else USUAL
    checks = check(wanted)
    faults = [fault for one in checks for fault in one.faults]
    if args.json:
        print(json.dumps({"checks": [asdict(one) for one in checks], "faults": faults}))
    else:
        for one in checks:
            print(*(f"{key} {value:g}" for key, value in asdict(one).items()), sep="   ")
        print("\n".join(faults) or "as it should be")
    raise SystemExit(1 if faults else 0)


if __name__ == "__main__":
    main()
