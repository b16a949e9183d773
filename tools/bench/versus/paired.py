"""
Arms compared fairly: the same utterances over the same networks, and how sure a difference is. Pure.

Utterances of one visit share its weather, so chance is drawn by visit: the bootstrap resamples
visits, not utterances, and takes a visit of both arms together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple, TypeVar

T = TypeVar("T")

SHARE = 0.95
"""Of the resampled differences lie within the interval."""

ROUNDS = 2_000
"""Resamplings: enough for two digits of the bounds of a 95 % interval (Efron and Tibshirani 1993)."""


class Interval(NamedTuple):
    """A difference and its bounds."""

    value: float
    low: float
    high: float


def resamples(count: int, rounds: int = ROUNDS, seed: int = 1) -> list[list[int]]:
    """`rounds` draws of `count` indices of 0 … count - 1, with repetition."""
    rng = Random(seed)
    return [[rng.randrange(count) for _ in range(count)] for _ in range(rounds)]


def difference(
    ours: Sequence[T],
    theirs: Sequence[T],
    measure: Callable[[Sequence[T]], float],
    rounds: int = ROUNDS,
    seed: int = 1,
) -> Interval:
    """
    `measure(ours) - measure(theirs)`, and the bounds within which 95 % of resamples of pairs lie.

    Args:
        ours, theirs: what each arm made of each visit, in the same order.
        measure: a figure of a set of visits, a mean weighted by their length say.

    Raises:
        ValueError: they are not pairs, or there is none.
    """
    if len(ours) != len(theirs) or not ours:
        raise ValueError(f"{len(ours)} visits beside {len(theirs)} are not pairs")
    found = sorted(
        measure([ours[i] for i in chosen]) - measure([theirs[i] for i in chosen])
        for chosen in resamples(len(ours), rounds, seed)
    )
    tail = (1 - SHARE) / 2
    low, high = found[int(tail * len(found))], found[min(len(found) - 1, int((1 - tail) * len(found)))]
    return Interval(measure(ours) - measure(theirs), low, high)
