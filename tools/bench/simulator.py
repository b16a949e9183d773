"""
How fast the simulator is: seconds of sessions that one core simulates in a second, by controller.

The same speeches over the same networks for each: the `default` policy with its controller and with `v1`,
and as the baseline `fixed_opus24`, which decides nothing, so that a ratio to it is what deciding costs.
In one process; the clock is that of the process's own work. Each is run by turns, and the quickest turn
counts: what else the machine did is not the simulator's.

    python tools/bench/simulator.py [--json] [--traces DIR …] [--rounds 3]

Without --traces, the scenarios of tools/netem.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2]))

from abr_tts.cli.policy.networks import load
from abr_tts.control.policy_file import preset
from abr_tts.sim.engine import NEURAL
from abr_tts.sim.result import Result
from abr_tts.sim.run import World
from abr_tts.sim.study import Contender, Study

SCENARIOS = Path(__file__).parents[1] / "netem" / "scenarios"

BASELINE = "fixed_opus24"

ROUNDS = 3


def contenders() -> tuple[Contender, ...]:
    """The baseline first."""
    policy = preset("default")
    return (
        Contender(BASELINE, policy, BASELINE),
        Contender("strong", replace(policy, controller="strong")),
        Contender("v1", replace(policy, controller="v1")),
    )


def timed(study: Study, number: int) -> tuple[float, float]:
    """(virtual seconds of all sessions of a contender, seconds of processor that they took)."""
    virtual, began = 0.0, time.process_time()
    for task in study.tasks():
        if task.contender == number:
            came = study.perform(task)
            assert isinstance(came, Result), "the optimum is not asked for"
            virtual += came.seconds
    return virtual, time.process_time() - began


def measure(paths: list[Path], rounds: int, seed: int) -> dict[str, Any]:
    """Times real time of each contender, and the ratio of its cost to the baseline's."""
    everyone = contenders()
    study = Study(everyone, load(paths), World(engine=NEURAL), seed)
    virtual: dict[str, float] = {}
    quickest = dict.fromkeys((one.name for one in everyone), float("inf"))
    for _ in range(rounds):
        for number, one in enumerate(everyone):
            virtual[one.name], took = timed(study, number)
            quickest[one.name] = min(quickest[one.name], took)
    cost = {name: quickest[name] / virtual[name] for name in quickest}
    return {
        "networks": len(study.cases),
        "session_s": {name: round(seconds, 1) for name, seconds in virtual.items()},
        "times_real_time": {name: round(1 / each) for name, each in cost.items()},
        "cost_over_baseline": {name: round(each / cost[BASELINE], 2) for name, each in cost.items()},
        "baseline": BASELINE,
    }


def told(found: dict[str, Any]) -> str:
    """As lines of text."""
    lines = [f"{found['networks']} networks, one core"]
    for name, speed in found["times_real_time"].items():
        seconds, ratio = found["session_s"][name], found["cost_over_baseline"][name]
        lines.append(
            f"{name:13} {speed:6} times real time ({seconds:.0f} s), {ratio:.2f} of the baseline's cost"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--traces", type=Path, nargs="+", default=[SCENARIOS], metavar="DIR")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = measure(arguments.traces, arguments.rounds, arguments.seed)
    print(json.dumps(found) if arguments.json else told(found))


if __name__ == "__main__":
    main()
