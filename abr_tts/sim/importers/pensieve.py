"""
The "cooked" traces of Pensieve and its kin: seconds and Mbit/s a line, separated by space.

A line's rate holds from the line before up to its own time, as Pensieve's simulator and its
conversion for mahimahi read it; so the first line only tells when the recording begins.
"""

from __future__ import annotations

from ..scenario import Scenario
from .text import MOST_KBPS, MOST_S, Source, numbers, scenario

LINK_RTT_MS = 80.0
"""Round trip that Pensieve adds to every trace (Mao et al. 2017, section 5.1)."""

EPOCH_S = 10 * MOST_S * 366 * 100
"""The greatest time of a line: some cooked logs keep the seconds of their own clock."""


def read(source: Source) -> tuple[Scenario, ...]:
    """
    The scenario of a trace.

    Raises:
        ConfigError: a line is not two numbers, or not later than the one before; there is only one.
    """
    steps: list[tuple[float, float]] = []
    begin = before = None
    for line, text in source.lines():
        found = numbers(text)
        if len(found) != 2:
            raise source.fault(line, f"must be two numbers, seconds and Mbit/s, not {text[:40]!r}")
        at = source.number(line, "the time", found[0], EPOCH_S)
        mbps = source.number(line, "the rate", found[1], MOST_KBPS / 1000)
        if begin is None or before is None:
            begin = at
        elif at <= before:
            raise source.fault(line, f"second {at:g} does not come after {before:g}")
        else:
            steps.append((before - begin, mbps * 1000))
        before = at
    if begin is None or before is None or not steps:
        raise source.fault(1, "needs two lines at least")
    return (scenario(source, steps, before - begin, source.rtt(LINK_RTT_MS)),)
