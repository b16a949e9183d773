"""
The strong controller: bank first, beautify second, by chances.

It keeps the frame of the adaptive controller and replaces what guesses. What the link carries is a
distribution (`belief`) that is kept across utterances; the bank's rung is the one that is worth most
over all that the link may carry soon (`prudence`); an upgrade is worth what it adds for as long as it will be
heard, times the chance that the link carries it, less what changing costs and what is lost when it
fails (`worth`). A choice stands for 0.3 s unless the link falls below it.
"""

from __future__ import annotations

from ..units import FRAME_TICKS, ticks_to_seconds
from .adaptive import URGENT_S, Adaptive
from .belief import Belief
from .chance import Chance
from .controller import BANK, BUNDLE, UPGRADE, Observation, Plan, Reason
from .estimate import Estimate
from .estimator import Estimator, Link
from .ladder import Rung
from .policy import Policy
from .prudence import Prudence
from .trial import Trial
from .worth import Stake, Worth

EVERY_S = 0.3
"""Seconds that a choice stands: three reports. Nothing is gained by choosing anew on the same news."""

MADE_S = 3.0
"""Seconds of speech that are counted on while the engine may make more. A guess: a sentence."""

THIN_BUNDLE = 33
"""As BUNDLE, on a link that does not carry the bank's rung: three full messages go at once (11 packets each,
protocol), so that it has something to carry until the next report. Of 10, 22, 33 and 40 (half)."""

LATE_LEAD_S, LIGHT_KBPS, HEAVY_LATE_S = 3.0, 128.0, 0.18
"""Seconds of bank from which upgrades go on though something is late, since to break off is heard: at
rungs below this rate (all Opus, no PCM) however late it is, at others up to so many seconds. Guesses."""


class Strong(Adaptive):
    """See `Adaptive` for the arguments."""

    _early = True

    def __init__(self, policy: Policy, level: int = 1, remembered: Estimate | None = None) -> None:
        super().__init__(policy, level, remembered)
        self._belief = Belief(policy.start_kbps)
        self._estimator = Estimator(policy, remembered, self._belief)
        self._bank = self._prudence = Prudence(policy)
        self._worth = Worth(policy)
        self._trial = Trial(policy, self._upgrades)
        self._chosen_at = float("-inf")

    def _plan(self, seen: Observation, link: Link, lead_s: float) -> Plan:
        """What each layer is sent at for now."""
        if self._level == 0 or seen.eager:
            return super()._plan(seen, link, lead_s)
        self._belief.pass_time(seen.now)
        chance = Chance(self._belief, link)
        rung = self._prudence.lay(chance, seen, lead_s)
        self._window.beneath.note(seen.layers[BANK], seen.head)
        banked = self._is_banked(seen, link, rung)
        complete = banked and seen.ended
        closed = self._closed(seen, link, lead_s, banked, complete)
        if closed is not None:
            self._worth.close(closed)
            self._chosen_at = float("-inf")
        elif self._is_time(seen, link):
            self._chosen_at = seen.now
            self._worth.choose(chance, self._stake(seen, chance, rung, lead_s, complete))
        if closed is None and self._worth.reason.code == "scarce":
            if self._trial.is_on(seen, link, lead_s):
                return Plan(rung, self._policy.by_utility[0], self._prudence.reason, self._trial.reason)
        else:
            self._trial.stop(self._worth.rung is not None)
        return Plan(rung, self._worth.rung, self._prudence.reason, self._worth.reason)

    def _closed(
        self, seen: Observation, link: Link, lead_s: float, banked: bool, complete: bool
    ) -> Reason | None:
        """Why no upgrade may be sent; what is late harms nobody while enough is banked."""
        reason = self._gate.closed(seen, link, lead_s, banked)
        rung = self._worth.rung
        light = rung is None or rung.wire_kbps < LIGHT_KBPS or link.late_s < HEAVY_LATE_S
        safe = light and (complete or lead_s >= LATE_LEAD_S)
        return None if safe and reason is not None and reason.code == "late" else reason

    def _bank_is_first(self, seen: Observation, link: Link, lead_s: float, begin: int) -> bool:
        """As in `Adaptive`, and on a thin link until more is banked: upgrades can wait, a fade does not."""
        upgrade = seen.layers[UPGRADE]
        ahead_s = ticks_to_seconds(upgrade.next_pts - seen.head)
        if begin == upgrade.next_pts and 0.0 < ahead_s < URGENT_S <= lead_s:
            return False
        return lead_s < self._policy.outage_lead_s or super()._bank_is_first(seen, link, lead_s, begin)

    def _bundle(self, link: Link, rung: Rung) -> int:
        return THIN_BUNDLE if link.known and link.kbps < rung.wire_kbps else BUNDLE

    def _cap(self, wanted: float, link: Link) -> int:
        """
        As in `Adaptive`, and no more than has arrived in this utterance, or half an opening burst.

        A link may have died since the last utterance: what is sent before that shows has to drain first,
        and nothing can be heard meanwhile.
        """
        return min(super()._cap(wanted, link), max(self._policy.opening_bytes // 2, link.heard_bytes))

    def _is_time(self, seen: Observation, link: Link) -> bool:
        """Whether to choose anew: a choice has stood for long, or the link falls below it."""
        rung = self._worth.rung
        falls = rung is not None and link.kbps < rung.wire_kbps
        return falls or seen.now - self._chosen_at >= EVERY_S

    def _stake(self, seen: Observation, chance: Chance, rung: Rung, lead_s: float, complete: bool) -> Stake:
        left_s = ticks_to_seconds(seen.ready - seen.head)
        faded = seen.layers[UPGRADE].next_pts - FRAME_TICKS  # the last frame is a fade into what follows
        below = self._window.beneath.at(max(seen.head, faded))
        if complete:
            return Stake(below, 0.0, left_s, 0.0)
        peril = max(0.0, 1.0 - lead_s / self._policy.outage_lead_s) * chance.dies()
        return Stake(below, self._reserve(rung, lead_s), max(left_s, MADE_S), peril)
