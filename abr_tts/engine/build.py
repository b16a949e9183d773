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
        ConfigError: there is no such engine or pool, or it cannot speak as many texts at once.
        MissingDependency: the library of a remote engine or of Ray is not installed.
    """
    kind = KINDS.get(spec.kind)
    if kind is None:
        raise ConfigError(f"no engine {spec.kind!r}; there are {', '.join(KINDS)}")
    check_parallel(spec, pool)
    if kind.remote:
        made = getattr(import_module(f"{__package__}.{kind.module}"), kind.cls)(spec, size, limits)
        return cast(Speaking, made)
    if pool == RAY:
        made = import_module(f"{__package__}.ray").RayPool(spec, size, limits)
        return cast(Speaking, made)
    if pool != PROCESSES:
        raise ConfigError(f"no pool {pool!r}; there are {', '.join(POOLS)}")
    return Pool(spec, size, limits=limits)


def check_parallel(spec: EngineSpec, pool: str = PROCESSES) -> None:
    """
    Hold `spec.parallel` to what the engine and the pool can do.

    Raises:
        ConfigError: it is more than one text at once, where a worker speaks one.
    """
    if spec.parallel == 1:
        return
    if KINDS[spec.kind].remote:
        why = f"{spec.kind} speaks elsewhere; engine.workers says how many texts at once"
    elif not KINDS[spec.kind].parallel:
        why = f"a worker of {spec.kind} speaks one text at a time; for more at once there is engine.workers"
    elif pool != PROCESSES:
        why = f"an actor of {pool} speaks one text at a time; let actors share a GPU with num_gpus below 1"
    else:
        return
    raise ConfigError(f"engine.parallel = {spec.parallel}: {why}")
