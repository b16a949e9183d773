"""
Splices: how audible a change of rung is, for every pair of rungs that can meet.

The server's packets go into the client's player: speech, a tone of 1 kHz and a sweep, each with
forty changes of each kind and more, heard at 48 and at 22.05 kHz. `pairs` are splices within the
bank, `ranks` those between the bank and an upgrade above it, `retunes` changes inside a track, and
`controls` two faults that the meter must see. What the figures mean, and their bounds, stands in
`abr_tts.audio.seam`. Ends with 1, and says which, if a row misses its bounds or a control does not.

With --resampler torchaudio both server and listener resample by it; it is judged against soxr.
It takes about 2.5 minutes on two cores; with --only, less.

    pip install '.[espeak,test]'    # and torch, for --resampler torchaudio
    python tools/bench/seam.py [--json] [--only pcm16k] [--resampler torchaudio]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

sys.path.append(str(Path(__file__).parents[2]))  # the path and the meter are those of the tests

from soundtrack import soundtrack

from abr_tts.audio import seam
from abr_tts.audio.libopus import load
from abr_tts.audio.resample import NAMES, Resampler, by_name
from abr_tts.control.ladder import FULL
from tests.stream.joins import TONE, Case, Measured, as_sound, high_energies, measure, row
from tests.stream.splicing import FAULTS, Int16, Join, Turns, Upgrades, faulty, hear, messages

OUT_RATES = (48_000, 22_050)
"""Opus' own clock and that of browsers' sound; and a rate that is no multiple of Opus' frames."""

SECONDS = 25.2
"""Of each signal: a change each 0.3 s gives 41 or more of each direction."""

PRESET_RUNGS = ("pcm22", "pcm16k", "opus64", "opus48", "opus32", "opus24", "opus12")
TUNES = ("opus48", "opus32", "opus24", "opus16", "opus12")

T = TypeVar("T")
Wholes = dict[tuple[str, int], Int16]
"""(rung, output rate) → one signal at that rung from end to end."""


@dataclass(frozen=True)
class Plan:
    """
    Changes between two rungs, back and forth.

    Args:
        section: of the report: `pairs`, `ranks` or `retunes`.
        a, b: the rungs; in `ranks` the bank's and the upgrade's.
        rate: Hz of the engine.
        fault: one of FAULTS; such a plan is a control.
        resampler: by which server and listener change rates.
    """

    section: str
    a: str
    b: str
    rate: int = 22_050
    fault: str = ""
    resampler: str = "soxr"

    @property
    def name(self) -> str:
        """What `--only` looks into, such as `pairs pcm22>opus24`."""
        return f"{self.section} {self.fault or f'{self.a}>{self.b}'}"


def plans() -> list[Plan]:
    """Every pair of the presets' rungs of two families, both ways, and a few more."""
    strangers = [pair for pair in combinations(PRESET_RUNGS, 2) if len({FULL[r].family for r in pair}) == 2]
    pairs = [*strangers, ("ulaw22", "pcm22"), ("ulaw22", "opus24")]
    faster = [("pcm24", "opus64"), ("pcm24", "opus24"), ("pcm24", "pcm16k")]
    ranks = [
        *(("opus24", "pcm22"), ("opus24", "opus64"), ("opus24", "opus48"), ("opus24", "pcm16k")),
        *(("opus12", "pcm22"), ("pcm16k", "pcm22")),
    ]
    return [
        *(Plan("pairs", a, b) for a, b in pairs),
        *(Plan("pairs", a, b, 24_000) for a, b in faster),
        *(Plan("ranks", a, b) for a, b in ranks),
        *(Plan("retunes", a, b) for a, b in combinations(TUNES, 2)),
        *(Plan("controls", "pcm22", "opus24", fault=name) for name in FAULTS),
    ]


# ------------------------------------------------------------ work of the processes


@cache
def called(name: str) -> Resampler:
    """Found once a process, on the CPU."""
    return by_name(name, "cpu")


def whole_tracks(signal: str, pcm: Int16, rate: int, rung: str, resampler: str) -> tuple[Wholes, float]:
    """One signal at one rung from end to end, at each output rate; and how late it is (`seam.lag`)."""
    by = called(resampler)
    sent = messages(pcm, rate, Turns([rung]), load(), by)
    wholes = {(rung, out_rate): hear(sent, load(), out_rate, by).sound for out_rate in OUT_RATES}
    late = 0.0
    if signal != TONE:  # which repeats itself
        for (_, out_rate), sound in wholes.items():
            source = Case(signal, pcm, rate, out_rate).source
            late = max(late, seam.lag(source, as_sound(sound), out_rate), key=abs)
    return wholes, late


def joins(plan: Plan, signal: str, pcm: Int16, wholes: Wholes) -> list[Measured]:
    """Every change of a plan on one signal."""
    script = Upgrades(plan.a, plan.b) if plan.section == "ranks" else Turns([plan.a, plan.b])
    by = called(plan.resampler)
    sent = messages(pcm, plan.rate, script, load(), by)
    found = []
    for out_rate in OUT_RATES:
        tracks = {rung: wholes[rung, out_rate] for rung in (plan.a, plan.b)}
        found += measure(Case(signal, pcm, plan.rate, out_rate, by), sent, tracks, load())
    return found


def retunes(plan: Plan, signal: str, pcm: Int16, wholes: Wholes) -> list[tuple[Join, float]]:
    """Every change inside a track, at 48 kHz: the other rate holds nothing that is judged here."""
    out_rate = OUT_RATES[0]
    tracks = {rung: wholes[rung, out_rate] for rung in (plan.a, plan.b)}
    by = called(plan.resampler)
    sent = messages(pcm, plan.rate, Turns([plan.a, plan.b]), load(), by)
    return high_energies(Case(signal, pcm, plan.rate, out_rate, by), sent, tracks, load())


def control(plan: Plan, signal: str, pcm: Int16) -> tuple[list[Measured], float]:
    """The same through a path with a fault; and the lag of its second rung."""
    with faulty(plan.fault):
        wholes, _ = whole_tracks(signal, pcm, plan.rate, plan.a, plan.resampler)
        others, late = whole_tracks(signal, pcm, plan.rate, plan.b, plan.resampler)
        return joins(plan, signal, pcm, wholes | others), late


# ------------------------------------------------------------ the report


@dataclass
class Report:
    """What was measured, as JSON has it, and what of it misses its bounds."""

    figures: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {
            s: {} for s in ("pairs", "ranks", "track_lag_samples", "retunes", "controls")
        }
    )
    faults: list[str] = field(default_factory=list)

    def add_lag(self, rung: str, late: float) -> None:
        """The worst lag of a whole track, of one engine's rate."""
        lags = self.figures["track_lag_samples"]
        lags[rung] = max(lags.get(rung, 0.0), round(late, 2), key=abs)
        bound = seam.lag_bound(FULL[rung].family)
        if abs(late) > bound:
            self.faults.append(f"track_lag_samples {rung}: {late:.2f}, bound {bound}")

    def add(self, plan: Plan, found: Iterable[Measured]) -> None:
        """All splices of a plan that is no control."""
        bounds = seam.Bounds()
        for name, some in _by_name((one.join, one) for one in found).items():
            worst = row(some)
            self.figures[plan.section][name] = _rounded(worst)
            for fault in bounds.faults(worst):
                value, bound = getattr(worst, fault), getattr(bounds, fault)
                self.faults.append(f"{plan.section} {name}: {fault} {value:.3f}, bound {bound}")

    def add_retunes(self, found: Iterable[tuple[Join, float]]) -> None:
        """All changes inside tracks."""
        for name, some in _by_name(found).items():
            worst = max(some)
            self.figures["retunes"][name] = {"hf_db_max": round(worst, 3)}
            if worst > seam.RETUNE_HF_DB:
                self.faults.append(f"retunes {name}: hf_db_max {worst:.2f}, bound {seam.RETUNE_HF_DB}")

    def add_control(self, plan: Plan, found: Iterable[Measured], late: float) -> None:
        """A plan with a fault: it must miss bounds."""
        all_joins = row(found)
        missed = seam.Bounds().faults(all_joins)
        if abs(late) > seam.lag_bound(FULL[plan.b].family):
            missed.append("track_lag_samples")
        self.figures["controls"][plan.fault] = {
            **_rounded(all_joins), "track_lag_samples": round(late, 2), "fails": missed,
        }  # fmt: skip
        if not missed:
            self.faults.append(f"controls {plan.fault}: the meter did not see it")


def _by_name(found: Iterable[tuple[Join, T]]) -> dict[str, list[T]]:
    """By `from>to`."""
    kinds: dict[str, list[T]] = {}
    for join, one in found:
        kinds.setdefault(f"{join.source}>{join.target}", []).append(one)
    return kinds


def _rounded(found: seam.Row) -> dict[str, float]:
    return {name: round(value, 3) for name, value in asdict(found).items()}


def run(wanted: list[Plan], processes: int) -> Report:
    """Measure the plans on all signals, on `processes` processes."""
    report = Report()
    rates = sorted({plan.rate for plan in wanted})
    with ProcessPoolExecutor(processes) as pool:
        sound = dict(zip(rates, pool.map(soundtrack, rates, [SECONDS] * len(rates)), strict=True))
        controls = {
            plan: [pool.submit(control, plan, *signal) for signal in sound[plan.rate].items()]
            for plan in wanted
            if plan.fault
        }
        tracks = _whole_tracks(pool, wanted, sound)
        for (_, rung), late in tracks.lags.items():
            report.add_lag(rung, late)
        work = {
            plan: [
                pool.submit(joins, plan, signal, pcm, tracks.of(plan, signal))
                for signal, pcm in sound[plan.rate].items()
            ]
            for plan in wanted
            if plan.section in ("pairs", "ranks")
        }
        tunes = [
            pool.submit(retunes, plan, signal, pcm, tracks.of(plan, signal))
            for plan in wanted
            if plan.section == "retunes"
            for signal, pcm in sound[plan.rate].items()
        ]
        for plan, parts in work.items():
            report.add(plan, [one for part in parts for one in part.result()])
        report.add_retunes([one for part in tunes for one in part.result()])
        for plan, controlled in controls.items():
            found, lags = zip(*(part.result() for part in controlled), strict=True)
            report.add_control(plan, [one for some in found for one in some], max(lags, key=abs))
    return report


@dataclass
class Tracks:
    """All whole tracks: sound by (engine rate, signal, rung); the worst lag by (engine rate, rung)."""

    sound: dict[tuple[int, str, str], Wholes] = field(default_factory=dict)
    lags: dict[tuple[int, str], float] = field(default_factory=dict)

    def of(self, plan: Plan, signal: str) -> Wholes:
        """Those that a plan joins."""
        return self.sound[plan.rate, signal, plan.a] | self.sound[plan.rate, signal, plan.b]


def _whole_tracks(
    pool: ProcessPoolExecutor, wanted: list[Plan], sound: dict[int, dict[str, Int16]]
) -> Tracks:
    needed = sorted({(p.rate, rung) for p in wanted if not p.fault for rung in (p.a, p.b)})
    futures = {
        (rate, signal, rung): pool.submit(whole_tracks, signal, pcm, rate, rung, wanted[0].resampler)
        for rate, rung in needed
        for signal, pcm in sound[rate].items()
    }
    tracks = Tracks()
    for (rate, signal, rung), future in futures.items():
        tracks.sound[rate, signal, rung], late = future.result()
        tracks.lags[rate, rung] = max(tracks.lags.get((rate, rung), 0.0), late, key=abs)
    return tracks


def table(figures: dict[str, dict[str, Any]]) -> str:
    """The figures for people."""
    head = (
        f"{'':24}{'n':>4}{'hf dB':>8}{'d2':>7}{'sweep':>7}{'resid.':>8}{'dip dB':>8}{'tone %':>8}{'lost':>6}"
    )
    lines = []
    for section in ("pairs", "ranks", "controls"):
        lines += [section, head] if figures[section] else []
        for name, r in figures[section].items():
            lines.append(
                f"  {name:22}{r['n']:4}{r['hf_db_max']:8.2f}{r['d2_max']:7.2f}{r['d2_sweep_max']:7.2f}"
                f"{r['residual_db_median']:8.2f}{r['gain_dip_db_min']:8.2f}"
                f"{100 * r['tone_amp_dev_max']:8.2f}{r['lost_samples']:6}  {' '.join(r.get('fails', ()))}"
            )
    columns = {
        "retunes: hf dB": {name: row["hf_db_max"] for name, row in figures["retunes"].items()},
        "lag of whole tracks, samples at 48 kHz": figures["track_lag_samples"],
    }
    for title, values in columns.items():
        lines += [title, *_columns(values)] if values else []
    return "\n".join(lines)


def _columns(values: dict[str, float]) -> list[str]:
    cells = [f"  {name:16}{value:6.2f}" for name, value in values.items()]
    return ["".join(cells[first : first + 4]) for first in range(0, len(cells), 4)]


def main() -> None:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", default="", metavar="TEXT", help="plans of such a name: ranks, pcm16k, …")
    parser.add_argument("--resampler", default="soxr", choices=NAMES, help="by which rates are changed")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    wanted = [replace(plan, resampler=args.resampler) for plan in plans() if args.only in plan.name]
    if not wanted:
        names = ", ".join(plan.name for plan in plans())
        parser.error(f"no plan's name contains {args.only!r}; there are: {names}")
    report = run(wanted, args.processes)
    print(json.dumps(report.figures, indent=2) if args.json else table(report.figures))
    for fault in report.faults:
        print(f"misses: {fault}", file=sys.stderr)
    sys.exit(1 if report.faults else 0)


if __name__ == "__main__":
    main()
