"""
Play a scenario or a recorded network and tell what a listener hears.

    python tools/netem/replay.py SCENARIO_OR_TRACE [--backend auto|tun|netem|virtual|proxy]
        [--through nginx] [--policy P] [--text "…" | --utterances N] [--seed N] [--json] [--plot out.html]

A real server and the real client over the network that the backend makes, in real time; or the
simulator, in no time (`virtual`). What is said, and when the engine has it ready, is one plan for all
of them, so that their figures compare: it makes speech in 0.3 of the time that it lasts, as a neural
engine does. `auto` takes the most faithful backend that this machine can run.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import picture
import report
import selfcheck
import tcnetem
from holding import holding
from serving import Front, hurry
from session import Asked, network, play
from talk import Talk, seeded, speech, spoken
from tun import NetemError, TunLink
from ways import BACKENDS, best

from abr_tts.errors import AbrError, ConfigError, MissingDependency
from abr_tts.sim.engine import NEURAL
from abr_tts.sim.scenario import Scenario

UTTERANCES = 5
"""Of the conversation, unless said otherwise: three quarters of a minute with its pauses."""


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("network", type=Path, metavar="SCENARIO_OR_TRACE", help="any format that `abr-tts policy` reads")
    add("--rtt-ms", type=float, help="round trip of the idle path, where the file does not say")
    add("--backend", choices=("auto", *BACKENDS), default="auto")
    add("--through", choices=("nginx",), help="what stands before the server; it ends TLS")
    add("--tls", action="store_true", help="the server itself speaks TLS")
    add("--policy", default="default", help="a preset, or a policy file")
    add("--rung", help="hold every stream at this rung instead")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--text", help="say this once (espeak-ng)")
    what.add_argument("--utterances", type=int, default=UTTERANCES, help="of a seeded conversation")
    add("--seconds", type=float, default=math.inf, help="no utterance starts after this")
    add("--seed", type=int, default=1, help="of the conversation")
    add("--chance", type=int, default=1, help="seed of jitter and loss, beside the scenario's own")
    add("--buffer-ms", type=float, help="sound that the listener holds before it starts, and after a stall")
    add("--no-check", action="store_true", help="do not measure the TUN link beforehand")
    add("--print-commands", action="store_true", help="print what `--backend netem` runs, and end")
    add("--json", action="store_true")
    add("--plot", type=Path, metavar="OUT.html")
    return parser.parse_args(words)


def talk_of(args: argparse.Namespace) -> Talk:
    """What is said."""
    if args.text is not None:
        return spoken(args.text, NEURAL)
    return seeded(args.seed, args.utterances, NEURAL, speech(NEURAL))


def check(scenario: Scenario) -> dict[str, Any]:
    """Measure a TUN link at the scenario's rates."""
    hurry()
    with TunLink() as link:
        made: list[selfcheck.Pace | selfcheck.Loss] = [
            selfcheck.pace(link, kbps, delay_ms) for kbps, delay_ms in selfcheck.like(scenario.down)
        ]
        made.append(selfcheck.loss(link))
    return {"checks": [asdict(one) for one in made], "faults": [f for one in made for f in one.faults]}


def run(args: argparse.Namespace) -> dict[str, Any]:
    """
    Do it.

    Raises:
        NetemError, AbrError, ConfigError, MissingDependency, ValueError: it cannot be done; one sentence.
    """
    scenario = network(args.network, args.rtt_ms)
    backend, why = (args.backend, "asked for") if args.backend != "auto" else best()
    front = Front(args.tls, args.through == "nginx")
    if lacks := front.lacks():
        raise NetemError(lacks)
    asked = Asked(talk_of(args), args.policy, args.rung, front, args.seconds, args.chance)
    checked = check(scenario) if backend == "tun" and not args.no_check else None
    if checked and checked["faults"]:
        raise NetemError(f"the TUN link is not true: {'; '.join(checked['faults'])}")
    with holding(args.buffer_ms):
        result, notes = play(backend, scenario, asked)
    if args.plot:
        args.plot.write_text(picture.page(scenario, result, f"{backend}, policy {args.policy}"), "utf-8")
    return report.as_json(result, backend, why, notes, checked, args.policy)


def main() -> None:
    """Run and print."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that `finally` runs
    args = arguments()
    try:
        if args.print_commands:
            scenario = network(args.network, args.rtt_ms)
            print(tcnetem.script(scenario, min(args.seconds, scenario.duration_s), args.chance))
            return
        told = run(args)
    except (NetemError, AbrError, ConfigError, MissingDependency, ValueError) as error:
        raise SystemExit(str(error)) from None
    except KeyboardInterrupt:
        raise SystemExit(128 + signal.SIGINT) from None
    print(json.dumps(told) if args.json else report.as_text(told))


if __name__ == "__main__":
    main()
