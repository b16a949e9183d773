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
from .load.relief import CLOSED, WHOLE
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

    @property
    def must_wait(self) -> bool:
        """Whether a stream that may come whole must: it would be refused, or heard late, or hurt others."""
        limits, services = self.services.settings.limits, self.services
        if not limits.whole_streams:
            return False
        crowded = services.pool.waiting > limits.waiting_clauses
        return crowded or services.relief.step >= WHOLE or services.turns.full

    def admit(self, stream_id: str, accept: Callable[[], T], now: float, *, patient: bool = False) -> T:
        """
        Count a stream if `accept` takes it; what that gave.

        Args:
            patient: it is going to come whole, after all those that are heard as they are made.

        Raises:
            Busy, DuplicateStream, and what `accept` raises: then nothing is counted.
        """
        if self.draining():
            raise Busy("the server is stopping; connect again", retry_after=0.0)
        pool, limits = self.services.pool, self.services.settings.limits
        if patient:
            self._refuse_if(self.services.turns.full_of_patient, "whole_streams")
        else:
            if self.services.relief.step >= CLOSED:
                words = "the server is short of power; try again later"
                raise Busy(words, retry_after=limits.retry_after_s, name="cpu")
            self._refuse_if(self.services.turns.full, "waiting_streams")
        waiting = 0 if patient else pool.waiting
        self.admission.start(workers_ready=pool.ready, clauses_waiting=waiting)
        try:
            accepted = accept()
            self.stream_ids.claim(stream_id, now)
        except AbrError:
            self.admission.finish()
            raise
        return accepted

    def _refuse_if(self, full: bool, name: str) -> None:
        if full:
            turns = self.services.turns
            waiting = turns.waiting + turns.patient
            wait_s = max(self.services.settings.limits.retry_after_s, turns.wait_s(waiting + 1))
            words = f"{waiting} streams wait for the engine already; try again later"
            raise Busy(words, retry_after=wait_s, name=name)
