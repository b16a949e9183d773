"""
The ways to a real server: over a TUN link, over `tc netem`, over a relay on loopback; and which of
them this machine can go.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from live import Way
from serving import Front, Process, children, serve
from talk import Talk
from tcnetem import NetemLink
from tcnetem import missing as netem_missing
from tun import TunLink
from tun import missing as tun_missing

from abr_tts.demo.path import not_emulated
from abr_tts.demo.relay import HOST, Relay
from abr_tts.sim.scenario import Direction, Scenario

BACKENDS = ("tun", "netem", "virtual", "proxy")
"""What a session can run over."""

SETTLE_S = 0.3
"""Seconds in which a greeting gets through before a scenario's time begins."""

BYTES_ALONE = (
    "TCP: the relay carries bytes, so nothing starts slowly, is sent again, or takes room from "
    "acknowledgements",
    "what the server's kernel sees of a network: its queue is empty and a round trip takes microseconds",
)
"""What a relay never emulates, whatever the scenario."""

T = TypeVar("T")


class Choice(NamedTuple):
    """A backend, and why it is the one."""

    backend: str
    why: str


def best() -> Choice:
    """The most faithful backend that this machine can run."""
    lacks = tun_missing()
    if lacks is None:
        return Choice("tun", "packet by packet between two namespaces, with real kernels and real TCP")
    kernel = netem_missing()
    if kernel is None:
        return Choice("netem", f"the kernel's own emulation, since there is no TUN link: {lacks}")
    why = f"an unprivileged relay, since there is neither a TUN link ({lacks}) nor netem ({kernel})"
    return Choice("proxy", why)


def greeting(scenario: Scenario) -> Scenario:
    """The same path in fair weather, on which a client connects before the scenario's time begins."""

    def fair(way: Direction) -> Direction:
        kbps = max(kbps for _, kbps in way.rate)
        return replace(way, rate=((0.0, kbps),), drop_windows=(), loss=0.0, bursts=None)

    return replace(scenario, down=fair(scenario.down), up=fair(scenario.up))


@contextlib.contextmanager
def over_tun(
    scenario: Scenario, front: Front, settings: dict[str, Any], talk: Talk, seed: int = 1
) -> Iterator[tuple[Process, Way]]:
    """Two namespaces with TUN devices; within the block this thread's sockets are the client's."""
    with TunLink(greeting(scenario)) as link, _between(link, front, settings, talk) as (process, url, tls):

        def down(key: str) -> int:
            return link.counters()["down"][key]

        yield process, Way(
            url, tls, _starting(link, scenario, seed), _kbps_at(scenario), lambda: down("sent_bytes"),
            lambda: (down("lost"), down("dropped")), ("TUN, packet by packet",),
        )  # fmt: skip


@contextlib.contextmanager
def over_netem(
    scenario: Scenario, front: Front, settings: dict[str, Any], talk: Talk, seed: int = 1
) -> Iterator[tuple[Process, Way]]:
    """Two namespaces with a veth pair and the kernel's netem at its ends; else as `over_tun`."""
    with NetemLink(greeting(scenario)) as link, _between(link, front, settings, talk) as (process, url, tls):
        yield process, Way(
            url, tls, _starting(link, scenario, seed), _kbps_at(scenario),
            lambda: link.counters()["down"]["sent_bytes"],
            notes=("tc netem", *NetemLink.DIFFERS),
        )  # fmt: skip


@contextlib.contextmanager
def over_relay(
    scenario: Scenario, front: Front, settings: dict[str, Any], talk: Talk, seed: int = 1
) -> Iterator[tuple[Process, Way]]:
    """A relay of bytes on loopback, on a thread of its own; it needs no rights."""
    with (
        children() as popen,
        serve(popen, HOST, front, settings, talk) as (process, url, tls),
        _relayed(scenario, int(url.split("/")[2].rpartition(":")[2])) as (port, restart),
    ):
        scheme, _, path = url.partition("//")
        notes = ("a relay on loopback, which does not emulate:", *BYTES_ALONE, *not_emulated(scenario))
        place = f"{scheme}//{HOST}:{port}/{path.partition('/')[2]}"
        yield process, Way(place, tls, restart, _kbps_at(scenario), notes=notes)


WAYS = {"tun": over_tun, "netem": over_netem, "proxy": over_relay}
"""By backend."""


@contextlib.contextmanager
def _between(
    link: TunLink, front: Front, settings: dict[str, Any], talk: Talk
) -> Iterator[tuple[Process, str, Any]]:
    def popen(command: list[str], **more: Any) -> subprocess.Popen[Any]:
        return link.popen("server", command, **more)

    with link.inside("client"), serve(popen, link.address("server"), front, settings, talk) as served:
        yield served


def _starting(link: TunLink, scenario: Scenario, seed: int) -> Callable[[], float]:
    def start() -> float:
        time.sleep(SETTLE_S)
        return link.start(scenario, seed)

    return start


def _kbps_at(scenario: Scenario) -> Callable[[float], float]:
    return lambda second: scenario.down.kbps_at(second % scenario.duration_s)


@contextlib.contextmanager
def _relayed(scenario: Scenario, port: int) -> Iterator[tuple[int, Callable[[], float]]]:
    """(port of a relay to `port`, what begins its schedule anew)."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def on_loop(coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result()

    async def made() -> Relay:
        relay = Relay(scenario, HOST, port)
        await relay.start()
        return relay

    async def restart() -> float:
        relay.restart()
        return time.monotonic()

    try:
        relay = on_loop(made())
        try:
            yield relay.port, lambda: on_loop(restart())
        finally:
            on_loop(relay.stop())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
