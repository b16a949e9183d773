"""The tables that people read: the figures of a study in columns, by kind, and its worst networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...control.ladder import FULL
from ...sim.study import Figures, Outcome, kinds
from .networks import summary

HEAD = (
    "",
    "QoE",
    "p10",
    "stalled %",
    "stall-free %",
    "stalls/min",
    "changes/min",
    "start p50/p95 ms",
    "kB/s",
)
"""Columns: see docs/policies.md."""

WORST = 5
"""Networks that are named."""


def simulated(outcome: Outcome, report: Mapping[str, Any]) -> str:
    """What came of a simulation."""
    study = outcome.study
    own = study.contenders[0].name
    speeches = f", {study.repeats} speeches each" if study.repeats > 1 else ""
    lines = [
        f"{own} over {summary(study.cases)}, seed {study.seed}{speeches}",
        "",
        *columns([HEAD, *cells(outcome, report)]),
    ]
    if "optimum" in report:
        lines += ["", f"optimum: {report['optimum']['bound']}"]
    lines += ["", *_by_kind(outcome, report), "", _heard(report), *_worst(outcome)]
    return "\n".join(lines)


def cells(outcome: Outcome, report: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """A row for each contender and the optimum, below `HEAD`."""
    own = outcome.study.contenders[0].name
    rows = [_row(own, report), *(_row(name, found) for name, found in report["baselines"].items())]
    if "optimum" in report:
        bound = report["optimum"]
        rows.append(("optimum", _u(bound["qoe"]), "", _pct(bound["stall_pct"]), *([""] * 5)))
    return rows


def _row(name: str, found: Mapping[str, Any]) -> tuple[str, ...]:
    start = found["startup_ms"]
    return (
        name, _u(found["qoe"]), _u(found["p10_qoe"]), _pct(found["stall_pct"]),
        f"{found['stall_free_pct']:.1f}", _pct(found["stalls_per_min"]), _pct(found["switches_per_min"]),
        f"{_ms(start['p50'])} / {_ms(start['p95'])}", f"{found['bytes_per_s'] / 1000:.1f}",
    )  # fmt: skip


def _by_kind(outcome: Outcome, report: Mapping[str, Any]) -> list[str]:
    names = kinds(outcome.study.cases)
    head = ("QoE / stalled %", *names)
    everyone = {outcome.study.contenders[0].name: report, **report["baselines"]}
    rows = [(name, *(_both(found["kinds"][kind]) for kind in names)) for name, found in everyone.items()]
    bounds = [outcome.optimum(kind) for kind in names]
    if all(bounds):
        rows.append(("optimum", *(f"{_u(b.qoe)} / {_pct(b.stall_pct)}" for b in bounds if b)))
    return columns([head, *rows])


def _both(found: Figures) -> str:
    return f"{_u(found['qoe'])} / {_pct(found['stall_pct'])}"


def _heard(report: Mapping[str, Any]) -> str:
    played: Mapping[str, float] = report["played_seconds"]
    total = sum(played.values()) or 1.0
    known = {rung.name for rung in FULL.rungs}
    told = [f"{r.name} {100 * played[r.name] / total:.0f} %" for r in FULL.rungs if r.name in played]
    told += [f"{name} {100 * s / total:.0f} %" for name, s in played.items() if name not in known]
    return f"heard: {', '.join(told)}"


def _worst(outcome: Outcome) -> list[str]:
    cases = outcome.study.cases
    if len(cases) < 2:
        return []
    found = [(outcome.case_figures(0, index), case.name) for index, case in enumerate(cases)]
    found.sort(key=lambda pair: pair[0]["qoe"])
    told = [(name, _u(one["qoe"]), _pct(one["stall_pct"])) for one, name in found[:WORST]]
    return ["", *columns([("worst networks", "QoE", "stalled %"), *told])]


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines: the first column to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _u(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _pct(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"
