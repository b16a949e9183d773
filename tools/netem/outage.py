"""
How soon is there sound again after a radio outage of ten seconds, in which packets are lost?

    python tools/netem/outage.py [--runs N] [--ways down|both] [--through nginx] [--json]   (root, Linux)

One utterance of twenty seconds on TUN; the outage begins while the engine still speaks, at another
moment in each run, so that what was banked ends before it. `again_s` is from the outage's end to the
first frame after it. TCP must find out by itself: its tries come ever more seldom, unless the listener's
or the server's socket bounds the time between them (TCP_RTO_MAX_MS, Linux 6.15).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from statistics import median
from typing import Any

from live import Session
from serving import Front
from talk import Talk, seeded, speech
from tun import NetemError, environment
from ways import over_tun

from abr_tts.client import pump
from abr_tts.errors import AbrError
from abr_tts.sim.engine import NEURAL
from abr_tts.sim.scenario import Direction, Scenario

KBPS, DELAY_S, JITTER_S = 500.0, 0.03, 0.003
OUTAGE_S = 10.0
FIRST_S, PHASE_S = 1.5, 0.137
"""Seconds of the outage's begin in the first run, and by how much it is later in each next one: TCP's
tries are at most a second apart, so eight runs see all of their phases."""

SPEECH_S = 20.0
MEDIAN_S, MOST_S = 0.6, 1.3
"""What it must be, without a proxy."""


def network(begin: float, ways: str) -> Scenario:
    """The link, with an outage from `begin` on; `ways`: `down` or `both`."""
    window = ((begin, begin + OUTAGE_S),)
    down = Direction(((0.0, KBPS),), DELAY_S, JITTER_S, drop_windows=window)
    up = Direction(((0.0, 2_000.0),), DELAY_S, JITTER_S, drop_windows=window if ways == "both" else ())
    return Scenario("radio outage", 600.0, down, up)


def long_talk() -> Talk:
    """One utterance of SPEECH_S at least."""
    sound = speech(NEURAL)
    for seed in range(1, 1000):
        talk = seeded(seed, 1, NEURAL, sound)
        if talk.audio_s > SPEECH_S - 2:
            return talk
    raise AssertionError("the conversation has no long utterance")


def one(run: int, args: argparse.Namespace) -> dict[str, Any]:
    """One outage: what was heard, or `fault`, where the stream was given up."""
    begin = FIRST_S + run * PHASE_S
    end, scenario, talk = begin + OUTAGE_S, network(begin, args.ways), long_talk()
    if args.patience_s is not None:
        pump.LIMITS = replace(pump.LIMITS, pong_s=args.patience_s)
    settings = {"stream.policy": "default"}
    with over_tun(scenario, Front(nginx=args.through == "nginx"), settings, talk) as (process, way):
        session = Session(way, talk)
        try:
            result = asyncio.run(session.run(scenario.name, process.firsts))
        except AbrError as error:
            return {"fault": str(error)}
    waits = [(since, until) for since, until in session.waits if since < end < until]
    silent_s = waits[0][1] - waits[0][0] if waits else 0.0
    again_s = waits[0][1] - end if waits else 0.0
    return {
        "again_s": round(again_s, 2), "silent_s": round(silent_s, 2),
        "complete": result.utterances[0].complete,
    }  # fmt: skip


def measure(run: int, args: argparse.Namespace) -> dict[str, Any]:
    """One outage in a process of its own."""
    command = [sys.executable, __file__, "--run", str(run), "--ways", args.ways]
    command += ["--through", args.through] if args.through else []
    command += ["--patience-s", str(args.patience_s)] if args.patience_s is not None else []
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment())
    if done.returncode:
        raise SystemExit(f"run {run} failed; what it said stands above")
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def summary(runs: list[dict[str, Any]], args: argparse.Namespace) -> dict[str, Any]:
    """All runs together; `given_up` are the sentences of streams that did not outlive it."""
    heard = [run for run in runs if "fault" not in run]
    again = [run["again_s"] for run in heard]
    return {
        "ways": args.ways,
        "through": args.through,
        "again_s": again,
        "median_s": median(again) if again else None,
        "max_s": max(again, default=None),
        "silent_s": [run["silent_s"] for run in heard],
        "complete": sum(run["complete"] for run in heard),
        "given_up": [run["fault"] for run in runs if "fault" in run],
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--ways", choices=("down", "both"), default="both", help="which way it loses packets")
    parser.add_argument("--through", choices=("nginx",))
    parser.add_argument("--patience-s", type=float, help="how long the client waits for a pong")
    parser.add_argument("--run", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.run is not None:
        try:
            print(json.dumps(one(args.run, args)))
        except NetemError as error:
            raise SystemExit(str(error)) from None
        return
    with ThreadPoolExecutor(args.jobs) as pool:
        runs = list(pool.map(lambda run: measure(run, args), range(args.runs)))
    result = summary(runs, args)
    if args.json:
        print(json.dumps(result))
        return
    for key, value in result.items():
        print(f"{key:10} {value}")
    print(f"must be: median {MEDIAN_S} s, at most {MOST_S} s, without a proxy")


if __name__ == "__main__":
    main()
