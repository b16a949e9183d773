"""
The window of upgrades: which part of what is banked is worth sending again, and still in time.

From just ahead of the listener to as far ahead as the policy says, in bursts, since single
messages do not show what the link carries. It must not know why a rung was chosen.
"""

from __future__ import annotations

from collections import deque

from ..units import FRAME_TICKS, seconds_to_ticks
from .controller import BANK, UPGRADE, Layer, Observation
from .estimator import Link
from .ladder import Rung
from .policy import Policy

BURST_S = 1.0
"""Seconds of speech by which upgrades fall back before they go on; at most a quarter of their lead.
A guess."""

MODEST_LEAD_S = 2.5
"""Seconds ahead of the listener that upgrades go while a better rung may still come. A guess."""

MARGIN_S, START_MARGIN_S = 0.06, 0.3
"""Beyond the time that it travels, how long before it is heard an upgrade should arrive: three
frames of the player's clock and jitter; and where a new one begins, more, the less the link has to
spare, so that what was begun is not interrupted. Guesses."""

PROBE_FRAMES = 9
"""Frames of a probe: one less than the player needs to take it (rule 3), so that it is not heard
unless it is followed."""

SHORT_LEAD_S = 0.5
"""Seconds ahead of the listener below which an upgrade takes what is there, and does not wait until
that fills a message: the engine may be slow. A guess."""

CHANGE, CHANGE_EVENT = 0.25, 0.02
"""Seconds of perfect speech that a change of what is heard costs: by the step in utility, and for
happening at all (the quality of experience that the simulator scores with)."""


class Beneath:
    """
    At which rung the bank was sent, by pts: what an upgrade there must beat.

    Args:
        rung: that it will be sent at first.
    """

    def __init__(self, rung: Rung) -> None:
        self._runs: deque[tuple[int, Rung]] = deque([(0, rung)])
        self._sent = 0

    def note(self, layer: Layer, head: int) -> None:
        """The bank as it is now; what lies before `head` is forgotten."""
        if layer.rung is not None and layer.rung != self._runs[-1][1]:
            self._runs.append((self._sent, layer.rung))
        self._sent = layer.next_pts
        while len(self._runs) > 1 and self._runs[1][0] <= head:
            self._runs.popleft()

    def at(self, pts: int) -> Rung:
        """The rung beneath the frame at `pts`."""
        return next((rung for at, rung in reversed(self._runs) if at <= pts), self._runs[0][1])

    def changes(self, begin: int) -> list[tuple[int, Rung]]:
        """(pts, rung) of each change after `begin`."""
        return [(at, rung) for at, rung in self._runs if at > begin]


class Window:
    """What an upgrade may carry next; it remembers whether a burst is under way."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.beneath = Beneath(policy.bank)
        self._filling = False
        self._probe, self._probe_end = 0, 0

    def piece(self, seen: Observation, link: Link, rung: Rung, probe: int) -> tuple[int, int] | None:
        """
        Pts from and to which an upgrade at `rung` may go now; None: there is nothing for it yet.

        Args:
            probe: the number of the probe that it is for; 0: it is none.
        """
        probing = probe > 0
        layer, banked = seen.layers[UPGRADE], seen.layers[BANK].next_pts
        begin = self._in_time(seen, link, rung, probing)
        follows = layer.rung is not None and begin <= layer.next_pts
        if not follows and not probing:
            load = (rung.wire_kbps + self._policy.bank.wire_kbps) / max(link.kbps, 1.0)
            begin += self._frames(START_MARGIN_S * min(1.0, load) ** 2)
        begin = max(begin, layer.next_pts)
        end = min(self._gains_until(rung, begin, banked), self._horizon(seen.head, rung))
        if probing:
            if probe != self._probe:
                self._probe, self._probe_end = probe, begin + PROBE_FRAMES * FRAME_TICKS
            end = min(end, self._probe_end)
        self._filling = end - begin >= self._least(seen, rung, begin, end, follows, probing)
        return (begin, end) if self._filling else None

    def _in_time(self, seen: Observation, link: Link, rung: Rung, probing: bool) -> int:
        """The first frame that an upgrade sent now would reach in time."""
        kbps = rung.wire_kbps if probing else link.kbps
        size = seen.outstanding + rung.message_bytes(rung.frames_per_message)
        travel_s = link.min_rtt_s / 2 + size / (125 * max(kbps, 1.0))
        return -(-seen.head // FRAME_TICKS) * FRAME_TICKS + self._frames(travel_s + MARGIN_S)

    @staticmethod
    def _frames(seconds: float) -> int:
        """Ticks of whole frames that last `seconds` or a little longer."""
        return -(-seconds_to_ticks(seconds) // FRAME_TICKS) * FRAME_TICKS

    def _horizon(self, head: int, rung: Rung) -> int:
        return (head + seconds_to_ticks(self._lead_s(rung))) // FRAME_TICKS * FRAME_TICKS

    def _lead_s(self, rung: Rung) -> float:
        """How far ahead upgrades go: less where a better rung may still come."""
        most = self._policy.upgrade_lead_s
        return most if rung == self._policy.by_utility[0] else min(MODEST_LEAD_S, most)

    def _gains_until(self, rung: Rung, begin: int, end: int) -> int:
        """Where the bank beneath would first be no worse than `rung`: after a frame of it, for the fade."""
        changes = self.beneath.changes(begin)
        better = (at + FRAME_TICKS for at, below in changes if at < end and self._gain(rung, below) <= 0)
        return next(better, end)

    def _gain(self, rung: Rung, below: Rung) -> float:
        return self._policy.utility(rung) - self._policy.utility(below)

    def _least(
        self, seen: Observation, rung: Rung, begin: int, end: int, follows: bool, probing: bool
    ) -> int:
        """Ticks below which nothing is sent."""
        message = rung.frames_per_message * FRAME_TICKS
        if probing:
            return min(message, max(1, PROBE_FRAMES - rung.frames_per_message) * FRAME_TICKS)
        if not follows:
            return max(message, self._worthwhile(rung, self.beneath.at(begin)))
        short = begin - seen.head < seconds_to_ticks(SHORT_LEAD_S)
        if end == seen.layers[BANK].next_pts and (short or (seen.ended and end >= seen.ready)):
            return FRAME_TICKS
        if end > begin and any(at + FRAME_TICKS == end for at, _ in self.beneath.changes(begin)):
            return FRAME_TICKS  # what lies beneath is as good from there on: nothing worse is left between
        if not self._filling and end < seen.layers[BANK].next_pts:
            return seconds_to_ticks(min(BURST_S, self._lead_s(rung) / 4))
        return message

    def _worthwhile(self, rung: Rung, below: Rung) -> int:
        """
        Ticks of upgraded speech that make good for the two changes that are heard; no more than half of the
        policy's lead, or a rung that is tried after an outage never fits between what is in time and its end.
        """
        gain = max(self._gain(rung, below), self._policy.least_gain)
        seconds = 2 * (CHANGE_EVENT + CHANGE * gain) / gain
        return seconds_to_ticks(min(seconds, self._policy.upgrade_lead_s / 2))
