"""
A search for better numbers: which to try, on which networks, and whom to keep. Pure; seeded.

Half of the networks are for the search, the other half is kept out of it until the end. The search
draws changes of a few fields at a time around the best policy so far, plays each on a few networks, and
goes on with the better half on twice as many (successive halving: Jamieson and Talwalkar 2016), until
the best is played on all of the first half. So most of the work goes to those who deserve it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Any

from ...control.policy import NUMBERS, Policy
from ...errors import PolicyError
from ...sim.study import Case, kinds

ROUND = 8
"""Candidates of one round: three halvings leave one."""

MOST_FIELDS = 3
"""Fields that one candidate changes at most: more at a time hides which of them it was."""

SPREAD = 0.5
"""Standard deviation of the logarithm of a change: two in three are by a factor of 0.6 to 1.65. A guess."""

FAR = 0.15
"""Share of candidates that are drawn from the whole range of a field, lest the search stays where it is."""

DIGITS = 3
"""Significant digits of a value: the file shall be plain to read."""

TRIES = 200
"""Draws until a candidate fits the policy's own rules."""

TOLERANCE = 0.01
"""QoE that a candidate may be behind the best so far and still be played on: chance of few networks."""

Judge = Callable[[Sequence[Policy], Sequence[int]], list[float]]
"""The QoE of some policies, each over the networks of these indices; what it has played it remembers."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search brought: a policy, and the QoE of it and of the start on the networks searched on."""

    policy: Policy
    start_qoe: float
    qoe: float
    tried: int


def split(cases: Sequence[Case], seed: int) -> tuple[list[int], list[int]]:
    """
    The networks to search on and those held out, as indices: half of each kind, at random.

    Of an odd number the search has one more; of all kinds together at least one is held out if
    there are two.
    """
    rng = Random(f"{seed}/split")
    inner: list[int] = []
    outer: list[int] = []
    for kind in kinds(cases):
        ours = [index for index, case in enumerate(cases) if case.kind == kind]
        rng.shuffle(ours)
        half = len(ours) // 2
        if len(ours) % 2 and len(inner) <= len(outer):
            half += 1
        inner += ours[:half]
        outer += ours[half:]
    return sorted(inner), sorted(outer)


def search(
    start: Policy, names: Sequence[str], inner: Sequence[int], most: int, seed: int, judge: Judge
) -> Found:
    """
    Look for a better policy.

    Args:
        start: where it begins.
        names: of the fields that may change.
        inner: indices of the networks to search on.
        most: what it may cost, in policies played over all of `inner`, the start's own included.
        judge: plays them.
    """
    rng = Random(f"{seed}/search")
    start_qoe = judge([start], inner)[0]
    best, best_qoe = start, start_qoe
    left, tried = float(most - 1), 0
    order = list(inner)
    while left >= 1:
        candidates = _draw(best, names, min(ROUND, max(2, int(left * 2))), rng)
        if not candidates:
            break
        rng.shuffle(order)
        winner, qoe, spent = _halving(best, candidates, order, judge)
        tried += len(candidates)
        left -= spent
        if winner is not None and qoe > best_qoe:
            best, best_qoe = winner, qoe
    return Found(best, start_qoe, best_qoe, tried)


def _halving(
    best: Policy, candidates: list[Policy], order: Sequence[int], judge: Judge
) -> tuple[Policy | None, float, float]:
    """(the last candidate, its QoE over all networks, what that cost); None where all fell behind."""
    rounds = max(1, math.ceil(math.log2(len(candidates))))
    alive, seen, spent = candidates, 0, 0.0
    until = max(1, math.ceil(len(order) / 2**rounds))
    while True:
        base, *scores = judge([best, *alive], order[:until])
        spent += len(alive) * (until - seen) / len(order)
        ranked = sorted(zip(scores, range(len(alive)), strict=True), reverse=True)
        if until == len(order):
            return alive[ranked[0][1]], ranked[0][0], spent
        keep = max(1, len(alive) // 2)
        alive = [alive[index] for score, index in ranked[:keep] if score >= base - TOLERANCE]
        if not alive:
            return None, 0.0, spent
        seen, until = until, min(len(order), 2 * until)


def _draw(around: Policy, names: Sequence[str], count: int, rng: Random) -> list[Policy]:
    """Different policies near `around`."""
    found: list[Policy] = []
    for _ in range(TRIES):
        chosen = rng.sample(list(names), k=min(len(names), rng.randint(1, MOST_FIELDS)))
        values: dict[str, Any] = {name: _value(around, name, rng) for name in chosen}
        try:
            policy = replace(around, **values)
        except PolicyError:
            continue
        if policy != around and policy not in found:
            found.append(policy)
            if len(found) == count:
                break
    return found


def _value(policy: Policy, name: str, rng: Random) -> float:
    """Another value of a field, within its bounds."""
    field = next(item for item in fields(policy) if item.name == name)
    low, high = float(field.metadata["low"]), float(field.metadata["high"])
    now = float(getattr(policy, name))
    if rng.random() < FAR:
        least = max(low, high / 1000)
        value = math.exp(rng.uniform(math.log(least), math.log(high)))
    else:
        value = max(now, high / 1000) * math.exp(rng.gauss(0.0, SPREAD))
    value = min(high, max(low, float(f"{value:.{DIGITS}g}")))
    return round(value) if type(getattr(policy, name)) is int else value


def searchable(policy: Policy, told: str) -> list[str]:
    """
    The fields that a search may change: those that are named, or all numbers.

    Raises:
        PolicyError: there is no such number; with the field as key.
    """
    names = [name.strip() for name in told.split(",") if name.strip()]
    for name in names:
        if name not in NUMBERS:
            raise PolicyError(f"{name} is no number of a policy; there are {', '.join(NUMBERS)}", name)
    return names or list(NUMBERS)
