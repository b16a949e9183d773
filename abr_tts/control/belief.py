"""
What the link may carry, as chances: a filter over steps of capacity, a third of an octave each.

A sample at the link's limit makes the steps near it likely; a lower bound makes those below it
unlikely and says nothing of those above; time spreads what was known, and brings it back to what
is usual for this listener, which is learned more slowly. So a rate that is remembered, guessed or
bounded on one side only is never taken for one that was measured. It must not know rungs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from .acks import Sample
from .estimate import Estimate

LOWEST_KBPS, STEPS_AN_OCTAVE, STEPS = 8.0, 3, 28
"""Capacities: 8 kbit/s, which carries next to nothing, to 4 Mbit/s, which carries everything."""

GRID = tuple(LOWEST_KBPS * 2 ** (step / STEPS_AN_OCTAVE) for step in range(STEPS))
"""The steps, kbit/s."""

SPREAD_OCTAVES = 2.0
"""Of links that nothing is known of, around the policy's guess: standard deviation. Of the half
seconds of recorded 3G half lie between half and twice the median, and a tenth below a sixth of it."""

WANDER = 0.8
"""Steps a second, up or down: 0.3 octaves a second. Recorded wired links change by that (0.26), recorded
3G and LTE by 0.8 to 0.9, but mostly in jumps. Of 0.8 and 1.8 the better one (half of the recordings)."""

JUMP = 0.05
"""Jumps a second, to what is usual for the listener: what is known of a mobile link is worth little after
ten to thirty seconds (the same recordings). Of 0.05 and 0.1 the better one."""

USUAL_S = 60.0
"""Seconds over which what is usual is learned: some utterances. A guess."""

STRIDE_S, LONGEST_S = 0.25, 2.0
"""Time passes in strides of this length; beyond so many seconds only jumps are counted, since a link
that has wandered for long is where it usually is."""

SAMPLE_OCTAVES, SAMPLE_S = 0.3, 0.15
"""Error of a sample that covers so many seconds: standard deviation; it falls with the root of the
time. Reports come every 100 ms and count whole messages (as seen behind the demonstration's relay)."""

SURE_OCTAVES = 0.15
"""Least error, however long a sample is."""

DOUBT, SURE_S = 0.02, 0.45
"""Likelihood of a step that a sample rules out, since samples are wrong now and then: of a usual
one, and of one that is as long as this, its cube. Guesses."""

ANY = 0.05
"""Of the jumps, the share that goes anywhere: what is usual was seen in a minute only. Of
0.05 and 0.2 the better one (half of the recordings)."""

STRANGE = 1e-2
"""Added to the usual chance of each step when it is asked how far a link wanders: none is barred. A guess."""

MOST_HOP = 0.4
"""Chance of a hop, up or down, in one stride when looking ahead: both together must stay below 1."""


class Belief:
    """
    Takes the place of `ewma.Rate`.

    Args:
        start_kbps: the middle of what is believed of a link that nothing is known of.
    """

    def __init__(self, start_kbps: float) -> None:
        self._usual = self._chances = _normal(start_kbps)
        self._median: float | None = None
        self._at: float | None = None
        self.known = False
        """Something was measured or remembered."""
        self.firm = False
        """The limit was seen, in this utterance or before."""
        self.told_at = self.limit_at = float("-inf")
        """When a sample last said something; when the link was last seen to be the limit."""
        self.probed = False

    # ------------------------------------------------------------ what it is told

    def recall(self, remembered: Estimate, now: float) -> None:
        """Begin with what was kept, by whatever kept it."""
        if len(remembered.chances) == len(remembered.usual) == STEPS:
            self._chances, self._usual = remembered.chances, remembered.usual
            self._median = None
        else:
            self.add(Sample(remembered.kbps, SAMPLE_S, remembered.firm), remembered.at)
        self.known, self.firm, self.told_at, self._at = True, remembered.firm, remembered.at, remembered.at

    def keep(self, min_rtt_s: float) -> Estimate | None:
        """What to keep for the client's next utterance; None when nothing is known."""
        if not self.known:
            return None
        return Estimate(
            self.median, min_rtt_s, self.told_at, self.firm, self._chances, self._usual
        )  # fmt: skip

    def add(self, sample: Sample, now: float) -> None:
        """A sample."""
        self.pass_time(now)
        error = max(SURE_OCTAVES, SAMPLE_OCTAVES * math.sqrt(SAMPLE_S / max(sample.seconds, 0.01)))
        low, high = _place(sample.kbps), _place(sample.kbps if sample.exact else sample.most_kbps)
        scale = 1 / (STEPS_AN_OCTAVE * error)
        doubt = DOUBT ** (min(max(sample.seconds, SAMPLE_S), SURE_S) / SAMPLE_S)
        # The first step stands for all that is less, else what is less would speak against every step alike.
        lowest, highest = max(low, 0.0), max(high, 0.0)
        likely = [doubt + _bell(max(lowest - step, step - highest, 0.0) * scale) for step in range(STEPS)]
        self._median = None
        self._chances = _scaled([a * b for a, b in zip(self._chances, likely, strict=True)])
        self.known, self.told_at = True, now
        if high < STEPS:
            self.firm, self.limit_at = True, now

    def pass_time(self, now: float) -> None:
        """Spread what was believed over the time since."""
        if self._at is None:
            self._at = now
        seconds = now - self._at
        if seconds < STRIDE_S:
            return
        self._at = now
        self._learn(seconds)
        gone = 1 - math.exp(-JUMP * seconds)
        anywhere = gone * ANY / STEPS
        jumped = [
            (1 - gone) * one + gone * (1 - ANY) * usual + anywhere
            for one, usual in zip(self._chances, self._usual, strict=True)
        ]
        left = min(seconds, LONGEST_S)
        up, down = self._ways()
        while left > 0:
            jumped = _wandered(jumped, WANDER * min(left, STRIDE_S) / 2, up, down)
            left -= STRIDE_S
        self._chances, self._median = tuple(jumped), None

    def _learn(self, seconds: float) -> None:
        """What was believed in this time is a part of what is usual."""
        if self.known:
            share = 1 - math.exp(-min(seconds, LONGEST_S) / USUAL_S)
            self._usual = tuple(
                usual + share * (one - usual) for one, usual in zip(self._chances, self._usual, strict=True)
            )

    # ------------------------------------------------------------ what it believes

    @property
    def chances(self) -> tuple[float, ...]:
        """Of each step; they sum to 1."""
        return self._chances

    @property
    def usual(self) -> tuple[float, ...]:
        """The same for any time."""
        return self._usual

    @property
    def kbps(self) -> float | None:
        """The median; None before there is anything to go by."""
        return self.median if self.known else None

    @property
    def median(self) -> float:
        """The capacity that it has an even chance to carry."""
        if self._median is None:
            self._median = self.quantile(0.5)
        return self._median

    def quantile(self, share: float) -> float:
        """The capacity, kbit/s, that the link falls short of with the chance `share`."""
        total = 0.0
        for step, one in enumerate(self._chances):
            if total + one >= share:
                inside = (share - total) / one if one else 0.5
                return LOWEST_KBPS * 2 ** ((step - 0.5 + inside) / STEPS_AN_OCTAVE)
            total += one
        return GRID[-1]

    def soon(self, in_s: float) -> list[float]:
        """The chances some seconds from now, if nothing is learned until then."""
        gone = 1 - math.exp(-JUMP * in_s)
        stays, goes, any_ = 1 - gone, gone * (1 - ANY), gone * ANY / STEPS
        soon = [
            stays * one + goes * usual + any_ for one, usual in zip(self._chances, self._usual, strict=True)
        ]
        hops = WANDER * in_s / 2
        count = math.ceil(hops / MOST_HOP)
        up, down = self._ways()
        for _ in range(count):
            soon = _wandered(soon, hops / count, up, down)
        return soon

    def _ways(self) -> tuple[list[float], list[float]]:
        """
        By step, the share of hops up and of hops down that are made: a link seldom wanders to where it is
        not usually. So left alone it is where it is usually (Metropolis' rule).
        """
        usual = [one + STRANGE for one in self._usual]
        up = [min(1.0, above / here) for here, above in pairwise(usual)]
        down = [min(1.0, below / here) for below, here in pairwise(usual)]
        return [*up, 0.0], [0.0, *down]

    def carries(self, kbps: float, in_s: float = 0.0) -> float:
        """The chance that the link carries `kbps`, now or (by jumps alone) some seconds from now."""
        now = _above(self._chances, kbps)
        if not in_s:
            return now
        gone = 1 - math.exp(-JUMP * in_s)
        any_ = (1 - ANY) * _above(self._usual, kbps) + ANY * _above(EVEN, kbps)
        return (1 - gone) * now + gone * any_


EVEN = (1 / STEPS,) * STEPS
"""Chances of a link that may carry anything."""


def _above(chances: Sequence[float], kbps: float) -> float:
    place = _place(kbps) + 0.5
    first = math.floor(place)
    if first < 0:
        return 1.0
    if first >= STEPS:
        return 0.0
    return sum(chances[first + 1 :]) + chances[first] * (1 - (place - first))


def _place(kbps: float) -> float:
    """Where on the grid; beyond its end there is no telling apart."""
    return math.log2(max(kbps, 1.0) / LOWEST_KBPS) * STEPS_AN_OCTAVE if kbps < math.inf else math.inf


def _bell(x: float) -> float:
    return math.exp(-0.5 * x * x)


def _normal(middle_kbps: float) -> tuple[float, ...]:
    return _scaled([math.exp(-0.5 * (math.log2(kbps / middle_kbps) / SPREAD_OCTAVES) ** 2) for kbps in GRID])


def _scaled(weights: Sequence[float]) -> tuple[float, ...]:
    total = sum(weights)
    return tuple(one / total for one in weights)


def _wandered(
    chances: Sequence[float], hop: float, up: Sequence[float], down: Sequence[float]
) -> list[float]:
    """After each has gone a step up and a step down with the chance `hop` each, so far as that is made."""
    rises = [hop * one * way for one, way in zip(chances, up, strict=True)]
    falls = [hop * one * way for one, way in zip(chances, down, strict=True)]
    from_below, from_above = [0.0, *rises[:-1]], [*falls[1:], 0.0]
    return [
        one - rise - fall + below + above
        for one, rise, fall, below, above in zip(chances, rises, falls, from_below, from_above, strict=True)
    ]
