"""
One request to a remote pool, and what such a pool counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Optional

from .. import ipc
from ..base import Line, Sink
from ..face import PoolStats
from ..ticket import Counts, Ticket
from .hosts import Host, HostStats


@dataclass(frozen=True)
class RemoteStats(PoolStats):
    """A moment of a remote pool: a worker is a place at a server, `lost` a breaker that opened."""

    servers: tuple[HostStats, ...] = ()


class Call(Ticket):
    """A request: in the queue, at a server, before another try, or over."""

    def __init__(
        self, on_cancel: Callable[[Any], None], counts: Counts, ask: ipc.Say, sink: Sink, line: Line
    ) -> None:
        super().__init__(on_cancel, counts, ask, sink)
        self.line = line
        self.task: Optional[asyncio.Task[None]] = None
        self.host: Optional[Host] = None
        """Where it has a place now."""
        self.avoid: set[Host] = set()
        """Servers where it failed."""
        self.tries = 0
        self.deadline = 0.0
        """When the first sample must have come, whatever the number of tries."""
        self.heard = 0
        """Samples that came."""
        self.unheard = 0
        """Of them, those since the deadline was last moved."""
        self.sounding = False
        """Whether it was moved: enough has come to be heard."""

    def begin(self, now: float, first_chunk_s: float) -> float:
        """Another try begins; returns the deadline, which the first one has set."""
        self.tries += 1
        if self.tries == 1:
            self.deadline = now + first_chunk_s
        return self.deadline

    def enter(self, host: Host) -> None:
        """It takes a place at `host`."""
        host.enter()
        self.host = host

    def leave(self) -> bool:
        """It gives its place up; returns whether it had one."""
        host, self.host = self.host, None
        if host is not None:
            host.leave()
        return host is not None
