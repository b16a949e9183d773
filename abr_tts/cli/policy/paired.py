"""
Two policies over the same networks, network by network: what differs, and whether it is more than chance.

The same speech was played over the same network with both, so each network gives one difference. The
interval is a bootstrap over networks (Efron 1979): it says what other networks of this sort would show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from ...sim.result import Result, Utterance
from ...sim.score import STALL, STALL_S, STARTUP_S, percentile, points, stalled_s, utility_of, waited_s
from ...sim.study import Outcome

RESAMPLES = 4_000
"""Of the bootstrap: the ends of the interval are then known to a fraction of its width."""

SHARE = 95.0
"""Per cent of the resamples that lie within the interval."""

LEAST_NETWORKS = 6
"""Networks below which nothing is said: a bootstrap over fewer is too narrow."""

EQUAL = 1e-9
"""QoE below which two networks' figures are the same."""


@dataclass(frozen=True, slots=True)
class Parts:
    """
    The QoE of some speech, in seconds of perfect speech: what is earned, and what each fault costs.
    """

    quality: float
    stalls: float
    changes: float
    startup: float
    audio_s: float

    @property
    def qoe(self) -> float:
        """What `score.qoe` gives."""
        return (self.quality - self.stalls - self.changes - self.startup) / self.audio_s

    def less(self, other: Parts) -> dict[str, float]:
        """By part, how much better this is than `other` in QoE; in the order of weight."""
        found = {
            "quality": self.quality / self.audio_s - other.quality / other.audio_s,
            "stalls": other.stalls / other.audio_s - self.stalls / self.audio_s,
            "changes": other.changes / other.audio_s - self.changes / self.audio_s,
            "start-up": other.startup / other.audio_s - self.startup / self.audio_s,
        }
        return dict(sorted(found.items(), key=lambda item: -abs(item[1])))


def parts(results: Sequence[Result], utility: Callable[[str], float]) -> Parts:
    """The parts of the QoE over some sessions."""
    every = [utterance for result in results for utterance in result.utterances]
    found = [_of(utterance, utility) for utterance in every]
    return Parts(*(sum(column) for column in zip(*found, strict=True)))


def _of(utterance: Utterance, utility: Callable[[str], float]) -> tuple[float, float, float, float, float]:
    worth = {rung: utility(rung) for rung, _ in utterance.runs}
    quality = sum(worth[rung] * seconds for rung, seconds in utterance.runs)
    stalls = STALL_S * stalled_s(utterance) + STALL * utterance.stalls
    startup = STARTUP_S * waited_s(utterance)
    changes = quality - stalls - startup - points(utterance, worth)
    return quality, stalls, changes, startup, utterance.audio_s


@dataclass(frozen=True, slots=True)
class Pair:
    """One network, played with A and with B."""

    case: int
    name: str
    kind: str
    a: Parts
    b: Parts
    stall_pct: tuple[float, float]

    @property
    def gain(self) -> float:
        """QoE of B over that of A."""
        return self.b.qoe - self.a.qoe


def pairs(outcome: Outcome, a: int, b: int) -> list[Pair]:
    """Each network of a study, as two of its contenders fared."""

    def utility(rung: str) -> float:
        return utility_of(rung, outcome.worth)

    found = []
    for index, case in enumerate(outcome.study.cases):
        ours, theirs = outcome.of(a, index), outcome.of(b, index)
        stalled = (stall_pct(ours), stall_pct(theirs))
        found.append(Pair(index, case.name, case.kind, parts(ours, utility), parts(theirs, utility), stalled))
    return found


def stall_pct(results: Sequence[Result]) -> float:
    """Stalled seconds over seconds of audio, in per cent."""
    every = [utterance for result in results for utterance in result.utterances]
    return 100 * sum(map(stalled_s, every)) / sum(utterance.audio_s for utterance in every)


@dataclass(frozen=True, slots=True)
class Interval:
    """A difference, and between what bounds it lies with `SHARE` per cent confidence; None: too few."""

    value: float
    low: float | None
    high: float | None

    def in_words(self, digits: int, unit: str = "") -> str:
        """With its sign and `unit`; the interval in brackets."""
        if self.low is None or self.high is None:
            return f"{self.value:+.{digits}f}{unit}"
        return f"{self.value:+.{digits}f}{unit} (95 %: {self.low:+.{digits}f} to {self.high:+.{digits}f})"

    def as_json(self) -> dict[str, float | None]:
        """For programs."""
        return {"value": self.value, "low": self.low, "high": self.high}

    @property
    def sure(self) -> int:
        """1: it is above 0, -1: below, 0: nothing is shown."""
        if self.low is None or self.high is None:
            return 0
        return 1 if self.low > 0 else -1 if self.high < 0 else 0


def qoe_gain(found: Sequence[Pair], seed: int) -> Interval:
    """QoE of B over that of A, the audio-weighted mean."""
    return interval([(pair.gain, pair.a.audio_s) for pair in found], seed)


def stall_gain(found: Sequence[Pair], seed: int) -> Interval:
    """Stalled share of B over that of A, in points of a per cent: below 0 is better."""
    return interval([(pair.stall_pct[1] - pair.stall_pct[0], pair.a.audio_s) for pair in found], seed)


def interval(weighted: Sequence[tuple[float, float]], seed: int) -> Interval:
    """The weighted mean of (value, weight), and its interval; the same for the same seed."""
    value = _mean(weighted)
    if len(weighted) < LEAST_NETWORKS:
        return Interval(value, None, None)
    rng = Random(f"{seed}/bootstrap")
    means = sorted(_mean(rng.choices(weighted, k=len(weighted))) for _ in range(RESAMPLES))
    tail = (100 - SHARE) / 2
    return Interval(value, percentile(means, tail), percentile(means, 100 - tail))


def _mean(weighted: Sequence[tuple[float, float]]) -> float:
    return sum(value * weight for value, weight in weighted) / sum(weight for _, weight in weighted)
