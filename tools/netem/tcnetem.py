"""
A scenario as command lines of `tc`, for a kernel that has netem: which, and at what second.

At the end that sends, netem delays and loses; beneath it a token bucket has the rate and the queue.
Pure but for `missing`; who runs the commands is `kernel`.
"""

from __future__ import annotations

import functools
import math
import shutil
import subprocess
import sys
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from tun import TunLink
from tun import missing as tun_missing

from abr_tts.sim.link import Weather
from abr_tts.sim.scenario import Direction, Scenario

DEVICE = "link"
"""Of the sender, in a namespace of its own."""

OUTER, INNER = ("root", "handle", "1:"), ("parent", "1:1", "handle", "10:")
"""Where netem and the token bucket are."""

BURST_BYTES = 1540
"""Of the token bucket: one full packet with its Ethernet header, the least that lets any through."""

WAKE = "ping -c 1 -W 1 $PEER >/dev/null &"
"""After a change of its rate the token bucket sleeps on for as long as the old rate would take, unless a
packet comes (sch_tbf.c); `kernel` sends one itself."""

HOLD_BPS = 64
"""Bit/s in an outage that holds: tc takes no 0. Below 45 the burst's time is too long for the 32 bits
of 64 ns that the kernel has for it."""

KEEP_ORDER = "10gbit"
"""netem's own rate. With any, its jitter never lets a packet overtake another (sch_netem.c); this one
is too fast to matter."""

TICK_S = 0.01
"""Seconds to which the spells of loss are told; starting `tc` takes no less."""

FLIGHT_PACKETS = 10_000
"""Room for what is delayed; what may wait for its turn is the token bucket's to say."""


class Step(NamedTuple):
    """At `at` seconds run `tc` with `arguments` on the device of the direction's sender."""

    at: float
    arguments: tuple[str, ...]

    @property
    def line(self) -> str:
        """As a person types it."""
        return " ".join(("tc", *self.arguments))


def steps(direction: Direction, period: float, seconds: float, seed: str) -> list[Step]:
    """
    What makes a device like `direction`, in the order of time.

    Args:
        period: seconds after which the direction's schedule begins anew.
        seconds: how long it is needed; what would come later is left out.
        seed: text from which spells of loss come: the same as in virtual time.
    """
    begin = [
        Step(0.0, ("qdisc", "replace", "dev", DEVICE, *OUTER, *_netem(direction, 0.0))),
        Step(0.0, ("qdisc", "replace", "dev", DEVICE, *INNER, *_bucket(direction, direction.rate[0][1]))),
    ]
    rates = [
        Step(at, ("qdisc", "change", "dev", DEVICE, *INNER, *_bucket(direction, kbps)))
        for at, kbps in _rates(direction, period, seconds)
    ]
    losses = [
        Step(at, ("qdisc", "change", "dev", DEVICE, *OUTER, *_netem(direction, share)))
        for at, share in _losses(direction, period, seconds, seed)
    ]
    return begin + sorted(rates + losses, key=lambda step: step.at)


def both(scenario: Scenario, seconds: float, seed: int = 1) -> list[tuple[str, Step]]:
    """(`server` or `client`, step) of both directions, in the order of time."""
    chance = f"{scenario.seed}/{seed}"
    down = steps(scenario.down, scenario.duration_s, seconds, f"{chance}/down")
    up = steps(scenario.up, scenario.duration_s, seconds, f"{chance}/up")
    every = [("server", step) for step in down] + [("client", step) for step in up]
    return sorted(every, key=lambda entry: entry[1].at)


def script(scenario: Scenario, seconds: float, seed: int = 1) -> str:
    """
    All of it as a shell script, for two namespaces called `server` and `client` that are linked; PEER is
    any address that both reach by the link.
    """
    lines, now = ["#!/bin/sh", f"# {scenario.name}, {seconds:g} s; needs root and sch_netem"], 0.0
    lines += [f"# not as in the scenario: {clause}" for clause in NetemLink.DIFFERS]
    for side, step in both(scenario, seconds, seed):
        if step.at > now:
            lines.append(f"sleep {step.at - now:.3f}  # {step.at:.3f} s")
            now = step.at
        lines.append(f"ip netns exec {side} {step.line}")
        if step.at and "tbf" in step.arguments:
            lines.append(f"ip netns exec {side} {WAKE}")
    return "\n".join(lines)


def _netem(direction: Direction, share: float) -> tuple[str, ...]:
    """Delay, jitter, and the share of packets that is lost."""
    delay: tuple[str, ...] = (f"{1000 * direction.delay_s:g}ms",)
    if direction.jitter_s:
        delay += (f"{1000 * direction.jitter_s:g}ms",)
    lost = 1 - (1 - direction.loss) * (1 - share)
    loss = ("loss", "random", f"{100 * lost:.6g}%") if lost else ()
    return ("netem", "limit", str(FLIGHT_PACKETS), "delay", *delay, *loss, "rate", KEEP_ORDER)


def _bucket(direction: Direction, kbps: float) -> tuple[str, ...]:
    """The rate, and the queue before it."""
    rate = max(HOLD_BPS, round(1000 * kbps))
    return ("tbf", "rate", f"{rate}bit", "burst", str(BURST_BYTES), "limit", str(direction.queue_bytes))


def _rates(direction: Direction, period: float, seconds: float) -> Iterator[tuple[float, float]]:
    """(second, kbit/s) of each change after second 0."""
    last = direction.rate[0][1]
    for turn in range(math.ceil(seconds / period)):
        for at, kbps in direction.rate:
            second = turn * period + at
            if 0 < second < seconds and at < period and kbps != last:
                yield second, kbps
            last = kbps if at < period else last


def _losses(direction: Direction, period: float, seconds: float, seed: str) -> Iterator[tuple[float, float]]:
    """(second, share lost beside `direction.loss`) of each change from second 0 on."""
    edges = {0.0}
    for turn in range(math.ceil(seconds / period)):
        edges |= {turn * period + edge for window in direction.drop_windows for edge in window}
    weather = Weather(direction.bursts, Random(f"{seed}/bursts")) if direction.bursts else None
    spells = _spells(weather, seconds) if weather else [(0.0, 0.0)]
    edges |= {at for at, _ in spells}
    last = 0.0
    for second in sorted(edge for edge in edges if edge < seconds):
        dropped = any(begin <= second % period < end for begin, end in direction.drop_windows)
        share = 1.0 if dropped else next(share for at, share in reversed(spells) if at <= second)
        if share != last:
            yield second, share
        last = share


def _spells(weather: Weather, seconds: float) -> list[tuple[float, float]]:
    """(second, share lost) of each spell, to a hundredth of a second."""
    found = [(0.0, weather.loss(0.0))]
    for tick in range(1, math.ceil(seconds / TICK_S)):
        share = weather.loss(tick * TICK_S)
        if share != found[-1][1]:
            found.append((tick * TICK_S, share))
    return found


@functools.cache
def missing() -> str | None:
    """What this machine lacks for netem, one clause; None: nothing."""
    lacks = tun_missing() if sys.platform != "linux" or shutil.which("ip") is None else None
    if lacks is None and shutil.which("tc") is None:
        lacks = "the program tc is missing (Debian: iproute2)"
    if lacks:
        return lacks
    try_it = ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]
    done = subprocess.run(try_it, capture_output=True, text=True)
    return f"the kernel refuses netem: {done.stderr.strip()}" if done.returncode else None


class NetemLink(TunLink):
    """As `TunLink`, with a veth pair between the namespaces and the kernel's netem at both its ends."""

    EMULATOR = "kernel.py"

    DIFFERS = (
        "what is lost is lost before the queue, not behind it",
        f"an outage that holds lets {HOLD_BPS} bit/s through, and each change of the rate one packet",
    )
    """What of a scenario netem does in another way, one clause each."""

    missing = staticmethod(missing)
