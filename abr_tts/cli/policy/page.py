"""A study as one HTML file that stands alone: no script, no font, nothing fetched."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from ...sim.study import Figures, Outcome, kinds
from .charts import BOUND, OTHER, OWN, Bar, Dot, bars, scatter
from .networks import summary
from .table import HEAD, cells
from .timelines import timeline

WORST = 3
"""Networks whose time lines are shown."""

LEAST_STALL_PCT = 1.0
"""Stalled share that the axis shows at least."""

STYLE = """
body { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Noto Sans", Arial, sans-serif; color: #1d2a35;
  max-width: 1040px; margin: 2rem auto; padding: 0 1rem; background: #fff; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
p { max-width: 46rem; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #e4e9ed; }
th:first-child, td:first-child { text-align: left; } tr.own td { font-weight: 600; }
svg { max-width: 100%; height: auto; display: block; margin: .8rem 0; }
"""


def page(outcome: Outcome, report: Mapping[str, Any]) -> str:
    """The document."""
    study = outcome.study
    own = study.contenders[0].name
    title = f"{own} over {summary(study.cases)}"
    body = [
        f"<h1>{escape(own)}</h1>",
        f"<p>Simulated over {escape(summary(study.cases))}, seed {study.seed}. QoE: 1 is perfect speech; "
        "stalls, changes and waiting cost. Each network counts by the seconds of speech "
        "over it; p10 is the tenth percentile over networks.</p>",
        _table(outcome, report),
        "<h2>By kind of network</h2>",
        *_bars(outcome, report),
        *_scatter(outcome, report),
        *_timelines(outcome, report),
    ]
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{STYLE}</style>\n</head>\n<body>\n'
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _table(outcome: Outcome, report: Mapping[str, Any]) -> str:
    rows = []
    for index, row in enumerate(cells(outcome, report)):
        inner = "".join(f"<td>{escape(cell)}</td>" for cell in row)
        kind = "" if index else ' class="own"'
        rows.append(f"<tr{kind}>{inner}</tr>")
    head = "".join(f"<th>{escape(cell)}</th>" for cell in HEAD)
    return f"<table>\n<tr>{head}</tr>\n" + "\n".join(rows) + "\n</table>"


def _bars(outcome: Outcome, report: Mapping[str, Any]) -> list[str]:
    own = outcome.study.contenders[0].name
    everyone: dict[str, Figures] = {own: dict(report), **report["baselines"]}
    groups = ["all", *kinds(outcome.study.cases)]

    def group(name: str, key: str) -> list[Bar]:
        found = [
            Bar(who, (told if name == "all" else told["kinds"][name])[key], OWN if who == own else OTHER)
            for who, told in everyone.items()
        ]
        bound = outcome.optimum("" if name == "all" else name)
        if bound is not None:
            found.append(Bar("optimum", bound.qoe if key == "qoe" else bound.stall_pct, BOUND))
        return found

    own_stalls = [bar.value or 0.0 for name in groups for bar in group(name, "stall_pct")[:2]]
    most = max(LEAST_STALL_PCT, 1.5 * max(own_stalls))
    return [
        bars("QoE", [(name, group(name, "qoe")) for name in groups], 1.0, 3, "1 is perfect speech"),
        bars("Stalled, % of the speech", [(name, group(name, "stall_pct")) for name in groups], most, 2,
             "less is better"),
    ]  # fmt: skip


def _scatter(outcome: Outcome, report: Mapping[str, Any]) -> list[str]:
    best = best_baseline(report)
    if best is None or len(outcome.study.cases) < 2:
        return []
    names = [contender.name for contender in outcome.study.contenders]
    dots = [
        Dot(case.name, case.kind, outcome.case_figures(names.index(best), index)["qoe"],
            outcome.case_figures(0, index)["qoe"])
        for index, case in enumerate(outcome.study.cases)
    ]  # fmt: skip
    return [
        "<h2>Network by network</h2>",
        f"<p>Above the line {escape(names[0])} is better than {escape(best)}, the best of the others. "
        "Point at a dot for the network's name.</p>",
        scatter("Network by network", best, names[0], dots),
    ]


def best_baseline(report: Mapping[str, Any]) -> str | None:
    """Whose QoE over all networks is greatest; None without baselines."""
    others: Mapping[str, Figures] = report["baselines"]
    return max(others, key=lambda name: float(others[name]["qoe"]), default=None)


def _timelines(outcome: Outcome, report: Mapping[str, Any]) -> list[str]:
    study = outcome.study
    worst = sorted(range(len(study.cases)), key=lambda index: outcome.case_figures(0, index)["qoe"])[:WORST]
    best = best_baseline(report)
    shown = [one for one in study.contenders if one is study.contenders[0] or one.name == best]
    found = ["<h2>The worst networks</h2>", "<p>What was sent, heard and in hand; red is silence.</p>"]
    for index in worst:
        name = study.cases[index].name
        headline = f"{name}: QoE {outcome.case_figures(0, index)['qoe']:.3f}"
        found.append(timeline(study, index, shown, headline))
    return found
