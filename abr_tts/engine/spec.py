"""
Which engine a pool runs and with what of the machine, and how long it waits for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Optional

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables by which numeric libraries (OpenMP and with it torch, OpenBLAS, MKL) learn how many threads
they may use."""

DEVICES = "CUDA_VISIBLE_DEVICES"
"""Variable by which CUDA learns which of the machine's GPUs a process may see."""


@dataclass(frozen=True)
class EngineSpec:
    """
    Which engine, and where it runs.

    Args:
        kind: a key of `kinds.KINDS`: "espeak", "tone".
        options: handed to the engine's `load` untouched; plain data.
        python: interpreter for the worker, 3.10 or later with numpy and msgpack; None: ours.
        devices: GPUs as `DEVICES` names them; workers take them by turns. Empty: all see all.
        threads: of numeric libraries in each worker; 0: they choose for themselves.
        parallel: texts that each worker speaks at once, on the one model that it has loaded.
        cluster: what a pool of another kind takes beside (`build.POOLS`); plain data.
    """

    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)
    python: Optional[str] = None
    devices: tuple[str, ...] = ()
    threads: int = 0
    parallel: int = 1
    cluster: Mapping[str, Any] = field(default_factory=dict)

    def environment(self, number: int) -> dict[str, str]:
        """The variables that worker `number`, from 0, has beside those of the server."""
        own = dict.fromkeys(THREADS, str(self.threads)) if self.threads else {}
        if self.devices:
            own[DEVICES] = self.devices[number % len(self.devices)]
        return own


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
    """From a cancel until the worker is free, at least; the chunk at hand may take as long as any other."""
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
