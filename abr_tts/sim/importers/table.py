"""Capacity over time as a table: CSV with the head `time_s,kbps`."""

from __future__ import annotations

from dataclasses import replace

from ..scenario import Scenario, from_trace
from .text import Source, numbers

HEAD = "time_s,kbps"
"""First line of a table."""


def is_head(line: str) -> bool:
    """Whether a line is the head of a table."""
    return "".join(line.split()) == HEAD


def is_row(line: str) -> bool:
    """Whether a line is a row of a table, such as `0,2000`, which wants a head before it."""
    return line.count(",") == 1 and len(numbers(line.replace(",", " "))) == 2


def read(source: Source) -> tuple[Scenario, ...]:
    """
    The scenario of a table.

    Raises:
        ConfigError: with path and line.
    """
    source.check_rows()
    found = replace(from_trace(source.text, source.path, source.rtt()), name=source.name)
    source.check_duration(found.duration_s)
    return (found,)
