"""
`Pool` whose workers are actors, and whose size follows the queue.

Queue, voices, replacement and counting are the process pool's own; what differs is how a worker is
started, and that there may be more or fewer of them.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import Any, Optional, cast

from ..base import Sink
from ..face import PoolStats
from ..parent import IDLE, STARTING, WorkerHandle
from ..pool import Pool
from ..spec import EngineSpec, Limits
from ..ticket import Ticket
from .cluster import Connection, check_installed, read
from .member import Member
from .scale import Scale

log = logging.getLogger("abr_tts.engine")

LOOK_S = 0.5
"""How often the number of workers is thought over when nothing happens. Chosen here."""


class RayPool(Pool):
    """
    From `size` to `workers_max` actors of one engine; see `face.Speaking`.

    Raises:
        ConfigError: [engine.cluster] has what cannot be.
        MissingDependency: Ray is not installed.
    """

    def __init__(self, spec: EngineSpec, size: int, limits: Optional[Limits] = None) -> None:
        super().__init__(spec, size, limits=limits)
        cluster = read(spec.cluster, size)
        check_installed()
        self._connection = Connection(cluster, spec, size)
        self._scale = Scale(cluster.bounds(size))
        self._look_s = min(LOOK_S, cluster.queue_s or LOOK_S, cluster.idle_s or LOOK_S)
        self._looking: Optional[asyncio.Task[None]] = None

    async def start(self) -> None:
        """
        Join the cluster and start `size` actors; returns as soon as one is ready.

        Raises:
            MissingDependency, EngineError: as `face.Speaking.start`.
        """
        await self._connection.join()
        await super().start()
        self._looking = asyncio.get_running_loop().create_task(self._look())

    async def stop(self) -> None:
        """Fault what is under way, end every actor, leave the cluster."""
        if self._looking:
            self._looking.cancel()
        await super().stop()
        await self._connection.leave()

    def _spawn(self, number: int) -> None:
        member = Member(self._connection, self.limits, self, number)
        self._workers.add(cast(WorkerHandle, member))
        task = asyncio.get_running_loop().create_task(member.start())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def worker_gone(self, worker: WorkerHandle, why: str) -> None:
        """An actor has ended: it is replaced, unless it was let go."""
        if cast(Member, worker).retired:
            self._workers.discard(worker)
        else:
            super().worker_gone(worker, why)

    def _ask(self, ask: Any, sink: Sink, first: bool) -> Ticket:
        ticket = super()._ask(ask, sink, first)
        self._resize()
        return ticket

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self._look_s)
            self._resize()

    def _resize(self) -> None:
        """Add actors while clauses wait, let some go while they idle."""
        if self._stopping or self._out_of_service:
            return
        now = asyncio.get_running_loop().time()
        members = [cast(Member, worker) for worker in self._workers if not cast(Member, worker).retired]
        starting = sum(member.state == STARTING for member in members)
        more = self._scale.more(now, self.waiting, len(members) + len(self._pauses), starting)
        for _ in range(more):
            number = next(n for n in range(len(members) + 1) if all(m.number != n for m in members))
            log.info("%d clauses wait: worker %d is started", self.waiting, number)
            self._spawn(number)
            members = [cast(Member, worker) for worker in self._workers]
        idle = sorted((m for m in members if m.state == IDLE), key=lambda member: member.idle_since)
        for member in idle[: self._scale.fewer(now, len(members), [m.idle_since for m in idle])]:
            log.info("worker %d has idled and is let go", member.number)
            member.retire()

    @property
    def stats(self) -> PoolStats:
        """As `Pool.stats`; the size is that of this moment."""
        size = sum(not cast(Member, worker).retired for worker in self._workers)
        return replace(super().stats, size=max(size, self.size))
