"""
The adaptive controller: bank first, beautify second.

Speech is made faster than it is heard. It is banked at a low rung, well ahead of the listener,
and what the link has left makes better what is banked and not heard yet. So a tunnel in the
middle of a sentence costs nothing. Rungs follow the estimator's rate; what may be on the way
follows it too, because that is the time that a decision takes to reach the listener.
"""

from __future__ import annotations

from ..units import ticks_to_seconds
from .bank import Bank
from .controller import BANK, UPGRADE, Decision, Observation, Plan, Reason
from .estimate import Estimate
from .estimator import Estimator, Link
from .gate import PROBE_LEAD_S, Gate
from .ladder import Rung
from .policy import Policy
from .upgrades import Upgrades
from .window import PROBE_FRAMES, Window

RICH = 4.0
"""Capacity over the bank's need from which everything that is made is banked before anything is
made better: it then takes a quarter of the time that it lasts, at most. A guess."""

EASY = 2.0
"""Capacity over the need of bank and upgrade together from which the two are no rivals. A guess."""

URGENT_S = 0.5
"""Seconds of lead below which an upgrade under way goes before the bank, if that has more: what was
begun should not be interrupted. A guess."""

LOOK_S = 0.1
"""Seconds after which a silent network is looked at again while something is on the way."""

PROBE_BYTES = 5_000
"""Bytes on the way from which a probe waits: it shows what an idle link carries, in two messages."""

DOUBLES_S, MOST_DOUBLINGS = 1.0, 10
"""Seconds without a sign that the link is the limit in which twice as much of the bank may be on the
way, up to what its rung needs. Else a link that was slow is never found to be fast again where one
message more than may be on the way is needed to show it (PCM alone, after an outage). Guesses."""

ONCE = Reason("once", "the listener has no use for upgrades")


class Adaptive:
    """
    Args:
        policy: for this listener and engine (`Policy.for_listener`).
        level: conformance of the client; 0 has one track, which follows the rate.
        remembered: what an earlier utterance of the client learned of its link.
    """

    _early = False
    """Whether the first track may be told before there is anything to send."""

    def __init__(self, policy: Policy, level: int = 1, remembered: Estimate | None = None) -> None:
        self._policy, self._level = policy, level
        self._estimator = Estimator(policy, remembered)
        self._bank: Bank = Bank(policy)
        self._upgrades: Upgrades = Upgrades(policy)
        self._gate, self._window = Gate(policy), Window(policy)
        self.link = Link(False, False, policy.start_kbps, 0.0)
        """The link as it was seen last."""

    # ------------------------------------------------------------ what it learns

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
        """What to keep of the link for the client's next utterance; None when nothing is known of it."""
        return self._estimator.estimate()

    # ------------------------------------------------------------ what it decides

    def decide(self, seen: Observation) -> Decision:
        """What is sent next, and the plan that it is part of. `send` is False where nothing is."""
        self.link = link = self._estimator.look(seen.now)
        bank, policy = seen.layers[BANK], self._policy
        lead_s = ticks_to_seconds(bank.next_pts - seen.head)
        plan = self._plan(seen, link, lead_s)
        most_s = policy.level0_lead_s if self._level == 0 else policy.bank_lead_s
        due = bank.next_pts < seen.ready and lead_s < most_s
        piece = None
        if plan.upgrade is not None:
            probe = self._upgrades.probes if self._upgrades.probing else 0
            piece = self._window.piece(seen, link, plan.upgrade, probe)
        if plan.upgrade is not None and self._goes_on(seen, link, plan.upgrade):
            begin = seen.layers[UPGRADE].next_pts
            return self._send_upgrade(seen, link, plan, plan.upgrade, begin, seen.ready)
        if due and (piece is None or self._bank_is_first(seen, link, lead_s, piece[0])):
            return self._send_bank(seen, link, plan)
        if piece is not None and plan.upgrade is not None:
            return self._send_upgrade(seen, link, plan, plan.upgrade, *piece)
        return self._wait(seen, plan)

    def _plan(self, seen: Observation, link: Link, lead_s: float) -> Plan:
        """What each layer is sent at for now."""
        if self._level == 0 or seen.eager:
            rung = self._bank.by_rate(link, seen.now, held=not seen.eager)
            return Plan(rung, None, self._bank.reason, ONCE)
        rung = self._bank.choose(link, lead_s, seen.now)
        self._window.beneath.note(seen.layers[BANK], seen.head)
        banked = self._is_banked(seen, link, rung)
        closed = self._gate.closed(seen, link, lead_s, banked)
        if closed is not None:
            self._upgrades.close(closed, seen.now)
        else:
            complete, probes = seen.ended and banked, self._upgrades.probes
            reserve = 0.0 if complete else self._reserve(rung, lead_s)
            may_probe = complete or lead_s >= self._probe_lead_s(link)
            below = self._window.beneath.at(seen.head)
            self._upgrades.choose(link, below, reserve, may_probe, seen.now)
            if self._upgrades.probes != probes:
                self._estimator.expect(probe=True)
        return Plan(rung, self._upgrades.rung, self._bank.reason, self._upgrades.reason)

    def _reserve(self, rung: Rung, lead_s: float) -> float:
        """Of the link's rate, what the bank needs: to keep up, and nothing once it is far ahead."""
        safe_s = self._policy.safe_lead_s
        return rung.wire_kbps * min(1.0, max(0.0, 2.0 - lead_s / safe_s))

    def _probe_lead_s(self, link: Link) -> float:
        """Seconds of bank before a probe: twice what it takes if the link is no better than believed."""
        probe = self._policy.by_utility[0].message_bytes(PROBE_FRAMES)
        return max(PROBE_LEAD_S, 2 * probe / (125 * link.kbps)) if link.known else PROBE_LEAD_S

    def _is_banked(self, seen: Observation, link: Link, rung: Rung) -> bool:
        """Whether all that is made is banked, but for what goes out within a moment."""
        left_s = ticks_to_seconds(seen.ready - seen.layers[BANK].next_pts)
        return left_s * rung.wire_kbps <= self._policy.bank_queue_s * link.kbps

    def _goes_on(self, seen: Observation, link: Link, rung: Rung) -> bool:
        """
        Whether new speech is upgraded even before it is banked: everything so far is, there is next
        to nothing ahead of the listener, and the link carries both with ease. So an engine that is
        hardly faster than speech is not heard at a lower rung whenever a chunk of it comes.
        """
        upgrade, bank = seen.layers[UPGRADE], seen.layers[BANK]
        first_s = ticks_to_seconds(upgrade.next_pts - min(bank.next_pts, seen.head))
        new = 0 < bank.next_pts <= upgrade.next_pts < seen.ready and not self._upgrades.probing
        easy = link.kbps >= EASY * (rung.wire_kbps + self._bank.rung.wire_kbps)
        return new and easy and upgrade.rung == rung and first_s < URGENT_S

    def _bank_is_first(self, seen: Observation, link: Link, lead_s: float, begin: int) -> bool:
        """Whether the bank, which has something to send, goes before an upgrade from `begin` on."""
        upgrade = seen.layers[UPGRADE]
        ahead_s = ticks_to_seconds(upgrade.next_pts - seen.head)
        if begin == upgrade.next_pts and 0.0 < ahead_s < URGENT_S <= lead_s:
            return False
        rich = link.known and link.kbps >= RICH * self._bank.rung.wire_kbps
        return rich or lead_s < self._policy.safe_lead_s

    # ------------------------------------------------------------ decisions

    def _send_bank(self, seen: Observation, link: Link, plan: Plan) -> Decision:
        reach_s = 125 * (link.min_rtt_s + self._policy.bank_queue_s)
        grown = link.kbps * 2.0 ** min(link.limit_s / DOUBLES_S, MOST_DOUBLINGS)
        cap = reach_s * max(link.kbps, min(grown, plan.bank.wire_kbps))
        return Decision(
            BANK, plan.bank, seen.layers[BANK].next_pts, plan.bank_reason,
            outstanding_bytes=self._cap(cap, link), again_at=seen.now + LOOK_S, plan=plan,
            bundle=self._bundle(link, plan.bank) if self._level and plan.bank.codec == "opus" else 0,
        )  # fmt: skip

    def _bundle(self, link: Link, rung: Rung) -> int:
        """Frames of Opus that may share a message of the bank; 0: as many as usual."""
        return 0

    def _send_upgrade(
        self, seen: Observation, link: Link, plan: Plan, rung: Rung, begin: int, end: int
    ) -> Decision:
        cap = self._cap(rung.wire_kbps * 125 * (link.min_rtt_s + self._policy.upgrade_queue_s), link)
        return Decision(
            UPGRADE, rung, begin, plan.upgrade_reason, until=end,
            outstanding_bytes=PROBE_BYTES if self._upgrades.probing else cap,
            again_at=seen.now + LOOK_S, plan=plan,
        )  # fmt: skip

    def _wait(self, seen: Observation, plan: Plan) -> Decision:
        """Nothing to send now. What would be next is upgraded, or made, later: time alone may tell."""
        over = seen.ended and seen.head >= seen.ready
        idle = seen.paused and not seen.outstanding
        rank, rung = (UPGRADE, plan.upgrade) if plan.upgrade else (BANK, plan.bank)
        return Decision(
            rank, rung, seen.layers[rank].next_pts, plan.upgrade_reason, send=False,
            again_at=None if over or idle else seen.now + LOOK_S, plan=plan,
            early=self._early and rank == BANK,
        )  # fmt: skip

    def _cap(self, wanted: float, link: Link) -> int:
        policy = self._policy
        if self._gate.is_stale(link):
            return policy.opening_bytes
        return round(min(max(wanted, policy.least_outstanding_bytes), policy.most_outstanding_bytes))
