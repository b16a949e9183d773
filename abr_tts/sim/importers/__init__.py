"""
Recorded networks in the formats that people have them in, as `Scenario` records.

Text in, scenarios out; reading files is the caller's. A format is told by its content, so that a
folder may hold several. Every fault names file and line; limits stand in `text`.

| format | what it is | where it comes from |
|---|---|---|
| `csv` | CSV with the head `time_s,kbps` | written by hand, or from another format |
| `tts-netem` | `tts-netem/1` documents (JSON) | tools/netem |
| `mahimahi` | a millisecond a line: one packet of 1500 bytes may pass | mm-link, Saturator |
| `sabre` | JSON list of `duration_ms`, `bandwidth_kbps`, `latency_ms` | sabre: HSDPA and LTE logs |
| `pensieve` | `second<tab>Mbit/s` a line, as "cooked" by Pensieve | Pensieve and its kin |
| `fcc` | raw CSV of Measuring Broadband America, `unit_id,dtime,target,…` | the FCC |
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping

from ...errors import ConfigError
from ..scenario import Scenario
from . import document, fcc, mahimahi, pensieve, sabre, table
from .text import Source, numbers

FORMATS: Mapping[str, Callable[[Source], tuple[Scenario, ...]]] = {
    "csv": table.read,
    "tts-netem": document.read,
    "mahimahi": mahimahi.read,
    "sabre": sabre.read,
    "pensieve": pensieve.read,
    "fcc": fcc.read,
}
"""Readers by the name of the format."""


def read(
    text: str, path: str, *, name: str = "", form: str = "", rtt_ms: float | None = None
) -> tuple[Scenario, ...]:
    """
    The scenarios of one file: one, but for `fcc`, whose files hold many networks.

    Args:
        text: the file's content.
        path: what errors call it.
        name: what the scenario is called; `path` if nothing is said.
        form: one of `FORMATS`; told by the content if nothing is said.
        rtt_ms: round trip of the idle path; the format's own, or its usual one, if None.

    Raises:
        ConfigError: the sentence begins with path and line.
    """
    source = Source(text.removeprefix("\ufeff"), path, name or path, rtt_ms)
    source.check_size()
    return reader(form or detect(source))(source)


def reader(form: str) -> Callable[[Source], tuple[Scenario, ...]]:
    """
    The reader of a format.

    Raises:
        ConfigError: there is none of this name.
    """
    if form not in FORMATS:
        near = difflib.get_close_matches(form, FORMATS, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ConfigError(f"no format {form!r}; there are {', '.join(FORMATS)}{hint}")
    return FORMATS[form]


def detect(source: Source) -> str:
    """
    Which format a text is in, by its first line that is not empty.

    Raises:
        ConfigError: in none.
    """
    line, first = next(source.lines(), (1, ""))
    if first.startswith("["):
        return "sabre"
    if first.startswith("{"):
        return "tts-netem"
    if table.is_head(first):
        return "csv"
    if fcc.is_head(first):
        return "fcc"
    found = numbers(first)
    if len(found) == 1 and first.isdecimal():
        return "mahimahi"
    if len(found) == 2:
        return "pensieve"
    if table.is_row(first):
        raise source.fault(line, f"{first[:40]!r} is a row of csv, but no head stands above it: {table.HEAD}")
    raise source.fault(line, f"{first[:40]!r} begins no format that is known ({', '.join(FORMATS)})")
