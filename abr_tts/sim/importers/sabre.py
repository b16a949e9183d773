"""
The JSON of the sabre simulator: a list of periods with `duration_ms`, `bandwidth_kbps`, `latency_ms`.

It is how the Norwegian HSDPA logs (Riiser et al. 2013) and the Ghent LTE logs (van der Hooft et al.
2016) are passed on. A latency there delays each request once, so it is a round trip.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..scenario import Scenario
from .text import MOST_KBPS, MOST_ROWS, MOST_S, Source, scenario

MOST_MS = 10_000.0
"""Milliseconds of a latency: what is more is no path."""


def read(source: Source) -> tuple[Scenario, ...]:
    """
    The scenario of a list of periods; its round trip is their median by time.

    Raises:
        ConfigError: it is not such a list, or a period is wrong; with the line of the period.
    """
    at, steps = 0.0, []
    latencies: list[tuple[float, float]] = []
    for line, period in _items(source):
        if not isinstance(period, dict):
            raise source.fault(line, f"a period must be an object, not {str(period)[:40]!r}")
        for key in ("duration_ms", "bandwidth_kbps"):
            if key not in period:
                raise source.fault(line, f"{key} is missing")
        duration = source.number(line, "duration_ms", period["duration_ms"], MOST_S * 1000) / 1000
        kbps = source.number(line, "bandwidth_kbps", period["bandwidth_kbps"], MOST_KBPS)
        if "latency_ms" in period:
            latency = source.number(line, "latency_ms", period["latency_ms"], MOST_MS)
            latencies.append((latency, duration))
        if duration:
            steps.append((at, kbps))
            at += duration
    if not steps:
        raise source.fault(1, "has no period that lasts")
    rtt_ms = source.rtt(_median(latencies)) if latencies else source.rtt()
    return (scenario(source, steps, at, rtt_ms),)


def _median(weighted: list[tuple[float, float]]) -> float:
    """The value at which half of the weight is reached."""
    half, reached = sum(weight for _, weight in weighted) / 2, 0.0
    for value, weight in sorted(weighted):
        reached += weight
        if reached >= half:
            return value
    return 0.0


def _items(source: Source) -> Iterator[tuple[int, Any]]:
    """(line, value) of each item of a JSON list: `json` alone does not say where an item stood."""
    text, decoder = source.text, json.JSONDecoder()
    place = _after_space(text, 0)
    if text[place : place + 1] != "[":
        raise source.fault(1, "must be a JSON list of periods")
    place, line, counted, count = _after_space(text, place + 1), 1, 0, 0
    while text[place : place + 1] != "]":
        line += text.count("\n", counted, place)
        counted, count = place, count + 1
        if count > MOST_ROWS:
            raise source.fault(line, f"is period {count}; at most {MOST_ROWS} are read")
        try:
            value, end = decoder.raw_decode(text, place)
        except (json.JSONDecodeError, RecursionError) as error:
            at = getattr(error, "lineno", line)
            raise source.fault(at, f"not JSON: {getattr(error, 'msg', 'nested too deep')}") from None
        yield line, value
        end = _after_space(text, end)
        if text[end : end + 1] not in (",", "]"):
            raise source.fault(1 + text.count("\n", 0, end), "not JSON: a comma or ] is missing")
        place = _after_space(text, end + 1) if text[end] == "," else end
    rest = text[place + 1 :].strip()
    if rest:
        raise source.fault(1 + text.count("\n", 0, place), f"not JSON: {rest[:20]!r} follows the list")


def _after_space(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    return place
