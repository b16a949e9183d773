"""TOML that people write: one reader for policies and settings, whose faults are sentences with a line."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from ..errors import ConfigError

MOST_CHARACTERS = 262_144
"""Of a file. The longest of ours, all settings with their sentences, has 15 000."""

MOST_LINE_CHARACTERS = 4_096
"""Of a line: what the parser needs for a dotted key grows with the square of its parts (0.5 s for this)."""


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """
    The document of a TOML text; `source` names it in errors.

    Raises:
        ConfigError: it is no TOML, or beyond a limit: one sentence with source, line and reason.
    """
    if len(text) > MOST_CHARACTERS:
        raise ConfigError(f"{source}: has {len(text)} characters, but may have {MOST_CHARACTERS}")
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MOST_LINE_CHARACTERS:
            raise ConfigError(
                f"{source}:{number}: has {len(line)} characters, but a line may have {MOST_LINE_CHARACTERS}"
            )
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        told = re.search(r"line (\d+)", str(error))
        line_number = int(told[1]) if told else max(1, len(text.splitlines()))  # else it is the end
        raise ConfigError(f"{source}:{line_number}: not TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{source}: not TOML that can be read: nested too deeply") from None
    except ValueError as error:  # a number with more digits than Python takes
        raise ConfigError(f"{source}: not TOML that can be read: {error}") from None
