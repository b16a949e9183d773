"""
What all rate-adaptive baselines share: one track, sent well ahead of the listener.

Each cuts speech into pieces, as video is cut into chunks, and chooses a rung for a piece when it
begins. All see the very estimate of the link that the product has, and pace as it does, so that
what is compared is the rule and not the measuring. None sends anything twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from ...control.controller import BANK, Decision, Observation, Reason
from ...control.estimator import Estimate, Estimator, Link
from ...control.ladder import Rung
from ...control.policy import Policy
from ...units import seconds_to_ticks, ticks_to_seconds


class Moment(NamedTuple):
    """
    What a rule looks at when a piece begins.

    Args:
        link: as the product's estimator sees it.
        held_s: seconds that the listener is known to hold.
        ahead_s: the same with what is on its way.
        outstanding: bytes on their way.
        now: seconds.
        rung: of the piece before; None at the first.
        heard: the listener has begun to hear.
    """

    link: Link
    held_s: float
    ahead_s: float
    outstanding: int
    now: float
    rung: Rung | None
    heard: bool


class Ahead(ABC):
    """
    Args:
        policy: ladder and utility, fitted to the listener; how the link is measured and paced.
        remembered: what an earlier utterance of the client learned of its link.
    """

    piece_s = 0.5
    """Seconds of speech that are sent at one rung at least: an eleventh of a median utterance, as a chunk
    of 4 s is a small part of a film."""

    def __init__(self, policy: Policy, remembered: Estimate | None = None) -> None:
        self._policy = policy
        self._estimator = Estimator(policy, remembered)
        self._rungs = _worthwhile(policy)
        self._rung: Rung | None = None
        self._reason = Reason("start", "nothing was sent yet")
        self._piece_end = 0

    # ------------------------------------------------------------ the rule

    @abstractmethod
    def choose(self, moment: Moment) -> tuple[Rung, Reason]:
        """The rung of the piece that begins, and why."""

    @property
    def rungs(self) -> tuple[Rung, ...]:
        """What it chooses from: the cheapest first, each better than all before it."""
        return self._rungs

    @property
    def upper(self) -> tuple[Rung, ...]:
        """
        The same from the policy's bank up, for rules that are blind to the rate: each utterance begins
        with an empty buffer, and what is below the bank costs most links more than it saves.
        """
        return tuple(rung for rung in self._rungs if rung.wire_kbps >= self._policy.bank.wire_kbps)

    # ------------------------------------------------------------ a controller that learns

    def on_sent(self, size: int, own: bool, now: float) -> None:
        """A message of `size` payload bytes went to the socket; not `own`: of something else."""
        self._estimator.on_sent(size, own, now)

    def on_received(self, total: int, rtt_ms: float, now: float) -> None:
        """The listener has `total` payload bytes; a round trip of -1 is not known."""
        self._estimator.on_received(total, rtt_ms, now)

    def on_kernel(self, queued: int, min_rtt_ms: float, now: float) -> None:
        """The next hop has not acknowledged `queued` bytes; a round trip of -1 is not known."""
        self._estimator.on_kernel(queued, min_rtt_ms, now)

    def estimate(self, now: float) -> Estimate | None:
        """What to keep of the link for the client's next utterance."""
        return self._estimator.estimate()

    def decide(self, seen: Observation) -> Decision | None:
        """The next frames of the one track."""
        pts = seen.layers[BANK].next_pts
        link = self._estimator.look(seen.now)
        if pts >= seen.ready:
            return None
        cap = self._cap(link)
        if self._rung is None or (pts >= self._piece_end and seen.outstanding < cap):
            held_s = ticks_to_seconds(max(0, seen.layers[BANK].received - seen.head))
            ahead_s = ticks_to_seconds(pts - seen.head)
            heard = seen.played > 0
            moment = Moment(link, held_s, ahead_s, seen.outstanding, seen.now, self._rung, heard)
            self._rung, self._reason = self.choose(moment)
            self._piece_end = pts + seconds_to_ticks(self.piece_s)
            cap = self._cap(link)
        return Decision(BANK, self._rung, pts, self._reason, outstanding_bytes=cap)

    def _cap(self, link: Link) -> int:
        """Bytes on the way: what the link carries in a round trip and a little, so that choices are late."""
        policy = self._policy
        if not link.known:
            return policy.opening_bytes
        wanted = 125 * link.kbps * (link.min_rtt_s + policy.bank_queue_s)
        return round(min(max(wanted, policy.least_outstanding_bytes), policy.most_outstanding_bytes))


def _worthwhile(policy: Policy) -> tuple[Rung, ...]:
    """The ladder without what costs more than something at least as good."""
    kept: list[Rung] = []
    for rung in sorted(policy.rungs, key=lambda r: (r.wire_kbps, -policy.utility(r))):
        if not kept or policy.utility(rung) > policy.utility(kept[-1]):
            kept.append(rung)
    return tuple(kept)


def fitting(rungs: tuple[Rung, ...], kbps: float) -> Rung:
    """The best of `rungs`, cheapest first, that `kbps` carries; the cheapest if none."""
    return next((rung for rung in reversed(rungs) if rung.wire_kbps <= kbps), rungs[0])
