"""
A request to a pool, and what pools count: each sink hears its end once, whatever happens.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional, Union

from ..errors import EngineError
from . import ipc
from .base import Samples, Sink
from .parent import WorkerHandle

log = logging.getLogger("abr_tts.engine")


@dataclass
class Counts:
    """The totals of `face.PoolStats`."""

    said: int = 0
    done: int = 0
    cancelled: int = 0
    faults: int = 0
    lost: int = 0
    samples: int = 0
    bad_samples: int = 0

    def add(self, error: Optional[EngineError]) -> None:
        """Count the end of a request."""
        if error is None:
            self.done += 1
        else:
            self.faults += 1


class Ticket:
    """A request: in the queue, with a worker, or over."""

    def __init__(
        self,
        on_cancel: Callable[[Ticket], None],
        counts: Counts,
        ask: Union[ipc.Say, ipc.Convert],
        sink: Sink,
    ) -> None:
        self._on_cancel = on_cancel
        self._counts = counts
        self._sink: Optional[Sink] = sink
        self.ask = ask
        self.worker: Optional[WorkerHandle] = None
        self.given_at: Optional[float] = None
        """See `face.Asked`."""

    @property
    def over(self) -> bool:
        """Whether the sink has heard its last."""
        return self._sink is None

    def cancel(self) -> None:
        """No more of this: the sink hears nothing from now on. Harmless when it is over."""
        if self._sink is not None:
            self._sink = None
            self._counts.cancelled += 1
            self._on_cancel(self)

    def pcm(self, samples: Samples) -> bool:
        """From the worker: samples for the sink. Returns whether more are wanted."""
        if self._sink is None:
            return False
        self._counts.samples += samples.size
        try:
            self._sink.pcm(samples)
        except Exception:  # the sink's own fault must not cost the worker
            log.exception("a sink raised; its request is given up")
            self.finish(EngineError("the speech could not be taken in"))
        return self._sink is not None

    def finish(self, error: Optional[EngineError]) -> None:
        """From the worker: tell the sink, once, that it is over."""
        sink, self._sink = self._sink, None
        if sink is None:
            return
        self._counts.add(error)
        try:
            if error is None:
                sink.end()
            else:
                sink.fault(error)
        except Exception:
            log.exception("a sink raised at its end")
