"""One way of the emulator, with pairs of sockets for devices and a clock that is moved by hand."""

import socket
from dataclasses import replace

import pytest

from abr_tts.sim.link import Link
from abr_tts.sim.scenario import steady


class Wire:
    """A `Way` between two ends that the test holds."""

    def __init__(self) -> None:
        from emulator import Way

        self.now = 100.0
        self.near, source = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        target, self.far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sockets = (self.near, source, target, self.far)
        for one in self.sockets:
            one.setblocking(False)
        self.way = Way(source.fileno(), target.fileno(), lambda: self.now)

    def start(self, kbps: float, **changes) -> None:
        down = replace(steady(kbps, delay_ms=100).down, **changes)
        self.way.start(Link(down, 60.0, "1"), self.now)

    def send(self, *packets: bytes) -> None:
        for packet in packets:
            self.near.send(packet)
        self.way.take()

    def arrivals(self, until: float, step_s: float = 0.001) -> list[tuple[float, bytes]]:
        """(seconds from now, packet) of what arrives until then."""
        found, began = [], self.now
        while self.now < began + until:
            self.now += step_s
            self.way.deliver(self.now)
            while True:
                try:
                    found.append((round(self.now - began, 3), self.far.recv(2048)))
                except BlockingIOError:
                    break
        return found


@pytest.fixture
def wire():
    made = Wire()
    yield made
    for one in made.sockets:
        one.close()


def test_packets_arrive_whole_in_order_and_after_their_time(wire):
    wire.start(80)  # 10 bytes a millisecond
    wire.send(b"a" * 1000, b"b" * 500)
    assert wire.arrivals(1.0) == [
        (pytest.approx(0.2, abs=0.002), b"a" * 1000),
        (pytest.approx(0.25, abs=0.002), b"b" * 500),
    ]


def test_nothing_arrives_before_the_first_start(wire):
    wire.send(b"early")
    wire.start(80)
    assert wire.arrivals(1.0) == []


def test_what_finds_the_queue_full_is_dropped_and_counted(wire):
    wire.start(80, queue_bytes=3000)
    wire.send(*[bytes([n]) * 1000 for n in range(5)])
    assert [packet[0] for _, packet in wire.arrivals(2.0)] == [0, 1, 2]
    counted = wire.way.counters()
    assert (counted["sent_packets"], counted["dropped"], counted["delivered_packets"]) == (5, 2, 3)
    assert counted["delivered_bytes"] == 3000


def test_a_new_start_begins_the_schedule_anew_and_what_is_on_its_way_keeps_its_time(wire):
    wire.start(80)
    wire.send(b"old" * 300)
    wire.start(8000, delay_s=0.0)
    wire.send(b"new")
    arrived = wire.arrivals(1.0)
    assert [packet for _, packet in arrived] == [b"old" * 300, b"new"]
    assert [at for at, _ in arrived] == [pytest.approx(0.19, abs=0.002)] * 2


def test_time_is_the_scenarios_own_so_that_a_window_begins_after_the_start(wire):
    wire.start(800, drop_windows=((0.0, 1.0),))
    wire.send(b"lost")
    assert wire.arrivals(1.0) == []
    wire.send(b"found")
    assert [packet for _, packet in wire.arrivals(1.0)] == [b"found"]
