"""
What each rung is worth to a listener: the utility table, measured anew.

Clips of speech go through the shipped path, the server's encoders and the client's player, at each
rung from end to end. Two meters compare what is heard with the clip (see `quality_meters`); u is 1
for what cannot be told from it. The clips are the embedded engine's, two voices of English, one of
Mandarin and one of German; with --clips every WAV file of a folder besides, neural speech for
example. Printed beside the table in force, `abr_tts/control/utility.py`; --write writes it there.

    python tools/bench/quality.py [--json] [--clips DIR] [--write]     (some 2 minutes)
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

sys.path.append(str(Path(__file__).parents[2]))  # the path is that of the tests

from quality_clips import Clip, embedded, recorded
from quality_meters import missing, pesq_of, utility, visqol_of
from quality_table import rewritten, tables

from abr_tts.audio.libopus import load
from abr_tts.control import utility as table
from abr_tts.control.ladder import FULL, Rung
from abr_tts.errors import AbrError
from tests.stream.splicing import Turns, hear, messages

OUT_RATE = 48_000
"""Hz at which is heard: all that any rung carries."""


def measure(clip: Clip, rung: str) -> dict[str, float]:
    """PESQ, ViSQOL and u of a clip at a rung."""
    library = load()
    sent = messages(clip.sound, clip.rate, Turns([rung]), library)
    heard = hear(sent, library, OUT_RATE).sound
    pesq = pesq_of(clip.sound, heard, clip.rate, OUT_RATE)
    visqol = visqol_of(clip.sound, heard, clip.rate, OUT_RATE)
    if pesq is None or visqol is None:
        raise ValueError(f"{clip.name}: the meters find no speech in it")
    return {"pesq": round(pesq, 3), "visqol": round(visqol, 3), "u": round(utility(pesq, visqol), 4)}


def rungs_for(clips: Iterable[Clip]) -> list[Rung]:
    """Every rung that carries something of at least one clip."""
    fastest = max(clip.rate for clip in clips)
    return [rung for rung in FULL.rungs if rung.codec == "opus" or rung.sample_rate <= fastest]


def run(clips: list[Clip], processes: int) -> dict[str, Any]:
    """Measure every clip at every rung that it can have."""
    pairs = [
        (clip, rung.name)
        for rung, clip in product(rungs_for(clips), clips)
        if rung.codec == "opus" or rung.sample_rate <= clip.rate
    ]
    with ProcessPoolExecutor(processes) as pool:
        found = list(pool.map(measure, *zip(*pairs, strict=True)))
    rungs: dict[str, Any] = {}
    for (clip, name), figures in zip(pairs, found, strict=True):
        rungs.setdefault(name, {})[clip.name] = figures
    return {
        "clips": {clip.name: {"rate": clip.rate, "seconds": round(clip.seconds, 2)} for clip in clips},
        "rungs": {name: _row(name, by_clip) for name, by_clip in rungs.items()},
    }


def _row(name: str, by_clip: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    means = {
        meter: round(mean(one[meter] for one in by_clip.values()), 3) for meter in ("pesq", "visqol", "u")
    }
    in_force = table.measured_utility(FULL[name])
    return {
        **means,
        "spread": round(pstdev(one["u"] for one in by_clip.values()), 3),
        "in_force": in_force,
        "difference": round(means["u"] - in_force, 3),
        "by_clip": by_clip,
    }


def show(result: Mapping[str, Any]) -> None:
    """The table for people."""
    for name, clip in result["clips"].items():
        print(f"clip {name}: {clip['seconds']} s at {clip['rate']} Hz")
    print(f"{'rung':10}{'PESQ':>7}{'ViSQOL':>8}{'u':>8}{'spread':>8}{'in force':>10}{'differs':>9}")
    for name, row in result["rungs"].items():
        print(
            f"{name:10}{row['pesq']:7.2f}{row['visqol']:8.2f}{row['u']:8.3f}{row['spread']:8.3f}"
            f"{row['in_force']:10.3f}{row['difference']:+9.3f}"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--clips", type=Path, metavar="DIR", help="a folder of WAV files to measure besides")
    parser.add_argument("--only-clips", action="store_true", help="not the embedded engine's")
    parser.add_argument("--write", action="store_true", help="write the table's file")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    if lacks := missing():
        raise SystemExit(lacks)
    try:
        clips = recorded(args.clips) if args.clips else []
        if not (clips and args.only_clips):
            with ProcessPoolExecutor(1) as pool:
                clips = [*pool.submit(embedded).result(), *clips]
        result = run(clips, args.processes)
    except (AbrError, ValueError) as error:
        raise SystemExit(str(error)) from None
    if args.json:
        print(json.dumps(result, indent=2))
    else:
        show(result)
    if args.write:
        path = Path(table.__file__)
        path.write_text(rewritten(path.read_text("utf-8"), tables(result["rungs"])), "utf-8")
        print(f"written: {path}", file=sys.stderr)


if __name__ == "__main__":
    main()
