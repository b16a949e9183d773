"""
The link of the kernel's own emulation: namespaces, schedule, counters, and that nothing is left.

Where the kernel has no netem, a `tc` that does without it stands before the real one: everything but
delay and loss is then the kernel's still.
"""

import os
import shutil
import socket
import time
from dataclasses import replace

import pytest

from abr_tts.sim.scenario import steady

from .test_tun import gone

SHIM = """#!/bin/sh
case " $* " in *" netem "*) exit 0 ;; esac
exec {tc} $(echo "$*" | sed 's/parent 1:1/root/')
"""


@pytest.fixture
def netem_link(tun_link, tmp_path, monkeypatch):
    """The class NetemLink, on this kernel."""
    import tcnetem

    real = shutil.which("tc")
    if real is None:
        pytest.skip("tc is missing (Debian: iproute2)")
    if tcnetem.missing() is not None:
        shim = tmp_path / "tc"
        shim.write_text(SHIM.format(tc=real))
        shim.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        monkeypatch.setattr(tcnetem.NetemLink, "missing", staticmethod(lambda: None))
    return tcnetem.NetemLink


def datagrams(link, side: str) -> socket.socket:
    with link.inside(side):
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((link.address(side), 0))
    made.settimeout(5)
    return made


def arrivals(link, packets: int) -> list[float]:
    """When packets of 1500 bytes arrive, in seconds of the scenario; all are sent at its second 0."""
    source, target = datagrams(link, "server"), datagrams(link, "client")
    zero = link.start()
    for _ in range(packets):
        source.sendto(bytes(1472), target.getsockname())
    found = []
    for _ in range(packets):
        target.recv(2048)
        found.append(time.monotonic() - zero)
    source.close()
    target.close()
    return found


def test_the_two_sides_reach_each_other_at_the_rate_of_the_scenario(netem_link):
    with netem_link(steady(400, delay_ms=5)) as link:
        found = arrivals(link, 21)
        bits = (len(found) - 1) * (1500 + 14) * 8  # the token bucket counts the Ethernet header too
        assert bits / (found[-1] - found[0]) == pytest.approx(400_000, rel=0.1)
        assert link.counters()["down"]["sent_packets"] >= 21
        assert link.counters()["down"]["sent_bytes"] >= 21 * 1500


def test_an_outage_that_holds_begins_and_ends_when_the_scenario_says(netem_link):
    plan = steady(100, delay_ms=5)
    plan = replace(plan, down=replace(plan.down, rate=((0.0, 100.0), (0.6, 0.0), (1.6, 1000.0))))
    with netem_link(plan) as link:
        found = arrivals(link, 12)  # eight of them are through before 1 s at 100 kbit/s
    held = [at for at in found if 0.75 < at < 1.55]
    assert held == []
    assert found[-1] < 3.5


def test_the_whole_is_gone_when_its_owner_leaves(netem_link):
    with netem_link(steady(100)) as link:
        inside = link.popen("server", ["sleep", "1000"])
        watched = [os.pidfd_open(link._emulator.pid), os.pidfd_open(inside.pid)]
    assert [gone(one) for one in watched] == [True, True]


def test_a_command_that_tc_refuses_is_told(netem_link, capfd):
    from tun import NetemError

    broken = steady(100)
    broken = replace(broken, down=replace(broken.down, queue_bytes=-1))
    with pytest.raises(NetemError, match="does not answer"), netem_link(broken):
        pass
    assert "failed" in capfd.readouterr().err
