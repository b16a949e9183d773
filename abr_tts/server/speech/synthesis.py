"""
From the settings of an engine to the pool that speaks.
"""

from __future__ import annotations

import os
from typing import Any

from ...engine.build import pool_for
from ...engine.face import Speaking
from ...engine.kinds import KINDS
from ...engine.spec import THREADS, EngineSpec, Limits
from ..config import EngineSettings, Settings


def pool(settings: Settings) -> Speaking:
    """
    What speaks for a server with these settings, not started.

    Raises:
        ConfigError, MissingDependency: as `build.pool_for`.
    """
    return _pool(settings, settings.engine.workers)


def pool_of_one(settings: Settings) -> Speaking:
    """The same with a single worker, to ask what the engine has."""
    return _pool(settings, 1)


def _pool(settings: Settings, workers: int) -> Speaking:
    engine = settings.engine
    limits = Limits(
        load_s=engine.load_s,
        first_chunk_s=engine.first_chunk_s,
        gap_s=engine.gap_s,
        queue=settings.limits.streams,  # each stream waits with one clause at most
    )
    return pool_for(_spec(engine, workers), workers, limits, pool=engine.pool)


def _spec(engine: EngineSettings, workers: int) -> EngineSpec:
    options: dict[str, Any] = dict(engine.options)
    if engine.voices_dir and KINDS[engine.kind].clones:
        options.setdefault("voices_dir", str(engine.voices_dir.absolute()))
    return EngineSpec(
        kind=engine.kind,
        options=options,
        python=engine.python,
        devices=engine.devices,
        threads=engine.threads or threads(workers),
        cluster=engine.cluster,
        parallel=engine.parallel,
    )


def threads(workers: int) -> int:
    """
    Threads for the numeric libraries of each of several workers; 0: let them choose.

    They would take every core in every worker and wait for one another. One worker may have the
    machine, and an operator who has set one of `THREADS` has chosen.
    """
    if workers < 2 or any(name in os.environ for name in THREADS):
        return 0
    return max(1, (os.cpu_count() or 1) // workers)
