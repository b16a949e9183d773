"""
Why not just Opus at 24? The same words over the same recorded networks, sent in eight ways.

Real TCP on TUN links (packets between namespaces), TLS, nginx in front, one engine that speaks
three times as fast as real time for all. The arms: fixed Opus 24 and 32 as aiohttp sends them; the
same by our server; ours with the policies `opus`, `default` and `classic`; and WebRTC (aiortc, Opus
24 with in-band FEC over UDP, directly). A listener begins with 200 ms in hand and waits where
nothing is there; a packet that WebRTC lost is filled in. Each utterance is asked for at the same
second of its network in every arm, and differences are bootstrapped over networks, in pairs.

    python tools/bench/versus.py --traces DIR [--json] [--quick] [--words]   (root, Linux, nginx)

It runs in real time, at real-time priority: some 11 minutes, then 3 for the meters (as many for
--words), on two cores; with --quick under 2 in all. Should an event loop be late by more than a frame
of speech all the same, the figures say so.
"""

from __future__ import annotations

import argparse
import json
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from quality_meters import missing as meters_missing
from versus import plan, report
from versus.session import ARMS, Heard, run
from versus.sound import SOUNDS_A_VISIT, listen, recognise
from versus.spoken import Spoken, speak

from abr_tts.cli.failure import Failure
from abr_tts.engine.worker import die_with_parent
from abr_tts.errors import AbrError

sys.path.append(str(Path(__file__).parents[1] / "netem"))
from nginx import installed
from tun import missing as tun_missing

BASES = ("aiohttp-opus24", "aiohttp-opus32")
"""What the others are compared with, pair by pair."""

SCENARIOS = Path(__file__).parents[1] / "netem" / "scenarios"
"""Where no recorded networks are given."""

FULL_SIZE, QUICK_SIZE = (16, 6), (2, 3)
"""Networks and utterances on each, by default. Many networks rather than much of each: what is heard
of one network hangs together, and the bootstrap knows it."""

LATE_MS = 20.0
"""Of 99 % of looks at an event loop: one frame of speech. Beyond it the machine is too busy."""


def prepare(args: argparse.Namespace) -> tuple[list[plan.Visit], Spoken]:
    """Draw the networks, make the conversations, and speak them."""
    networks = plan.draw(plan.read_networks(args.traces, args.only), args.networks, str(args.seed))
    with ProcessPoolExecutor(1) as pool:
        lengths = pool.submit(speak, plan.SENTENCES).result().seconds()
        told = plan.conversations(networks, args.utterances, str(args.seed), lengths)
        clauses = {clause for some in told for text, _ in some for clause in plan.clauses_of(text)}
        spoken = pool.submit(speak, sorted(clauses)).result()
    return plan.visits(networks, told, str(args.seed), spoken.seconds()), spoken


# ------------------------------------------------------------ the arms, in real time


def run_arms(
    names: Sequence[str], visits: Sequence[plan.Visit], spoken: Spoken, lanes: int
) -> dict[str, list[Heard]]:
    """Every arm over every visit: arms and lanes at once, each in a process of its own."""
    lanes = min(lanes, len(visits))
    with tempfile.TemporaryDirectory(prefix="abr-tts-versus-") as name:
        folder = Path(name)
        spoken.write(folder)
        for lane in range(lanes):
            job = {"visits": visits[lane::lanes], "rate": spoken.rate, "folder": folder}
            (folder / f"job{lane}").write_bytes(pickle.dumps(job))
        running = {}
        try:
            for lane in range(lanes):
                for index, arm in enumerate(names):
                    out = folder / f"out{lane}-{index}"
                    command = [sys.executable, __file__, "--child", arm, str(folder / f"job{lane}"), str(out)]
                    running[arm, lane] = (subprocess.Popen(command), out)
            _wait([process for process, _ in running.values()], visits, lanes)
            found = {key: pickle.loads(out.read_bytes()) for key, (_, out) in running.items()}
        finally:
            for process, _ in running.values():
                process.terminate()
            for process, _ in running.values():
                process.wait()
    return {arm: [found[arm, n % lanes][n // lanes] for n in range(len(visits))] for arm in names}


def _wait(processes: Sequence[subprocess.Popen[Any]], visits: Sequence[plan.Visit], lanes: int) -> None:
    expected = max(sum(_seconds(visit) for visit in visits[lane::lanes]) for lane in range(lanes))
    began = time.monotonic()
    while any(process.poll() is None for process in processes):
        if any(process.poll() for process in processes):
            raise SystemExit("an arm failed; what it said stands above")
        time.sleep(0.5)
        if sys.stderr.isatty():
            print(f"\r{time.monotonic() - began:4.0f} of about {expected:.0f} s", end="", file=sys.stderr)
    if any(process.returncode for process in processes):
        raise SystemExit("an arm failed; what it said stands above")


def _seconds(visit: plan.Visit) -> float:
    last = visit.said[-1]
    return last.at + last.seconds + 4.0


def child(name: str, job: Path, out: Path) -> None:
    """One arm in one lane."""
    die_with_parent()
    given = pickle.loads(job.read_bytes())
    heard = run(ARMS[name], given["visits"], given["folder"], given["rate"])
    out.write_bytes(pickle.dumps(heard))


# ------------------------------------------------------------ all of it


def measure(names: Sequence[str], args: argparse.Namespace) -> dict[str, Any]:
    """Run, listen, compare."""
    visits, spoken = prepare(args)
    arms = run_arms(names, visits, spoken, args.lanes)
    sounds = listen(arms, spoken, 0 if args.quick else SOUNDS_A_VISIT)
    own = recognise(arms, spoken, sounds) if args.words else None
    bases = [name for name in BASES if name in arms] or names[:1]
    found = {name: report.figures(heard, sounds[name]) for name, heard in arms.items()}
    late = max(lag for row in found.values() for lag in row["loop_lag_ms"].values())
    return {
        "networks": {visit.scenario.name: {"kind": visit.kind, "from_s": visit.offset} for visit in visits},
        "arms": found,
        "paired": {base: report.paired(arms, base, args.seed) for base in bases},
        "wer_engine_pct": own,
        "too_busy": late > LATE_MS,
        "seed": args.seed,
    }


def arguments() -> argparse.Namespace:
    """The command line, completed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--traces", type=Path, metavar="DIR", default=SCENARIOS, help="recorded networks")
    parser.add_argument("--only", default="", metavar="TEXT", help="traces whose name or kind contains this")
    parser.add_argument(
        "--networks", type=int, metavar="N", help="how many are drawn, of each kind its share"
    )
    parser.add_argument("--utterances", type=int, metavar="N", help="on each network")
    parser.add_argument("--arms", default="", metavar="TEXT,…", help="those whose names contain one")
    parser.add_argument("--lanes", type=int, default=2, help="networks at once")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--words", action="store_true", help="what a recogniser understands")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    size = QUICK_SIZE if args.quick else FULL_SIZE
    args.networks, args.utterances = args.networks or size[0], args.utterances or size[1]
    return args


def main() -> None:
    """Run and print."""
    args = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that all is cleaned up
    if args.child:
        name, job, out = args.child
        child(name, Path(job), Path(out))
        return
    if lacks := tun_missing() or (None if installed() else "nginx is not installed"):
        raise SystemExit(f"this needs a TUN link and nginx: {lacks}")
    wanted = args.arms.split(",")
    names = [name for name in ARMS if any(text.strip() in name for text in wanted)]
    if lacks := meters_missing("aiortc"):
        names = [name for name in names if not ARMS[name].kind.startswith("rtc")]
        print(f"without WebRTC: {lacks}", file=sys.stderr)
    try:
        result = measure(names, args)
    except (AbrError, Failure) as error:
        raise SystemExit(str(error)) from None
    print(json.dumps(result, indent=2) if args.json else report.table(result))
    if result["too_busy"]:
        print("the machine was too busy: an event loop was late by more than a frame", file=sys.stderr)


if __name__ == "__main__":
    main()
