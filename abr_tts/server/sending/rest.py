"""
The rest of a listener after speech: its link is probed, and what that tells is kept for the next speech.

What a probe says is decided by `control.idle_probe`; here are its timer and its connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ...control.idle_probe import IdleProbe
from ...control.policy import Policy
from ..access.auth import Caller
from ..rollout.policies import LinkMemory


class Rest:
    """
    Args:
        send: sends a ping with so many bytes of padding on a connection that is idle; its value and payload
            bytes, or (0, 0) where none can be sent now.
        memory: what is known of each client's link.
        caller: whose link it is.
    """

    def __init__(self, send: Callable[[int], tuple[int, int]], memory: LinkMemory, caller: Caller) -> None:
        self._send, self._memory, self._caller = send, memory, caller
        self._loop = asyncio.get_running_loop()
        self._policy: Policy | None = None
        self._probe: IdleProbe | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, policy: Policy) -> None:
        """The last speech is over; `policy` was its own."""
        self.end()
        now = self._loop.time()
        self._policy = policy
        self._probe = IdleProbe.begin(policy, self._memory.recall(policy, self._caller, now), now)
        self._arm()

    def end(self) -> None:
        """Speech begins, or the connection is gone."""
        if self._timer:
            self._timer.cancel()
        if self._probe is not None and self._policy is not None:
            self._memory.keep(self._policy, self._caller, self._probe.estimate(self._loop.time()))
        self._probe = self._timer = None

    def answered(self, value: int) -> None:
        """A pong came."""
        if self._probe is not None:
            self._probe.answered(value, self._loop.time())

    def _arm(self) -> None:
        due = self._probe.get_timer() if self._probe is not None else None
        self._timer = None if due is None else self._loop.call_at(due, self._on_timer)

    def _on_timer(self) -> None:
        probe, now = self._probe, self._loop.time()
        if probe is not None and probe.is_due(now):
            value, size = self._send(probe.padding)
            if size:
                probe.sent(value, size, now)
        self._arm()
