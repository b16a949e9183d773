"""
Which pool speaks: the one place that chooses between processes, a service elsewhere and a cluster.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from ..errors import ConfigError
from .face import Speaking
from .kinds import KINDS
from .pool import Pool
from .spec import EngineSpec, Limits

PROCESSES, RAY = POOLS = ("processes", "ray")
"""Where the workers of an engine run: processes of this machine, or actors of a Ray cluster."""


def pool_for(spec: EngineSpec, size: int, limits: Limits, *, pool: str = PROCESSES) -> Speaking:
    """
    The pool for `spec`, not started.

    Args:
        size: workers; of a remote engine, requests at once.
        pool: one of `POOLS`; a remote engine has its own.

    Raises:
        ConfigError: there is no such engine or pool.
        MissingDependency: the library of a remote engine or of Ray is not installed.
    """
    kind = KINDS.get(spec.kind)
    if kind is None:
        raise ConfigError(f"no engine {spec.kind!r}; there are {', '.join(KINDS)}")
    if kind.remote:
        made = getattr(import_module(f"{__package__}.{kind.module}"), kind.cls)(spec, size, limits)
        return cast(Speaking, made)
    if pool == RAY:
        made = import_module(f"{__package__}.ray").RayPool(spec, size, limits)
        return cast(Speaking, made)
    if pool != PROCESSES:
        raise ConfigError(f"no pool {pool!r}; there are {', '.join(POOLS)}")
    return Pool(spec, size, limits=limits)
