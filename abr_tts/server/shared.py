"""
What all sessions of a server share, and what each new stream passes: draining, admission, its id.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ..engine.references import References
from ..errors import AbrError, Busy
from .load.limits import Admission, StreamIds
from .load.quotas import Quotas
from .load.relief import CLOSED
from .resume.resumption import Resumption
from .rollout.policies import LinkMemory, Policies
from .speech.surroundings import Services
from .speech.uplinks import Share

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shared:
    """`share` and `references` are for clips; `references` is None where no folder of voices is set."""

    services: Services
    admission: Admission
    stream_ids: StreamIds
    policies: Policies
    memory: LinkMemory
    draining: Callable[[], bool]
    share: Share
    references: References | None
    resumption: Resumption
    quotas: Quotas

    def admit(self, stream_id: str, accept: Callable[[], T], now: float) -> T:
        """
        Count a stream if `accept` takes it; what that gave.

        Raises:
            Busy, DuplicateStream, and what `accept` raises: then nothing is counted.
        """
        if self.draining():
            raise Busy("the server is stopping; connect again", retry_after=0.0)
        pool, limits = self.services.pool, self.services.settings.limits
        turns = self.services.turns
        if self.services.relief.step >= CLOSED:
            raise Busy(
                "the server is short of power; try again later", retry_after=limits.retry_after_s, name="cpu"
            )
        if turns.full:
            wait_s = max(limits.retry_after_s, turns.wait_s(turns.waiting + 1))
            words = f"{turns.waiting} streams wait for the engine already; try again later"
            raise Busy(words, retry_after=wait_s, name="waiting_streams")
        self.admission.start(workers_ready=pool.ready, clauses_waiting=pool.waiting)
        try:
            accepted = accept()
            self.stream_ids.claim(stream_id, now)
        except AbrError:
            self.admission.finish()
            raise
        return accepted
