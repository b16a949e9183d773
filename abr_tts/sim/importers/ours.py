"""
The project's own two forms: `time_s,kbps` tables and `tts-netem/1` documents, with the line of a fault.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

from ...errors import ConfigError
from ..scenario import Scenario, from_json, from_trace
from .text import MOST_S, Source

HEAD = "time_s,kbps"
"""First line of a table."""


def is_head(line: str) -> bool:
    """Whether a line is the head of a table."""
    return "".join(line.split()) == HEAD


def read(source: Source) -> tuple[Scenario, ...]:
    """
    The scenario of a table or a document. A document tells its delays itself.

    Raises:
        ConfigError: with path and line.
    """
    if source.text.lstrip().startswith("{"):
        found = _document(source)
    else:
        source.check_rows()
        found = from_trace(source.text, source.path, source.rtt())
        found = replace(found, name=source.name)
    if found.duration_s > MOST_S:
        raise ConfigError(f"{source.path}: lasts {found.duration_s:g} s; at most {MOST_S:g} are read")
    return (found,)


def _document(source: Source) -> Scenario:
    try:
        document = json.loads(source.text)
    except json.JSONDecodeError as error:
        raise source.fault(error.lineno, f"not JSON: {error.msg}") from None
    except RecursionError:
        raise source.fault(1, "not JSON: nested too deep") from None
    try:
        return from_json(document)
    except ConfigError as error:
        key = str(error).partition(":")[0]
        raise source.fault(line_of(source.text, key), str(error)) from None


def line_of(text: str, key: str) -> int:
    """The line, from 1, on which a dotted key such as `down.rate[3]` stands; 1 if it stands nowhere."""
    place = 0
    for name in re.sub(r"\[\d+\]", "", key).split("."):
        found = text.find(f'"{name}"', place)
        if found < 0:
            break
        place = found
    return 1 + text.count("\n", 0, place)
