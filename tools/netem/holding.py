"""
Listeners that hold another amount of sound than the protocol's 200 ms before they start.

The player's rules fix the amount, so that it is no setting of the product; an experiment puts another
number in its place, for the real client and the simulated one alike.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from abr_tts.client import client
from abr_tts.stream import playout
from abr_tts.units import seconds_to_ticks


@contextlib.contextmanager
def holding(buffer_ms: float | None) -> Iterator[None]:
    """Within the block every listener of this process starts, and goes on after a stall, with so much; None:
    as the protocol says."""
    if buffer_ms is None:
        yield
        return
    places: list[tuple[dict[str, Any], str]] = [
        (vars(client), "START_TICKS"),
        (vars(playout), "REBUFFER_TICKS"),
        (playout.Playout.__init__.__kwdefaults__ or {}, "start_ticks"),
    ]
    before = [values[name] for values, name in places]
    for values, name in places:
        values[name] = seconds_to_ticks(buffer_ms / 1000)
    try:
        yield
    finally:
        for (values, name), value in zip(places, before, strict=True):
            values[name] = value
