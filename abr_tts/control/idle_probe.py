"""
Probes of a link on which nobody speaks: what it carries now, for the next utterance's first choice.

What was learned of a mobile link is worth little some seconds later, and an utterance's first choice costs
most where it is wrong (README, "Where the rest is lost"). So while a listener rests, a `ping` with some
padding goes out now and then; how much later than on an idle path its `pong` comes is a sample. As in
WebRTC's probing of application-limited senders, a probe is small, seldom, and ends soon: it costs bytes and
keeps a radio awake. It must not know sockets; time is an argument.
"""

from __future__ import annotations

from .acks import BUSY_SLACK_S, LEAST_SPAN_S, TELLING_S, Sample
from .belief import Belief
from .estimate import Estimate
from .estimator import TRIP_ERROR_S, Capacity
from .ewma import Rate
from .ladder import wire_bytes
from .policy import Policy

FIRST_S, EVERY_S = 0.5, 2.0
"""Seconds from the end of an utterance to the first probe, and between two. Of 0.5 and 1; of 1, 1.5, 2 and 3:
where there are more, more utterances begin behind one (seeds 1 to 3, all recordings)."""

LAST_S = 12.0
"""Seconds of rest after which no more are sent: twice the longest turn of the simulated listener. A guess."""


class IdleProbe:
    """
    One rest of one listener.

    Args:
        policy: how the link is estimated, and how large a probe is (`begin` asks it whether there is any).
        remembered: what the last utterance learned.
        now: seconds, when the rest began.
    """

    def __init__(self, policy: Policy, remembered: Estimate, now: float) -> None:
        self._capacity: Capacity = (
            Belief(policy.start_kbps)
            if policy.controller == "strong"
            else Rate(policy.fast_half_life_s, policy.slow_half_life_s)
        )
        self._capacity.recall(remembered, now)
        self._kept = remembered
        self.padding = policy.idle_probe_bytes
        """Bytes of padding of each ping."""
        self._next, self._last = now + FIRST_S, now + LAST_S
        self._on_the_way: tuple[int, int, float] | None = None

    @classmethod
    def begin(cls, policy: Policy, remembered: Estimate | None, now: float) -> IdleProbe | None:
        """For a rest that begins now; None: the policy wants no probes, or nothing is known of the link."""
        if not policy.idle_probe_bytes or remembered is None:
            return None
        return cls(policy, remembered, now)

    def get_timer(self) -> float | None:
        """When `is_due` is to be asked next; None when no more are sent."""
        return self._next if self._next <= self._last else None

    def is_due(self, now: float) -> bool:
        """Whether one is to be sent now; the answer to an earlier one is waited for."""
        if now < self._next:
            return False
        self._next = now + EVERY_S
        return self._on_the_way is None

    def sent(self, value: int, size: int, now: float) -> None:
        """A ping of this value and of `size` payload bytes went out on an idle connection."""
        self._on_the_way = value, wire_bytes(size), now

    def answered(self, value: int, now: float) -> None:
        """A pong came; one that answers no probe says nothing."""
        if self._on_the_way is None or self._on_the_way[0] != value:
            return
        _, wire, at = self._on_the_way
        self._on_the_way = None
        rtt_s = self._kept.min_rtt_s
        seconds = max(LEAST_SPAN_S, now - at - max(0.0, rtt_s - TRIP_ERROR_S))
        # Where the round trip is not known, all of it may be the path's and none of it the link's.
        exact = rtt_s > 0.0 and seconds > BUSY_SLACK_S + TRIP_ERROR_S
        self._learn(Sample(wire * 8 / 1000 / seconds, seconds, exact), now)

    def estimate(self, now: float) -> Estimate:
        """What to keep; a probe that is overdue bounds what the link carries."""
        if self._on_the_way is not None:
            _, wire, at = self._on_the_way
            waited = now - at - self._kept.min_rtt_s
            if waited >= TELLING_S:
                self._learn(Sample(0.0, waited, False, wire * 8 / 1000 / waited), now)
        return self._kept

    def _learn(self, sample: Sample, now: float) -> None:
        self._capacity.add(sample, now)
        self._kept = self._capacity.keep(self._kept.min_rtt_s) or self._kept
