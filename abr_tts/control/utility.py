"""
What a rung is worth to a listener: 1 for 22 kHz PCM, 0 for the worst that the meters know.

A policy may say otherwise, line by line. It knows codecs and rates, not networks.
"""

from __future__ import annotations

import math

from .ladder import Rung

PCM = {16_000: 0.86, 22_050: 1.00}
"""By sample rate. u = (mean(PESQ-WB, ViSQOL) - 1) / 3.69, on four clips of speech; so all below."""

ULAW = {16_000: 0.72, 22_050: 0.84}
"""µ-law (G.711), by sample rate."""

OPUS = {8: 0.43, 12: 0.70, 16: 0.82, 24: 0.90, 32: 0.92, 48: 0.95, 64: 0.95}
"""Opus with the settings of `audio.opus`, by kbit/s. Measured at 22 050 Hz, robotic speech included;
to be measured again on neural speech at 24 kHz (tools/bench/quality)."""


def measured_utility(rung: Rung) -> float:
    """The table's value, 0 to 1: between its lines by the logarithm of the rate, beyond them the last."""
    if rung.codec == "opus":
        return _between(OPUS, rung.kbps)
    return _between(PCM if rung.codec == "pcm16" else ULAW, rung.sample_rate)


def _between(table: dict[int, float], at: float) -> float:
    low = max((line for line in table if line <= at), default=min(table))
    high = min((line for line in table if line >= at), default=max(table))
    if low >= high:
        return table[low]
    share = math.log(at / low) / math.log(high / low)
    return round(table[low] + share * (table[high] - table[low]), 3)
