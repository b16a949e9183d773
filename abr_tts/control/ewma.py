"""
Averages that forget, weighted by the time that each sample covers.

A quick and a slow one side by side, of which the smaller rules: down at once, up with patience
(shaka-player, lib/abr/ewma_bandwidth_estimator.js).
"""

from __future__ import annotations

from collections import deque

from .acks import Sample
from .estimate import Estimate

MOST_S = 2.0
"""Most time that a lower bound stands for: what was known before a silence is still worth something
after it. A guess."""

MOST_EXACT_S = 0.5
"""Most time that an exact sample stands for: an outage is not a rate. A guess."""

PROBE_S = 0.5
"""Seconds of samples that the answer to a probe counts for; what was believed before is dropped, since
nothing had confirmed it for long. A guess."""

CUT_SHARE, CUT_S = 0.7, 0.3
"""When the link has carried less than this share of what was believed for so long, what was
believed is dropped: the first sign of a fall (measured: 0.15 to 0.3 s)."""

LEAST_S = 0.05
"""Least time that a sample stands for: both clocks may tick at once. Half a report's period."""

REMEMBERED_S = 2.0
"""Seconds of samples that a rate remembered a moment ago counts for. A guess."""

DOUBT_S = 240.0
"""Half-life of the trust in a remembered rate: it weighs less the older it is, and less is
expected of it. A guess; recorded networks change within minutes."""


class Ewma:
    """
    What it starts from counts as so many seconds of samples, or as nothing: then the first
    sample is the average.

    Args:
        half_life_s: seconds of samples after which what was before weighs half.
    """

    def __init__(self, half_life_s: float) -> None:
        self._half_life = half_life_s
        self._sum = self._weight = 0.0

    @property
    def value(self) -> float | None:
        """The average; None before there is anything to average."""
        return self._sum / self._weight if self._weight else None

    def start(self, value: float, seconds: float) -> None:
        """Forget everything; `value` counts as `seconds` of samples."""
        self._weight = 1 - 0.5 ** (seconds / self._half_life)
        self._sum = value * self._weight

    def add(self, value: float, seconds: float) -> None:
        """A sample that covers `seconds`."""
        keep = 0.5 ** (seconds / self._half_life)
        self._sum = self._sum * keep + value * (1 - keep)
        self._weight = self._weight * keep + 1 - keep


class Rate:
    """
    What the link carries. A lower bound only ever raises what was believed; before the link's
    limit was seen (in this utterance or an earlier one), the greatest of them is all that is known.
    """

    def __init__(self, fast_half_life_s: float, slow_half_life_s: float) -> None:
        self._averages = Ewma(fast_half_life_s), Ewma(slow_half_life_s)
        self._falling: deque[tuple[float, Sample]] = deque()
        self.kbps: float | None = None
        """The smaller of the two averages; None before the first sample."""
        self.firm = False
        """The limit was seen."""
        self.told_at = float("-inf")
        """When a sample last said something."""
        self.limit_at = float("-inf")
        """When the link was last seen to be the limit."""
        self.probed = False
        """The next sample that is news answers a probe."""

    def start(self, kbps: float, seconds: float, firm: bool, at: float) -> None:
        """Begin with what was known `at` some time, as if it had been seen for `seconds`."""
        self.firm, self.told_at = firm, at
        for average in self._averages:
            average.start(kbps, seconds)
        self._take()

    def recall(self, remembered: Estimate, now: float) -> None:
        """Begin with what was kept; a lower bound is one still."""
        trust = 0.5 ** ((now - remembered.at) / DOUBT_S)
        self.start(remembered.kbps * trust, REMEMBERED_S * trust, remembered.firm, remembered.at)
        if remembered.firm:
            self.limit_at = remembered.at

    def keep(self, min_rtt_s: float) -> Estimate | None:
        """What to keep for the client's next utterance; None when nothing is known."""
        kbps = self.kbps
        return None if kbps is None else Estimate(kbps, min_rtt_s, self.told_at, self.firm)

    def add(self, sample: Sample, now: float) -> None:
        """
        A sample.

        An exact one stands for the time that it covers. A lower bound stands for all the time
        in which nothing was learned: what was believed before is out of date.
        """
        known = self.kbps
        if not sample.exact and sample.kbps <= (known or 0.0):
            return
        silent_s, self.told_at = now - self.told_at, now
        if sample.exact:
            self.limit_at = now
        if not self.firm:
            self.start(sample.kbps, LEAST_S, sample.exact, now)
            return
        if self.probed:
            self.probed = False
            self.start(sample.kbps, PROBE_S, self.firm, now)
            return
        for average in self._averages:
            if sample.exact:
                average.add(sample.kbps, min(max(sample.seconds, silent_s), MOST_EXACT_S))
            elif sample.kbps > (average.value or 0.0):
                average.add(sample.kbps, min(max(silent_s, LEAST_S), MOST_S))
        self._take()
        self._cut(sample, now)

    def _take(self) -> None:
        """The averages are other ones."""
        fast, slow = (average.value for average in self._averages)
        self.kbps = None if fast is None or slow is None else min(fast, slow)

    def _cut(self, sample: Sample, now: float) -> None:
        """Believe the last moments at once, if they say that the link has fallen."""
        if not sample.exact:
            self._falling.clear()
            return
        self._falling.append((now, sample))
        while self._falling[0][0] < now - CUT_S:
            self._falling.popleft()
        seconds = sum(one.seconds for _, one in self._falling)
        carried = sum(one.kbps * one.seconds for _, one in self._falling)
        known = self.kbps
        if known is not None and seconds >= CUT_S and carried / seconds < CUT_SHARE * known:
            self._averages[0].start(carried / seconds, LEAST_S)
            self._take()
