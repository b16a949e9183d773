"""
Which engine a pool runs, and how long it waits for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Optional


@dataclass(frozen=True)
class EngineSpec:
    """
    Which engine, and where it runs.

    Args:
        kind: a key of `worker.ENGINES`: "espeak", "tone".
        options: handed to the engine's `load`; plain data.
        python: interpreter for the worker, 3.10 or later with numpy and msgpack; None: ours.
    """

    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)
    python: Optional[str] = None


@dataclass(frozen=True)
class Limits:
    """How long to wait for a worker, in seconds, before it is taken for hung and replaced."""

    load_s: float = 120.0
    """From start to ready: a neural model reads gigabytes."""
    first_chunk_s: float = 20.0
    """From a request to its first PCM."""
    gap_s: float = 10.0
    """Between two chunks, and from the last one to the end."""
    cancel_s: float = 5.0
    """From a cancel until the worker is free: one chunk of a slow engine."""
    ping_s: float = 5.0
    """Between two pings."""
    pong_s: float = 5.0
    """From a ping until anything at all is heard."""
    drain_s: float = 2.0
    """For an idle worker to exit at `stop`."""
    backoff_s: tuple[float, float] = (0.1, 30.0)
    """First and longest pause before a start after a failed one; doubles in between."""
    queue: int = 256
    """Requests that may wait for a worker; one more is refused as busy."""
