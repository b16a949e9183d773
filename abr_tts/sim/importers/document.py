"""Scenarios as `tts-netem/1` documents, with the line of a fault."""

from __future__ import annotations

import json
import re

from ...errors import ConfigError
from ..scenario import Scenario, from_json
from .text import Source


def read(source: Source) -> tuple[Scenario, ...]:
    """
    The scenario of a document, which tells its delays itself.

    Raises:
        ConfigError: with path and line.
    """
    found = _document(source)
    source.check_duration(found.duration_s)
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
