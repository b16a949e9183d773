"""`abr-tts policy tune`: look for better numbers, and believe only what held-out networks show."""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError, PolicyError
from ..failure import Failure
from ..progress import Bar
from . import arguments as shared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...control.policy import Policy
    from ...sim.study import Case, Contender, Figures, Outcome, Study
    from .paired import Interval
    from .search import Found
    from .workers import Speed

EVALUATIONS = 30
"""What a search may cost, in policies over all of its networks."""

MOST_EVALUATIONS = 10_000
"""The same at most."""


def add(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "tune",
        help="look for better numbers, judged by held-out networks",
        description="Search over the numbers of a policy on half of the networks, then play start and "
        "best on the other half. An improvement is claimed only if that half shows it, with 95 % "
        "confidence; otherwise the file that is written is the start.",
        epilog="The method stands in docs/policies.md. Exit status: 0, whether or not anything better was "
        "found (--json: improved); 2 for a file that is no policy or no network, told with its line.",
    )
    parser.add_argument("policy", metavar="FILE|PRESET", help="where the search starts")
    parser.add_argument("--fields", default="", metavar="NAME,…", help="numbers that may change (all)")
    parser.add_argument(
        "--evaluations", type=shared.bounded(int, 2, MOST_EVALUATIONS), default=EVALUATIONS, metavar="N",
        help=f"what it may cost, in policies played over all networks of the search ({EVALUATIONS})",
    )  # fmt: skip
    parser.add_argument("-o", "--output", metavar="OUT.toml", type=Path, help="write the policy to use")
    shared.add_networks(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Tune; 0."""
    from .search import search, searchable, split
    from .workers import Speed

    contender = shared.contender(arguments.policy, arguments)
    try:
        names = searchable(contender.policy, arguments.fields)
    except PolicyError as error:
        raise Failure(f"--fields: {error}", status=2) from None
    cases = shared.cases(arguments)
    inner, outer = split(cases, arguments.seed)
    if not outer:
        raise Failure("tune needs two networks at least: one to search on and one held out", status=2)
    table = Table(arguments, contender, cases, Speed(), Bar("tuning"))
    try:
        found = search(contender.policy, names, inner, arguments.evaluations, arguments.seed, table.judge)
        told = _held_out(table, found, inner, outer)
    except ConfigError as error:
        raise Failure(str(error), status=2) from None
    finally:
        table.bar.end()
    if arguments.output:
        _write(arguments, told)
    print(json.dumps(told.as_json(), allow_nan=False) if arguments.json else told.in_words(arguments.output))
    words = table.speed.in_words(shared.jobs(arguments))
    print(words, file=sys.stderr if arguments.json else sys.stdout)
    return 0


class Table:
    """Policies over networks, each pair played once."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        contender: Contender,
        cases: Sequence[Case],
        speed: Speed,
        bar: Bar,
    ) -> None:
        self.contender, self.cases = contender, cases
        self._arguments = arguments
        self.speed, self.bar = speed, bar
        self._played: dict[tuple[Policy, int], list[Any]] = {}

    def judge(self, policies: Sequence[Policy], which: Sequence[int]) -> list[float]:
        """The QoE of each policy over these networks."""
        self._play(policies, which)
        return [float(self.figures(policy, which)["qoe"]) for policy in policies]

    def figures(self, policy: Policy, which: Sequence[int]) -> Figures:
        """The figures of a policy over these networks."""
        from ...sim.study import figures, worth

        self._play([policy], which)
        results = [result for index in which for result in self._played[policy, index]]
        return figures(results, worth([policy]))

    def study(self, policies: Sequence[Policy], which: Sequence[int]) -> Study:
        """These policies over these networks."""
        from ...sim.study import Study

        told = self._arguments
        return Study(
            tuple(replace(self.contender, name=str(n), policy=policy) for n, policy in enumerate(policies)),
            tuple(self.cases[index] for index in which),
            shared.world(told), told.seed, told.repeats,
        )  # fmt: skip

    def outcome(self, policies: Sequence[Policy], which: Sequence[int]) -> Outcome:
        """What came of these policies over these networks."""
        from ...sim.study import Outcome

        self._play(policies, which)
        found = Outcome(self.study(policies, which))
        for task in found.study.tasks():
            found.add(task, self._played[policies[task.contender], which[task.case]][task.repeat])
        return found

    def _play(self, policies: Sequence[Policy], which: Sequence[int]) -> None:
        from .workers import perform

        policies = list(dict.fromkeys(policies))
        study = self.study(policies, which)
        missing = [
            task for task in study.tasks() if (policies[task.contender], which[task.case]) not in self._played
        ]
        if missing:
            outcome = perform(study, shared.jobs(self._arguments), self.bar, self.speed, missing)
            for task, result in sorted(outcome.results.items()):
                key = policies[task.contender], which[task.case]
                self._played.setdefault(key, []).append(result)


@dataclass(frozen=True, slots=True)
class Told:
    """What came of it."""

    start: Policy
    found: Found
    networks: tuple[int, int]
    figures: tuple[tuple[Figures, Figures], tuple[Figures, Figures]]
    """Of start and best: on the networks of the search, and on those held out."""
    gain: Interval
    stalls: Interval

    @property
    def improved(self) -> bool:
        """Whether the held-out half shows it."""
        return self.found.policy != self.start and self.gain.sure > 0

    @property
    def policy(self) -> Policy:
        """The one to use."""
        return self.found.policy if self.improved else self.start

    @property
    def changes(self) -> dict[str, tuple[float, float]]:
        """Before and after, by field."""
        from .edit import changes

        after = changes(self.start, self.found.policy)
        return {name: (getattr(self.start, name), value) for name, value in after.items()}

    def verdict(self) -> str:
        """One sentence."""
        if self.found.policy == self.start:
            return "Nothing better than the start was found."
        if self.improved:
            return "The networks held out show the improvement."
        if self.gain.low is None:
            return "Too few networks are held out to show an improvement; none is claimed."
        return "The networks held out do not show an improvement; none is claimed."

    def in_words(self, output: Path | None) -> str:
        """For people."""
        from .table import columns

        inner, outer = self.figures
        rows = [("", "searched: QoE", "stalled %", "held out: QoE", "stalled %", "p10")]
        for index, name in enumerate(("start", "best found")):
            rows.append((
                name, f"{inner[index]['qoe']:.4f}", f"{inner[index]['stall_pct']:.2f}",
                f"{outer[index]['qoe']:.4f}", f"{outer[index]['stall_pct']:.2f}",
                f"{outer[index]['p10_qoe']:.3f}",
            ))  # fmt: skip
        searched, held = self.networks
        lines = [
            f"{self.start.name}: {self.found.tried} policies tried on {searched} networks, {held} held out",
            "", *columns(rows), "",
        ]  # fmt: skip
        if self.changes:
            told = (f"{name} {before:g} to {after:g}" for name, (before, after) in self.changes.items())
            lines += [f"best found: {', '.join(told)}", f"held out: QoE {self.gain.in_words(4)}"]
        lines.append(self.verdict())
        if output:
            start = f"{self.start.name} unchanged, under the name {called(output)}"
            lines.append(f"{output}: {'the best found' if self.improved else start}")
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        inner, outer = self.figures
        return {
            "improved": self.improved,
            "verdict": self.verdict(),
            "tried": self.found.tried,
            "changes": {name: {"from": old, "to": new} for name, (old, new) in self.changes.items()},
            "searched": {"networks": self.networks[0], "start": inner[0], "best": inner[1]},
            "held_out": {
                "networks": self.networks[1],
                "start": outer[0],
                "best": outer[1],
                "qoe_gain": self.gain.as_json(),
            },
        }


def _held_out(table: Table, found: Found, inner: list[int], outer: list[int]) -> Told:
    """Start and best on the networks that the search has not seen."""
    from .paired import pairs, qoe_gain, stall_gain

    start = table.contender.policy
    outcome = table.outcome([start, found.policy], outer)
    seed, both = outcome.study.seed, pairs(outcome, 0, 1)
    figures = [(table.figures(start, which), table.figures(found.policy, which)) for which in (inner, outer)]
    return Told(
        start, found, (len(inner), len(outer)), (figures[0], figures[1]),
        qoe_gain(both, seed), stall_gain(both, seed),
    )  # fmt: skip


def called(path: Path) -> str:
    """The name of the policy in a file that is written."""
    return re.sub(r"[^\w.-]+", "-", path.stem) or "tuned"


def _write(arguments: argparse.Namespace, told: Told) -> None:
    from ...control.policy_file import PRESETS, preset_text
    from .edit import edited

    path: Path = arguments.output
    name = arguments.policy
    text = preset_text(name) if name in PRESETS else Path(name).read_text(encoding="utf-8")
    policy = replace(told.policy, name=told.start.name)
    head = f"Tuned from {Path(name).name} with seed {arguments.seed}. {told.verdict()}"
    try:
        path.write_text(edited(text, policy, called(path), head), encoding="utf-8")
    except OSError as error:
        raise Failure(f"{path}: cannot be written: {error.strerror or error}") from None
