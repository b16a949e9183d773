"""`abr-tts policy diff`: on which networks one policy is better than another, by how much, and why."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError
from ..failure import Failure
from ..progress import Bar
from . import arguments as shared

if TYPE_CHECKING:
    from ...sim.study import Outcome
    from .paired import Interval, Pair
    from .watch import Choice

SHOWN = 3
"""Networks that are explained on each side, unless something else is asked for."""

MOST_SHOWN = 1_000
"""Networks that are explained on each side at most."""


def add(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "diff",
        help="on which networks one policy is better than another, and why",
        description="Play the same speech over the same networks with both policies, and tell where B is "
        "better or worse than A, from which decision on they differ, and whether it is more than chance.",
        epilog="The verdict is a 95 % interval of the paired difference, a bootstrap over networks. "
        "Exit status: 0; 2 for a file that is no policy or no network, told with its line.",
    )
    parser.add_argument("a", metavar="A", help="policy file or preset: what is")
    parser.add_argument("b", metavar="B", help="policy file or preset: what shall be")
    parser.add_argument(
        "--show", type=shared.bounded(int, 0, MOST_SHOWN), default=SHOWN, metavar="N",
        help=f"networks that are explained on each side ({SHOWN})",
    )  # fmt: skip
    shared.add_networks(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compare; 0."""
    from ...sim.study import Study
    from .paired import pairs, qoe_gain, stall_gain
    from .workers import Speed, perform

    given = [arguments.a, arguments.b]
    both = shared.told_apart([shared.contender(name, arguments) for name in given], given)
    study = Study(both, shared.cases(arguments), shared.world(arguments), arguments.seed, arguments.repeats)
    jobs, bar, speed = shared.jobs(arguments), Bar("comparing"), Speed()
    try:
        outcome = perform(study, jobs, bar, speed)
    except ConfigError as error:
        raise Failure(str(error), status=2) from None
    finally:
        bar.end()
    found = pairs(outcome, 0, 1)
    told = Told(
        outcome, found, qoe_gain(found, study.seed), stall_gain(found, study.seed),
        [_why(outcome, pair) for pair in _shown(found, arguments.show)],
    )  # fmt: skip
    print(json.dumps(told.as_json(), allow_nan=False) if arguments.json else told.in_words())
    print(speed.in_words(jobs), file=sys.stderr if arguments.json else sys.stdout)
    return 0


def _shown(found: list[Pair], most: int) -> list[Pair]:
    """The networks on which B gains most, then those on which it loses most."""
    from .paired import EQUAL

    ordered = sorted(found, key=lambda pair: -pair.gain)
    better = [pair for pair in ordered if pair.gain > EQUAL][:most]
    return better + [pair for pair in reversed(ordered) if pair.gain < -EQUAL][:most]


# ---------------------------------------------------------------- why


@dataclass(frozen=True, slots=True)
class Why:
    """What made the difference on one network."""

    pair: Pair
    at_s: float | None
    utterance: int
    choices: tuple[Choice | None, Choice | None]
    played: tuple[dict[str, float], dict[str, float]]
    stalls: tuple[int, int]


def _why(outcome: Outcome, pair: Pair) -> Why:
    """Play a network again, and look where the decisions part."""
    from ...sim.study import seed_of
    from .watch import Notes, watched

    study = outcome.study
    case = study.cases[pair.case]
    notes = []
    for contender in study.contenders[:2]:
        notes.append(Notes())
        seed = seed_of(case.name, study.seed, 0)
        study.play(case, contender, watched(contender.arm(), notes[-1]), seed)
    at, utterance, choices = parting(notes[0].choices, notes[1].choices)
    results = [outcome.of(index, pair.case) for index in (0, 1)]
    played = [_played(one) for one in results]
    stalls = [sum(u.stalls for result in one for u in result.utterances) for one in results]
    return Why(pair, at, utterance, choices, (played[0], played[1]), (stalls[0], stalls[1]))


def parting(
    a: list[list[Choice]], b: list[list[Choice]]
) -> tuple[float | None, int, tuple[Choice | None, Choice | None]]:
    """
    Where two runs part: (second, utterance from 1, what each does from then on).

    Both are exact, so everything before is the same in both; None if they never part.
    """
    for number, (ours, theirs) in enumerate(zip(a, b, strict=False), 1):
        for index in range(max(len(ours), len(theirs))):
            mine = ours[index] if index < len(ours) else None
            other = theirs[index] if index < len(theirs) else None
            if mine is None or other is None or mine[:3] != other[:3]:
                at = min(choice.at for choice in (mine, other) if choice is not None)
                return at, number, (_by(ours, at), _by(theirs, at))
    return None, 0, (None, None)


def _by(choices: list[Choice], at: float) -> Choice | None:
    """What was chosen by second `at`."""
    return next((choice for choice in reversed(choices) if choice.at <= at), None)


def _played(results: Any) -> dict[str, float]:
    total: dict[str, float] = {}
    for result in results:
        for utterance in result.utterances:
            for rung, seconds in utterance.played_s.items():
                total[rung] = total.get(rung, 0.0) + seconds
    return total


# ---------------------------------------------------------------- told


@dataclass(frozen=True, slots=True)
class Told:
    """A comparison, for people and for programs."""

    outcome: Outcome
    pairs: list[Pair]
    qoe: Interval
    stalls: Interval
    whys: list[Why]

    @property
    def names(self) -> tuple[str, str]:
        """Of A and B."""
        first, second = self.outcome.study.contenders[:2]
        return first.name, second.name

    def verdict(self) -> str:
        """One sentence."""
        a, b = self.names
        if not any(pair.gain for pair in self.pairs):
            return f"{b} does the same as {a} on every network."
        if self.qoe.low is None:
            return f"Too few networks to tell {b} from {a}; what is shown is of these networks alone."
        better, stalls = self.qoe.sure, {1: "more", -1: "less"}.get(self.stalls.sure)
        if not better:
            stalled = f"{b} stalls {stalls} than {a}, but in QoE no" if stalls else "No"
            return f"{stalled} difference {'of the two ' if not stalls else ''}is shown."
        told = f"{b} is {'better' if better > 0 else 'worse'} than {a} in QoE"
        if not stalls:
            return f"{told}."
        return f"{told}{', and' if better != self.stalls.sure else ', though it'} stalls {stalls}."

    def counts(self) -> tuple[int, int, int]:
        """Networks on which B is better, worse, the same."""
        from .paired import EQUAL

        better = sum(pair.gain > EQUAL for pair in self.pairs)
        worse = sum(pair.gain < -EQUAL for pair in self.pairs)
        return better, worse, len(self.pairs) - better - worse

    def in_words(self) -> str:
        """The whole, for people."""
        from .networks import summary
        from .table import columns

        a, b = self.names
        better, worse, same = self.counts()
        figures = [self.outcome.figures(index) for index in (0, 1)]
        rows = [("", "QoE", "p10", "stalled %", "changes/min", "kB/s")]
        for name, found in zip((a, b), figures, strict=True):
            rows.append((
                name, f"{found['qoe']:.3f}", f"{found['p10_qoe']:.3f}", f"{found['stall_pct']:.2f}",
                f"{found['switches_per_min']:.2f}", f"{found['bytes_per_s'] / 1000:.1f}",
            ))  # fmt: skip
        lines = [f"{b} against {a} over {summary(self.outcome.study.cases)}", "", *columns(rows), ""]
        lines.append(f"{b} is better on {better}, worse on {worse}, the same on {same}")
        stalled = self.stalls.in_words(3, " percentage points")
        lines.append(f"QoE {self.qoe.in_words(4)}; stalled share {stalled}")
        lines.append(self.verdict())
        for why in self.whys:
            lines += ["", *self._because(why)]
        return "\n".join(lines)

    def _because(self, why: Why) -> list[str]:
        pair = why.pair
        shares = ", ".join(
            f"{part} {value:+.3f}" for part, value in pair.b.less(pair.a).items() if abs(value) >= 5e-4
        )
        digits = next(n for n in range(3, 10) if abs(pair.gain) >= 10**-n)  # or it would look like none
        lines = [
            f"{pair.name}: QoE {pair.a.qoe:.{digits}f} to {pair.b.qoe:.{digits}f} "
            f"({pair.gain:+.{digits}f}: {shares or 'a little of each'})"
        ]
        if why.at_s is not None:
            lines.append(f"  they part in utterance {why.utterance}, at {why.at_s:.2f} s:")
            for name, choice in zip(self.names, why.choices, strict=True):
                lines.append(
                    f"    {name}: {choice.rungs}, {choice.why}"
                    if choice
                    else f"    {name}: has made no decision yet"
                )
        for name, played, stalls, stalled in zip(
            self.names, why.played, why.stalls, pair.stall_pct, strict=True
        ):
            heard = ", ".join(f"{rung} {seconds:.0f} s" for rung, seconds in _most_first(played))
            lines.append(f"  heard of {name}: {heard}; {stalls} stalls, {stalled:.2f} % stalled")
        return lines

    def as_json(self) -> dict[str, Any]:
        """The whole, for programs."""
        better, worse, same = self.counts()
        return {
            "a": self.outcome.figures(0) | {"name": self.names[0]},
            "b": self.outcome.figures(1) | {"name": self.names[1]},
            "qoe_gain": self.qoe.as_json(),
            "stall_pct_gain": self.stalls.as_json(),
            "verdict": self.verdict(),
            "better": better,
            "worse": worse,
            "same": same,
            "networks": [
                {"name": pair.name, "kind": pair.kind, "a": pair.a.qoe, "b": pair.b.qoe, "gain": pair.gain,
                 "parts": pair.b.less(pair.a), "stall_pct": list(pair.stall_pct)}
                for pair in sorted(self.pairs, key=lambda pair: pair.gain)
            ],
            "why": [
                {"name": why.pair.name, "at_s": why.at_s, "utterance": why.utterance,
                 "choices": [choice._asdict() if choice else None for choice in why.choices],
                 "played_seconds": list(why.played), "stalls": list(why.stalls)}
                for why in self.whys
            ],
        }  # fmt: skip


def _most_first(played: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(played.items(), key=lambda item: -item[1])
