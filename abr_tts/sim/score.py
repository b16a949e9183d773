"""
How good a run was: the quality of experience of utterances, and the summary over many.

It reads records and the utility of each rung, and knows nothing of how they came about.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from ..control.ladder import FULL
from ..control.utility import measured_utility
from ..errors import ConfigError
from .result import Result, Utterance

UTILITY: Mapping[str, float] = {rung.name: measured_utility(rung) for rung in FULL.rungs}
"""What a second of speech is worth at each rung, by its name: as measured, whatever a policy says."""

STALL_S, STALL, CHANGE, CHANGE_EVENT, STARTUP_S = 4.0, 0.25, 0.25, 0.02, 1.0
"""
Prices, in seconds of perfect speech: a stalled second, a stall, a change of what is played by its
difference in utility, and for happening at all, a second before the first sound. By judgement,
after the QoE functions of the video literature (Yin et al. 2015), where a stall costs more than
any quality can bring.
"""


def utility_of(rung: str, utility: Mapping[str, float] = UTILITY) -> float:
    """
    The utility of a rung.

    Raises:
        ConfigError: the table does not have it.
    """
    try:
        return utility[rung]
    except KeyError:
        raise ConfigError(f"no utility for the rung {rung!r}; there are {', '.join(utility)}") from None


def points(utterance: Utterance, utility: Mapping[str, float] = UTILITY) -> float:
    """
    The sum under the QoE of one utterance, in seconds of perfect speech.

    Speech that was never played earns nothing and counts as stalled, and an utterance that never
    began as waited for until it was given up. Start-up is `waited_s`.

    Raises:
        ConfigError: a rung without utility was played.
    """
    values = [(utility_of(rung, utility), seconds) for rung, seconds in utterance.runs]
    earned = sum(value * seconds for value, seconds in values)
    steps = [abs(after[0] - before[0]) for before, after in pairwise(values)]
    changes = sum(CHANGE * step + CHANGE_EVENT for step in steps)
    waited = STARTUP_S * waited_s(utterance)
    return earned - STALL_S * stalled_s(utterance) - STALL * utterance.stalls - changes - waited


def qoe(utterance: Utterance, utility: Mapping[str, float] = UTILITY) -> float:
    """(sum of u·dt - 4·stalled s - 0.25·stalls - changes - start-up s) / audio seconds."""
    return points(utterance, utility) / utterance.audio_s


def stalled_s(utterance: Utterance) -> float:
    """Seconds stalled; what was never heard of an utterance that was given up is added."""
    if utterance.complete:
        return utterance.stall_s
    return utterance.stall_s + max(0.0, utterance.audio_s - sum(seconds for _, seconds in utterance.runs))


def waited_s(utterance: Utterance) -> float:
    """
    The start-up that is counted: from the engine's first chunk to the first sound.

    The request's own way and the engine's first chunk come before it and are the same whatever
    is sent. An utterance that never began was waited for until it was given up.
    """
    if utterance.delivery_s < math.inf:
        return utterance.delivery_s
    return utterance.ended_at - utterance.asked_at


@dataclass(frozen=True, slots=True)
class Summary:
    """
    Over a set of utterances; shares are in percent, times in the unit of the name.

    `qoe` is the audio-weighted mean; `p10_qoe` the tenth percentile over sessions of each one's
    own; `stall_pct` stalled seconds over seconds of audio; `switches_per_min` changes of what is
    played; `startup_ms` is `waited_s`, as in the QoE, and `first_sound_ms` counts from the
    request; `bytes_per_s` wire bytes a second of audio.
    """

    qoe: float
    stall_pct: float
    stall_free_pct: float
    stalls_per_min: float
    switches_per_min: float
    startup_ms: dict[str, float]
    first_sound_ms: dict[str, float]
    p10_qoe: float
    bytes_per_s: float
    played_seconds: dict[str, float]
    utterances: int
    audio_s: float

    def as_json(self) -> dict[str, Any]:
        """Plain values, in the order of the fields."""
        return asdict(self)


def summarise(results: Iterable[Result], utility: Mapping[str, float] = UTILITY) -> Summary:
    """
    The summary of sessions.

    Raises:
        ValueError: there is no utterance in them.
        ConfigError: a rung without utility was played.
    """
    sessions = [result.utterances for result in results if result.utterances]
    every = [utterance for session in sessions for utterance in session]
    if not every:
        raise ValueError("nothing was spoken")
    audio_s = sum(utterance.audio_s for utterance in every)
    played: dict[str, float] = {}
    for utterance in every:
        for rung, seconds in utterance.runs:
            played[rung] = played.get(rung, 0.0) + seconds
    return Summary(
        qoe=_mean_qoe(every, utility),
        stall_pct=100 * sum(map(stalled_s, every)) / audio_s,
        stall_free_pct=100 * sum(not stalled_s(utterance) for utterance in every) / len(every),
        stalls_per_min=60 * sum(utterance.stalls for utterance in every) / audio_s,
        switches_per_min=60 * sum(max(0, len(u.runs) - 1) for u in every) / audio_s,
        startup_ms=_spread(waited_s(utterance) for utterance in every),
        first_sound_ms=_spread(u.startup_s for u in every if u.startup_s < math.inf),
        p10_qoe=percentile(sorted(_mean_qoe(session, utility) for session in sessions), 10),
        bytes_per_s=sum(utterance.wire_bytes for utterance in every) / audio_s,
        played_seconds=dict(sorted(played.items(), key=lambda item: -item[1])),
        utterances=len(every),
        audio_s=audio_s,
    )


def _mean_qoe(utterances: Sequence[Utterance], utility: Mapping[str, float]) -> float:
    """Audio-weighted mean, which is the sum of points over the sum of seconds."""
    return sum(points(u, utility) for u in utterances) / sum(u.audio_s for u in utterances)


def _spread(seconds: Iterable[float]) -> dict[str, float]:
    """Median and 95th percentile, in milliseconds; infinite where nothing was measured."""
    ordered = sorted(1000 * value for value in seconds) or [math.inf]
    return {"p50": percentile(ordered, 50), "p95": percentile(ordered, 95)}


def percentile(ordered: Sequence[float], share: float) -> float:
    """The `share` (0 to 100) percentile of values in rising order, linear between neighbours."""
    place = (len(ordered) - 1) * share / 100
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
