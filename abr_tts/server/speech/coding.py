"""
The encodings of one utterance: heavy ones go to the threads, cheap ones are done on the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ...stream.core import StreamCore
from ...stream.track import EncodeJob
from ...units import seconds_to_ticks
from .hoard import Input
from .workshop import Workshop

UNHURRIED = seconds_to_ticks(0.5)
"""Lead from which PCM, which the loop itself encodes, lets others have their turn after each message: an
engine that hands out four seconds at once makes a hundred of them. Below, the listener waits. A guess."""


class Coding:
    """
    Args:
        workshop: the server's threads.
        feed: gives the core an input.
        failed: takes what went wrong on a thread.
    """

    def __init__(
        self, workshop: Workshop, feed: Callable[[Input], None], failed: Callable[[Exception], None]
    ) -> None:
        self._workshop, self._feed, self._failed = workshop, feed, failed
        self._loop = asyncio.get_running_loop()

    def submit(self, job: EncodeJob, core: StreamCore) -> None:
        """Encode what `core` asks for; the packets become its input."""
        if job.cheap and core.lead < UNHURRIED:
            self._run(job, core)
        elif job.cheap:
            self._loop.call_soon(self._run, job, core)
        else:
            self._workshop.submit(
                job.run,
                lambda packets: self._feed(lambda now: core.encoded(job, packets, now)),
                self._failed,
                slack=core.lead,
            )

    def _run(self, job: EncodeJob, core: StreamCore) -> None:
        self._feed(lambda now: core.encoded(job, job.run(), now))
