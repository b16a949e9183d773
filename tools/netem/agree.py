"""
Does virtual time tell the truth? The same talk over the same networks, in virtual time and on TUN.

    python tools/netem/agree.py TRACE… [--utterances N] [--chances N] [--jobs N] [--json]   (root, Linux)

A table of the QoE that a listener has in either, and how far they are apart. Each TUN run is in real
time, `--jobs` of them at once.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import Any

from tun import environment

MOST_APART = 0.05
"""QoE by which they may differ on a network: about one short stall in a minute of speech."""


def replayed(trace: Path, backend: str, args: argparse.Namespace, *more: str) -> dict[str, Any]:
    """What `replay` tells of it, in a process of its own: a namespace is entered by a thread's sockets."""
    command = [sys.executable, str(Path(__file__).with_name("replay.py")), str(trace), "--json"]
    command += ["--backend", backend, "--seed", str(args.seed), "--utterances", str(args.utterances)]
    command += ["--policy", args.policy, "--no-check", *more]
    command += ["--through", args.through] if args.through else []
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment())
    if done.returncode:
        raise SystemExit(f"{trace.name} on {backend} failed; what it said stands above")
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def compare(trace: Path, args: argparse.Namespace) -> dict[str, Any]:
    """
    Both backends. Virtual time plays `--chances` networks that differ by nothing but their jitter's and
    losses' chance: how far apart it is from itself.
    """
    chances = range(1, args.chances + 1)
    virtual = [replayed(trace, "virtual", args, "--chance", str(chance)) for chance in chances]
    real = replayed(trace, "tun", args)
    qoes = [one["qoe"] for one in virtual]
    apart = real["qoe"] - fmean(qoes)
    return {
        "network": trace.stem,
        "virtual": _figures(virtual),
        "virtual_least": round(min(qoes), 3),
        "virtual_most": round(max(qoes), 3),
        "tun": _figures([real]),
        "apart": round(apart, 3),
        "within": abs(apart) <= MOST_APART,
        "inside": min(qoes) <= real["qoe"] <= max(qoes),
    }


def _figures(told: list[dict[str, Any]]) -> dict[str, float]:
    return {
        "qoe": round(fmean(one["qoe"] for one in told), 3),
        "stall_pct": round(fmean(one["stall_pct"] for one in told), 2),
        "startup_ms": round(fmean(one["startup_ms"]["p50"] for one in told)),
        "bytes_per_s": round(fmean(one["bytes_per_s"] for one in told)),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """For people."""
    head = f"{'QoE':>6} {'stalled':>8} {'B/s':>6}"
    lines = [f"{'network':36} {'virtual ' + head:>30} {'least, most':>14}   {'TUN ' + head:>26}   apart"]
    for row in rows:
        one, other = (
            f"{row[side]['qoe']:6.3f} {row[side]['stall_pct']:7.2f}% {row[side]['bytes_per_s']:6.0f}"
            for side in ("virtual", "tun")
        )
        spread = f"{row['virtual_least']:.3f}, {row['virtual_most']:.3f}"
        note = "" if row["within"] else " (*)" if row["inside"] else " (!)"
        lines.append(f"{row['network']:36} {one:>30} {spread:>14}   {other:>26}   {row['apart']:+.3f}{note}")
    if any(line.endswith("(*)") for line in lines):
        lines.append("(*) further apart than allowed, but no further than virtual time's own runs are")
    if any(line.endswith("(!)") for line in lines):
        lines.append("(!) further apart than allowed, and than virtual time's own runs")
    return "\n".join(lines)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("traces", type=Path, nargs="+", metavar="TRACE")
    parser.add_argument("--utterances", type=int, default=8)
    parser.add_argument("--chances", type=int, default=5, help="networks that virtual time plays of each")
    parser.add_argument("--seed", type=int, default=1, help="of the talk")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--policy", default="default")
    parser.add_argument("--through", choices=("nginx",))
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with ThreadPoolExecutor(args.jobs) as pool:
        rows = list(pool.map(lambda trace: compare(trace, args), args.traces))
    worst = max(abs(row["apart"]) for row in rows)
    if args.json:
        print(json.dumps({"networks": rows, "most_apart": worst, "within": worst <= MOST_APART}))
        return
    print(table(rows))
    print(f"most apart {worst:.3f}, allowed {MOST_APART}")


if __name__ == "__main__":
    main()
