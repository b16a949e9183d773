"""
Reports that come faster than they are worth: of one stream so many a second are looked at, of more the
newest when it is due. What they count is cumulative, so nothing is lost by it, and nothing fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from ...wire.messages import BitRateHint
from ..config import LimitSettings
from .quotas import Bucket


@dataclass(slots=True)
class _Gate:
    """One stream's: its bucket, and the report that waits."""

    bucket: Bucket
    waiting: BitRateHint | None = None
    timer: asyncio.TimerHandle | None = None


class Hints:
    """
    Those of one connection.

    Args:
        settings: how many.
        deliver: takes a report of a stream, by the stream's id.
        dropped: called for each one that a newer one took the place of.
    """

    def __init__(
        self,
        settings: LimitSettings,
        deliver: Callable[[str, BitRateHint], None],
        dropped: Callable[[], None],
    ) -> None:
        self._settings, self._deliver, self._dropped = settings, deliver, dropped
        self._loop = asyncio.get_running_loop()
        self._gates: dict[str, _Gate] = {}

    def take(self, stream_id: str, hint: BitRateHint) -> None:
        """A report came: deliver it now, or the newest of those that wait as soon as one may be."""
        now = self._loop.time()
        gate = self._gates.get(stream_id)
        if gate is None:
            bucket = Bucket(self._settings.hints_per_s, self._settings.hint_burst, now)
            gate = self._gates[stream_id] = _Gate(bucket)
        if gate.waiting is not None:
            gate.waiting = hint
            self._dropped()
            return
        wait_s = gate.bucket.wait_s(1, now)
        if wait_s == 0:
            gate.bucket.take(1, now)
            self._deliver(stream_id, hint)
        else:
            gate.waiting = hint
            gate.timer = self._loop.call_later(wait_s, self._due, stream_id, gate)

    def forget(self, stream_id: str) -> None:
        """The stream is over, or has another connection."""
        gate = self._gates.pop(stream_id, None)
        if gate and gate.timer:
            gate.timer.cancel()

    def _due(self, stream_id: str, gate: _Gate) -> None:
        hint, gate.waiting, gate.timer = gate.waiting, None, None
        assert hint is not None, "the timer was set for it"
        gate.bucket.take(1, self._loop.time())
        self._deliver(stream_id, hint)
