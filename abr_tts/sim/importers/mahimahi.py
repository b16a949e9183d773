"""
mahimahi's packet-delivery traces: each line is a millisecond at which 1500 bytes may pass.

The last line is the recording's length; then it begins anew (mm-link(1), src/frontend/link_queue.cc).
Such a file tells one direction and no delay: mm-delay adds that, here `rtt_ms` does.
"""

from __future__ import annotations

from ..scenario import Scenario
from .text import MOST_S, Source, scenario

PACKET_BITS = 12_000
"""Of one opportunity: a packet of 1500 bytes."""

STEP_MS = 100
"""Milliseconds of one step of capacity. What opportunities within it do is less than a round trip."""


def read(source: Source) -> tuple[Scenario, ...]:
    """
    The scenario of a trace.

    Raises:
        ConfigError: a line is no whole number, or earlier than the one before; it has no length.
    """
    times: list[int] = []
    for line, text in source.lines():
        if not text.isdecimal() or not text.isascii():
            raise source.fault(line, f"must be a whole number of milliseconds, not {text[:40]!r}")
        at = int(source.number(line, "the time", text, MOST_S * 1000))
        if times and at < times[-1]:
            raise source.fault(line, f"{at} ms comes before {times[-1]} ms")
        times.append(at)
    if not times or not times[-1]:
        raise source.fault(1, "must last for more than 0 ms")
    return (scenario(source, steps(times), times[-1] / 1000, source.rtt()),)


def steps(times: list[int]) -> list[tuple[float, float]]:
    """(second, kbit/s) of opportunities at these milliseconds, in rising order."""
    length = times[-1]
    counts = [0] * -(-length // STEP_MS)
    for at in times:
        counts[min(at // STEP_MS, len(counts) - 1)] += 1
    found = []
    for index, count in enumerate(counts):
        width_ms = min(STEP_MS, length - index * STEP_MS)
        found.append((index * STEP_MS / 1000, count * PACKET_BITS / width_ms))
    return found
