"""
A request that a worker holds, seen from the parent: how long it is waited for, and whether it still is.
"""

from __future__ import annotations

from typing import Optional, Protocol, Union

from ..errors import EngineError
from . import ipc
from .base import Samples
from .spec import Limits


class Request(Protocol):
    """What a worker needs of the request that it holds."""

    @property
    def ask(self) -> Union[ipc.Say, ipc.Convert]:
        """What to send."""

    def pcm(self, samples: Samples) -> bool:
        """The next samples; returns whether more are wanted."""

    def finish(self, error: Optional[EngineError]) -> None:
        """It is over; None: all was spoken."""


class Held:
    """
    From its `Say` to its `End`.

    Args:
        request: whose it is; None from its cancel on.
        limits: how long to wait.
        now: seconds on the loop's clock, as in every method.
    """

    def __init__(self, request: Request, limits: Limits, now: float) -> None:
        self.request: Optional[Request] = request
        self._limits = limits
        self._patience_s = limits.first_chunk_s
        self._cancelled_at = 0.0
        self.deadline = now + self._patience_s
        """When it counts as hung."""

    def heard(self, now: float) -> None:
        """It has made sound."""
        self._patience_s = self._limits.gap_s
        self.deadline = now + self._patience_s

    def cancel(self, now: float) -> None:
        """
        Nobody waits for it any more. A model notices between two chunks, and may take as long for the one
        at hand as without a cancel.
        """
        self.request, self._cancelled_at = None, now
        self.deadline = max(self.deadline, now + self._limits.cancel_s)

    def finish(self, error: Optional[EngineError]) -> None:
        """Tell whoever waits that it is over."""
        request, self.request = self.request, None
        if request is not None:
            request.finish(error)

    def freed_after_s(self, now: float) -> Optional[float]:
        """Seconds from its cancel until it ended now; None: nobody cancelled it."""
        return now - self._cancelled_at if self._cancelled_at else None

    def hung(self, now: float) -> str:
        """What is wrong when its time is up."""
        if self._cancelled_at:
            return f"it went on for {now - self._cancelled_at:.3g} s after a cancel"
        return f"the engine made no sound for {self._patience_s:g} s"
