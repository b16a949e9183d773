"""The utility table as it is written in `abr_tts/control/utility.py`: made from figures, and put there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from abr_tts.control import utility
from abr_tts.control.ladder import FULL, Rung

CODECS = {"PCM": "pcm16", "ULAW": "ulaw", "OPUS": "opus"}
"""Name of a table → codec of its rungs."""

PLACES = 2
"""Decimals of the table: clips differ by more."""


def tables(
    rungs: Mapping[str, Mapping[str, Any]], in_force: ModuleType = utility
) -> dict[str, dict[int, float]]:
    """
    What was measured, as the tables of `abr_tts.control.utility` have it.

    A line that was not measured keeps its value, and one that has none is left out, though measured:
    24 kHz PCM needs none, because beyond a table's end its last line holds.
    """
    made: dict[str, dict[int, float]] = {}
    for name, codec in CODECS.items():
        measured = {
            _line(FULL[rung]): round(row["u"], PLACES)
            for rung, row in rungs.items()
            if FULL[rung].codec == codec
        }
        made[name] = {line: measured.get(line, value) for line, value in getattr(in_force, name).items()}
    return made


def _line(rung: Rung) -> int:
    return round(rung.kbps) if rung.codec == "opus" else rung.sample_rate


def rewritten(source: str, made: Mapping[str, Mapping[int, float]]) -> str:
    """
    The text of the table's file with other values.

    Raises:
        ValueError: a table is not there as one assignment.
    """
    for name, lines in made.items():
        values = ", ".join(
            f"{line:{'_' if line >= 10_000 else ''}}: {value:.2f}" for line, value in lines.items()
        )
        pattern = rf"^{name} = \{{[^}}]*\}}"
        source, count = re.subn(pattern, f"{name} = {{{values}}}", source, flags=re.M)
        if count != 1:
            raise ValueError(f"the file has {count} tables called {name}, not one")
    return source
