"""
When policy files are looked at: every few seconds, and when somebody asks (SIGHUP).

The reading is done on a thread, what comes of it on the event loop: a disk that hangs holds no stream up.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from ..watching.metrics import Metrics
from .kept import Keeper
from .rollout import Rollout
from .slots import HELD, REFUSED, ROLLED_BACK, Change
from .watch import SETTLE_S

log = logging.getLogger(__name__)


class Reloader:
    """
    Args:
        rollout: whose files they are.
        every_s: seconds between two looks; 0: only when asked.
        keeper: is told to write down what came of them.
    """

    def __init__(self, rollout: Rollout, every_s: float, keeper: Keeper) -> None:
        self._rollout, self._every_s, self._keeper = rollout, every_s, keeper
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """Look now, and take what is there at once."""
        self._asked.set()

    async def run(self) -> None:
        """Look until cancelled."""
        loop = asyncio.get_running_loop()
        with suppress(asyncio.CancelledError):
            while True:
                at_once = await self._wait()
                try:
                    seen = await asyncio.to_thread(self._rollout.look)
                    if self._rollout.take(seen, loop.time(), at_once):
                        await self._keeper.save()
                except Exception:
                    log.exception("the policy files could not be looked at; what is in use stays")

    async def _wait(self) -> bool:
        """Until it is time or somebody asks; whether somebody did."""
        pause_s = self._every_s or None
        if self._rollout.unsettled:
            pause_s = min(SETTLE_S, self._every_s or SETTLE_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await self._asked.wait()
        asked = self._asked.is_set()
        self._asked.clear()
        return asked


def tell(metrics: Metrics, change: Change) -> None:
    """A change, to the log and to the metrics."""
    bad = change.outcome in (REFUSED, HELD, ROLLED_BACK)
    log.log(logging.WARNING if bad else logging.INFO, "%s: %s", change.setting, change.words)
    metrics.policies.changed(change.outcome)
