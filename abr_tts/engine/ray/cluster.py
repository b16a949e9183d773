"""
The cluster: what an operator says of it ([engine.cluster]), joining it, and what an actor asks of it.

The only place that imports Ray. Joining blocks for seconds, so it is done on a thread; there Ray
also leaves the server's signal handlers alone.
"""

from __future__ import annotations

import asyncio
import difflib
import importlib
import importlib.util
import os
import signal
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ...errors import ConfigError, EngineError, MissingDependency, to_install
from ..spec import DEVICES, EngineSpec
from .actor import Speaker
from .scale import Bounds

PACKAGE = Path(__file__).resolve().parents[2]
"""The directory of the package `abr_tts`, which goes to the cluster's machines."""

SHIPPED = ("py_modules", "working_dir", "pip", "uv", "conda", "container", "image_uri")
"""Keys of a runtime environment by which the package may come to the machines; with one of them set it is
not sent along."""


@dataclass(frozen=True)
class Cluster:
    """
    The table, checked.

    Args:
        address: "auto" or host:port of a cluster that this machine is part of; "": a Ray of our own, here.
        namespace: of the cluster; "": one of our own.
        workers_max: up to how many actors, 1 or more; 0: as many as `engine.workers`, always.
        queue_s, idle_s: see `scale.Bounds`.
        num_cpus, num_gpus, resources: what Ray sets aside for each actor.
        runtime_env: Ray's, of the whole job.
    """

    address: str = ""
    namespace: str = ""
    workers_max: int = 0
    queue_s: float = Bounds.queue_s
    idle_s: float = Bounds.idle_s
    num_cpus: float = 1.0
    num_gpus: float = 0.0
    resources: Mapping[str, float] = field(default_factory=dict)
    runtime_env: Mapping[str, Any] = field(default_factory=dict)

    def bounds(self, size: int) -> Bounds:
        """Between how many workers, of which `size` are started at once."""
        return Bounds(size, max(size, self.workers_max), self.queue_s, self.idle_s)


def read(table: Mapping[str, Any], size: int) -> Cluster:
    """
    [engine.cluster] as a `Cluster`.

    Raises:
        ConfigError: a key that is unknown or of a value that cannot be, by its name.
    """
    known = {one.name: one for one in fields(Cluster)}
    for key, value in table.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"; do you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
            raise ConfigError(f"engine.cluster has no {key!r}{hint}")
        _check(key, value)
    cluster = Cluster(**table)
    if cluster.workers_max and cluster.workers_max < size:
        raise ConfigError(
            f"engine.cluster.workers_max is {cluster.workers_max}, fewer than engine.workers, which is {size}"
        )
    if cluster.address.startswith("ray://"):
        raise ConfigError(
            "engine.cluster.address: Ray's client (ray://) cannot stream; run the server on a machine of"
            ' the cluster, with address = "auto"'
        )
    return cluster


def _check(key: str, value: Any) -> None:
    kinds: dict[str, Any] = {"address": str, "namespace": str, "resources": Mapping, "runtime_env": Mapping}
    if key in kinds:
        if not isinstance(value, kinds[key]):
            wanted = "a text" if kinds[key] is str else "a table"
            raise ConfigError(f"engine.cluster.{key} must be {wanted}, not {value!r}")
        return
    whole = key == "workers_max"
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or value < 0:
        wanted = "a whole number" if whole else "a number"
        raise ConfigError(f"engine.cluster.{key} must be {wanted} from 0, not {value!r}")


def check_installed() -> None:
    """
    See that Ray is there, without importing it.

    Raises:
        MissingDependency: it is not.
    """
    if importlib.util.find_spec("ray") is None:
        raise MissingDependency(f'engine.pool = "ray" needs Ray: {to_install("ray")}')


class Connection:
    """A place in the cluster. `await join()`, then `actor`; at the end `await leave()`."""

    def __init__(self, cluster: Cluster, spec: EngineSpec, size: int) -> None:
        if spec.devices:
            raise ConfigError(
                "engine.devices names GPUs of one machine; for Ray set engine.cluster.num_gpus instead"
            )
        self._cluster = cluster
        self._spec = spec
        self._most = cluster.bounds(size).most
        self._ray: Any = None
        self._class: Any = None
        self._ours = False

    async def join(self) -> None:
        """
        Join the cluster, or start one here: 3 to 10 s.

        Raises:
            EngineError: it cannot be joined, for the reason given.
        """
        try:
            await asyncio.to_thread(self._join)
        except Exception as error:  # Ray raises what its parts raise
            words = " ".join(str(error).split())[:300] or type(error).__name__
            raise EngineError(f"the Ray cluster cannot be joined: {words}") from None
        _take_signal_back()
        self._class = self._ray.remote(Speaker)

    def _join(self) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to its makers
        self._ray = importlib.import_module("ray")
        if self._ray.is_initialized():
            return  # somebody in this process has joined already: theirs to leave
        cluster = self._cluster
        more: dict[str, Any] = {"address": cluster.address}
        if not cluster.address:
            room = self._most * max(cluster.num_cpus, 1.0)
            more = {
                "address": "local",
                "num_cpus": max(os.cpu_count() or 1, round(room)),
                "include_dashboard": False,
            }
        self._ray.init(
            **more,
            namespace=cluster.namespace or None,
            runtime_env=self._environment(),
            log_to_driver=False,
            configure_logging=False,
        )
        self._ours = True

    def _environment(self) -> dict[str, Any]:
        """The job's runtime environment; to other machines the package is sent along."""
        environment = dict(self._cluster.runtime_env)
        if self._cluster.address and not any(key in environment for key in SHIPPED):
            environment["py_modules"] = [str(PACKAGE)]
        if self._spec.python:
            environment.setdefault("py_executable", self._spec.python)
        return environment

    async def leave(self) -> None:
        """Leave the cluster; one that we started ends."""
        if self._ours:
            self._ours = False
            await asyncio.to_thread(self._ray.shutdown)

    def actor(self, number: int) -> Any:
        """Have a `Speaker` started somewhere; returns its handle at once."""
        cluster = self._cluster
        variables = {key: value for key, value in self._spec.environment(number).items() if key != DEVICES}
        options = {
            "num_cpus": cluster.num_cpus,
            "num_gpus": cluster.num_gpus,
            "resources": dict(cluster.resources) or None,
            "max_restarts": 0,  # its replacement is for the pool to start, which tells listeners
            "runtime_env": {"env_vars": variables} if variables else None,
        }
        return self._class.options(**options).remote(self._spec.kind, dict(self._spec.options))

    def kill(self, actor: Any) -> None:
        """End an actor at once."""
        self._ray.kill(actor, no_restart=True)

    def cancel(self, generator: Any) -> None:
        """Have a stream of results stopped."""
        self._ray.cancel(generator)

    @property
    def death(self) -> Any:
        """What is raised when an actor, or its machine, is gone."""
        return self._ray.exceptions.RayActorError

    @property
    def error(self) -> Any:
        """What is raised when anything of Ray's fails."""
        return self._ray.exceptions.RayError


def _take_signal_back() -> None:
    """Put our handler of SIGTERM before Ray's, which prints a stack as if the server had crashed."""
    if threading.current_thread() is threading.main_thread() and (ours := signal.getsignal(signal.SIGTERM)):
        signal.signal(signal.SIGTERM, ours)
