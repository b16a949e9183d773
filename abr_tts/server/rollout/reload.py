"""
Policy files that change under a running server, and what is said of it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ..watching.metrics import Metrics
from .kept import Keeper
from .rollout import Rollout
from .rounds import Rounds
from .slots import HELD, REFUSED, ROLLED_BACK, Change, Slot
from .watch import Sight

log = logging.getLogger(__name__)


class Reloader:
    """
    Args:
        rollout: whose files they are.
        every_s: seconds between two looks; 0: only when asked.
        keeper: is told to write down what came of them.
    """

    def __init__(self, rollout: Rollout, every_s: float, keeper: Keeper) -> None:
        self._rollout, self._keeper = rollout, keeper
        self._rounds = Rounds(every_s, lambda: rollout.unsettled)

    def ask(self) -> None:
        """Look now, and take what is there at once."""
        self._rounds.ask()

    async def run(self) -> None:
        """Look until cancelled."""
        await self._rounds.run(lambda: self._rollout.look(), self._take, "the policy files")

    async def _take(self, seen: Sequence[tuple[Slot, Sight]], now: float, at_once: bool) -> None:
        if self._rollout.take(seen, now, at_once):
            await self._keeper.save()


def tell(metrics: Metrics, change: Change) -> None:
    """A change, to the log and to the metrics."""
    bad = change.outcome in (REFUSED, HELD, ROLLED_BACK)
    log.log(logging.WARNING if bad else logging.INFO, "%s: %s", change.setting, change.words)
    metrics.policies.changed(change.outcome)
