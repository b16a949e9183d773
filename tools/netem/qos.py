"""
The three classic qualities of service, and what the size of the playout buffer does to each.

    python tools/netem/qos.py [--backend tun|virtual] [--buffers 100,200,…] [--utterances N]
        [--chances N] [--json]

Good: no loss, 10±5 ms. Lossy: 5 %, 50±30 ms. Very bad: 15 %, 200±100 ms. Delay and loss are of each
way, and the rate is ample (2 Mbit/s), so that the buffer alone matters: a listener who holds little
starts soon and stalls at every packet that is sent again; one who holds much waits before every
utterance. `--backend tun` is in real time, `--jobs` runs at once.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from agree import replayed
from ways import best

FOLDER = Path(__file__).with_name("classics")
CLASSICS = (FOLDER / "good.json", FOLDER / "lossy.json", FOLDER / "very_bad.json")
BUFFERS_MS = (60, 100, 200, 400, 800)
"""Three frames; half the protocol's amount, that amount, twice and four times it."""


KEPT = ("qoe", "stall_pct", "stall_free_pct", "stalls_per_min", "bytes_per_s")
SPREADS = ("startup_ms", "first_sound_ms")
"""Of what `replay` tells."""


class Cell(NamedTuple):
    """A network, and a listener."""

    path: Path
    buffer_ms: int


def measure(cell: Cell, args: argparse.Namespace) -> dict[str, Any]:
    """One of them: means over the chances."""
    more = ("--buffer-ms", str(cell.buffer_ms))
    runs = [
        replayed(cell.path, args.backend, args, *more, "--chance", str(chance))
        for chance in range(1, args.chances + 1)
    ]
    means = {key: round(fmean(run[key] for run in runs), 3) for key in KEPT}
    spreads = {key: {p: round(fmean(run[key][p] for run in runs)) for p in ("p50", "p95")} for key in SPREADS}
    return {"class": cell.path.stem, "buffer_ms": cell.buffer_ms, **means, **spreads}


def table(rows: list[dict[str, Any]]) -> str:
    """For people."""
    lines = [
        "class     buffer     QoE   stalled  stalls/min  stall-free  start-up p50 / p95  first sound p50"
    ]
    for row in rows:
        startup, first = row["startup_ms"], row["first_sound_ms"]
        lines.append(
            f"{row['class']:9} {row['buffer_ms']:4} ms {row['qoe']:7.3f} {row['stall_pct']:8.2f}% "
            f"{row['stalls_per_min']:10.2f} {row['stall_free_pct']:10.0f}% "
            f"{startup['p50']:9.0f} / {startup['p95']:5.0f} ms {first['p50']:12.0f} ms"
        )
    return "\n".join(lines)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--backend", choices=("auto", "tun", "netem", "virtual"), default="auto")
    parser.add_argument("--buffers", default=",".join(map(str, BUFFERS_MS)), metavar="MS,MS,…")
    parser.add_argument("--utterances", type=int, default=6)
    parser.add_argument("--chances", type=int, default=3, help="networks of each class, with other losses")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--policy", default="default")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.backend == "auto":
        chosen = best().backend
        args.backend = "virtual" if chosen == "proxy" else chosen  # a relay loses no packet
    args.through = None
    cells = [Cell(path, int(ms)) for path in CLASSICS for ms in args.buffers.split(",")]
    with ThreadPoolExecutor(args.jobs) as pool:
        rows = list(pool.map(lambda cell: measure(cell, args), cells))
    result = {"backend": args.backend, "utterances": args.utterances, "rows": rows}
    print(json.dumps(result) if args.json else table(rows))


if __name__ == "__main__":
    main()
