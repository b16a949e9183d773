"""`abr-tts policy simulate`: what listeners on recorded networks would hear of a policy."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError
from ..failure import Failure
from ..progress import Bar
from . import arguments as shared

if TYPE_CHECKING:
    from ...sim.study import Contender, Study

OPTIMUM = "optimum"
"""Of `--against`: the offline bound."""


def add(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "simulate",
        help="what a policy will do on recorded networks, beside baselines and the optimum",
        description="Play speech over recorded networks in virtual time, with the code that runs in "
        "production, and tell what was heard.",
        epilog="The figures are explained in docs/policies.md. Exit status: 0; 2 for a file that is no "
        "policy or no network, told with its line.",
    )
    parser.add_argument(
        "policy", metavar="FILE|PRESET", help="policy file, or default, classic, opus, thrifty"
    )
    parser.add_argument(
        "--against", metavar="NAME[,NAME]|all|none", default="",
        help="baselines (fixed_opus24, fixed_opus32, fixed_pcm22, rate_ewma, mpc, bba, bola, dynamic and "
        "fixed_ with any rung), policies, and the optimum; the first five and the optimum by default",
    )  # fmt: skip
    parser.add_argument("--plot", metavar="OUT.html", type=Path, help="write a page of pictures")
    shared.add_networks(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Simulate; 0."""
    from .table import simulated
    from .workers import Speed, perform

    study = _study(arguments)
    jobs, bar, speed = shared.jobs(arguments), Bar("simulating"), Speed()
    try:
        outcome = perform(study, jobs, bar, speed)
    except ConfigError as error:
        raise Failure(str(error), status=2) from None
    finally:
        bar.end()
    report = outcome.report()
    if arguments.plot:
        from .page import page

        _write(arguments.plot, page(outcome, report))
    if arguments.json:
        print(json.dumps(report, allow_nan=False))
        print(speed.in_words(jobs), file=sys.stderr)
    else:
        print(simulated(outcome, report))
        print(f"\n{speed.in_words(jobs)}")
        if arguments.plot:
            print(f"pictures: {arguments.plot}")
    return 0


def _study(arguments: argparse.Namespace) -> Study:
    from ...sim.study import Study

    own = shared.contender(arguments.policy, arguments)
    names = _against(arguments.against, own)
    others = [_other(name, own, arguments) for name in names if name != OPTIMUM]
    given = [arguments.policy, *(name for name in names if name != OPTIMUM)]
    everyone = shared.told_apart([own, *others], given)
    return Study(
        everyone, shared.cases(arguments), shared.world(arguments),
        arguments.seed, arguments.repeats, OPTIMUM in names,
    )  # fmt: skip


def _against(told: str, own: Contender) -> list[str]:
    """The names that are meant, each once."""
    from ...sim.baselines import BASELINES
    from ...sim.study import USUAL_BASELINES

    ladder = {f"fixed_{rung.name}" for rung in own.policy.rungs}
    if told == "none":
        return []
    if told == "all":
        useful = [name for name in BASELINES if not name.startswith("fixed_") or name in ladder]
        return [*dict.fromkeys([*USUAL_BASELINES, *useful]), OPTIMUM]
    names = [name.strip() for name in told.split(",") if name.strip()]
    return list(dict.fromkeys(names)) or [*USUAL_BASELINES, OPTIMUM]


def _other(name: str, own: Contender, arguments: argparse.Namespace) -> Contender:
    from ...control.policy_file import PRESETS
    from ...sim.baselines import baseline
    from ...sim.study import Contender

    if name in PRESETS or Path(name).exists():
        return shared.contender(name, arguments)
    try:
        baseline(name)
    except ConfigError as error:
        raise Failure(f"--against: {error}", status=2) from None
    return Contender(name, own.policy, name)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Failure(f"{path}: cannot be written: {error.strerror or error}") from None
