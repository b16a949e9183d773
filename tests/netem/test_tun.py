"""A TUN link with real kernels at both ends: like its scenario, and gone without a trace."""

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

import abr_tts
from abr_tts.server.sending.sockets import listen
from abr_tts.sim.scenario import steady

GONE_S = 10.0

PROGRAM = """
import sys, time
sys.path.insert(0, {tools!r})
from tun import TunLink
with TunLink() as link:
    inside = link.popen("server", ["sleep", "1000"])
    print(link._emulator.pid, inside.pid, flush=True)
    time.sleep(1000)
"""
"""A user of a link that is ended from outside; `time.sleep` is interrupted by every signal."""


def gone(descriptor: int) -> bool:
    """Whether the process of a pid descriptor ends in time."""
    ready, _, _ = select.select([descriptor], [], [], GONE_S)
    os.close(descriptor)
    return bool(ready)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_whatever_ends_the_user_ends_all_that_ran_on_the_link(tun_link, number):
    tools = str(Path(__file__).parents[2] / "tools" / "netem")
    user = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(tools=tools)],
        env={**os.environ, "PYTHONPATH": str(Path(abr_tts.__file__).parents[1])},
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    pids = [int(word) for word in user.stdout.readline().split()]
    assert len(pids) == 2
    watched = [os.pidfd_open(pid) for pid in pids]
    user.send_signal(number)
    user.wait()
    user.stdout.close()
    assert [gone(one) for one in watched] == [True, True]


def test_a_failure_within_the_block_ends_what_runs_inside_and_comes_through(tun_link):
    with pytest.raises(ValueError, match="mine"), tun_link() as link:
        inside = link.popen("client", ["sleep", "1000"])
        raise ValueError("mine")
    assert inside.poll() is not None
    assert link._emulator.poll() is not None


def test_the_two_sides_reach_each_other_and_have_no_other_device(tun_link):
    before = os.readlink("/proc/thread-self/ns/net")
    with tun_link() as link:
        with link.inside("server"):
            listener = socket.create_server((link.address("server"), 0))
        with link.inside("client"):
            client = socket.create_connection(listener.getsockname(), timeout=5)
            assert sorted(name for _, name in socket.if_nameindex()) == ["link", "lo"]
        server, (peer, _) = listener.accept()
        assert peer == link.address("client")
        for one in (server, client, listener):
            one.close()
    assert os.readlink("/proc/thread-self/ns/net") == before


def test_rate_round_trip_and_drops_are_the_scenarios(tun_link, monkeypatch):
    import selfcheck

    monkeypatch.setattr(selfcheck, "RATE_S", 2.0)
    monkeypatch.setattr(selfcheck, "TRANSFER_S", 2.5)
    checks = selfcheck.check([(1000.0, 30.0)])
    assert [fault for one in checks for fault in one.faults] == []


def test_packets_are_of_the_devices_size_and_tcp_is_the_one_that_was_asked_for(tun_link):
    with tun_link(steady(20_000, delay_ms=5), congestion="reno") as link:
        with link.inside("server"):
            listener = socket.create_server((link.address("server"), 0))
        with link.inside("client"):
            reader = socket.create_connection(listener.getsockname())
        writer, _ = listener.accept()
        assert writer.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0") == b"reno"
        thread = threading.Thread(target=writer.sendall, args=(bytes(300_000),))
        thread.start()
        left = 300_000
        while left:
            left -= len(reader.recv(65_536))
        thread.join()
        down = link.counters()["down"]
        # Lumps of 64 kB would count as one packet; full packets carry 1448 bytes.
        assert down["sent_packets"] + 1 >= 300_000 / 1448
        assert down["sent_bytes"] <= 1500 * down["sent_packets"]
        for one in (writer, reader, listener):
            one.close()


def test_an_accepted_socket_recovers_soon_after_a_radio_outage(tun_link):
    """
    Without TCP_RTO_MAX_MS the try after the outage comes 6.2 s after its begin, here 2.2 s late, each time;
    with it a machine that stands still may be late, but not three times.
    """
    late = [around_an_outage(tun_link)]
    while not (late[-1][0] < 1.2 and late[-1][1] < 1.3):
        assert len(late) < 3, late
        late.append(around_an_outage(tun_link))


def around_an_outage(tun_link) -> tuple[float, float]:
    """Seconds of the last arrival before the outage of 1.0 s to 5.0 s, and from its end to the next one."""
    outage = ((1.0, 5.0),)
    plan = steady(500, delay_ms=30)
    plan = replace(plan, down=replace(plan.down, drop_windows=outage))
    with tun_link(plan) as link:
        with link.inside("server"):
            (listener,) = listen(link.address("server"), 0, 4, 60.0)
        listener.setblocking(True)
        try:
            listener.getsockopt(socket.IPPROTO_TCP, 44)
        except OSError:
            pytest.skip("this kernel has no TCP_RTO_MAX_MS")
        with link.inside("client"):
            reader = socket.create_connection(listener.getsockname())
        writer, _ = listener.accept()
        assert writer.getsockopt(socket.IPPROTO_TCP, 44) == 1000
        zero = link.start()
        reader.settimeout(10)
        pause = threading.Event()

        def send() -> None:  # a message every 100 ms, as speech goes
            for _ in range(30):
                writer.sendall(bytes(1000))
                pause.wait(0.1)

        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        arrivals = []
        while not arrivals or arrivals[-1] < 5.0:
            assert reader.recv(65_536)
            arrivals.append(time.monotonic() - zero)
        writer.close()
        reader.close()
        thread.join()
        listener.close()
        return arrivals[-2], arrivals[-1] - 5.0
