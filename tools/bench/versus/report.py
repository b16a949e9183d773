"""
What many listeners heard, as figures and as a table. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import mean
from typing import Any

from abr_tts.sim.result import Result, Utterance
from abr_tts.sim.score import percentile, points, stalled_s, summarise
from versus.paired import difference
from versus.session import Heard
from versus.sound import Sounds

Visit = Sequence[Utterance]


def qoe(visits: Sequence[Visit]) -> float:
    """Audio-weighted mean of the QoE."""
    return sum(points(u) for visit in visits for u in visit) / _audio_s(visits)


def stalled_pct(visits: Sequence[Visit]) -> float:
    """Stalled seconds of a hundred seconds of speech."""
    return 100 * sum(stalled_s(u) for visit in visits for u in visit) / _audio_s(visits)


def stall_free_pct(visits: Sequence[Visit]) -> float:
    """Utterances of a hundred that never stalled."""
    every = [u for visit in visits for u in visit]
    return 100 * sum(not stalled_s(u) for u in every) / len(every)


MEASURES = {"qoe": qoe, "stall_pct": stalled_pct, "stall_free_pct": stall_free_pct}
"""Compared pair by pair."""


def _audio_s(visits: Sequence[Visit]) -> float:
    return sum(u.audio_s for visit in visits for u in visit)


def utterances_of(heard: Sequence[Heard]) -> list[Visit]:
    """The records of each visit."""
    return [[item.record for item in one.items] for one in heard]


def figures(heard: Sequence[Heard], sounds: Sounds) -> dict[str, Any]:
    """All figures of one arm."""
    visits = utterances_of(heard)
    summary = _summary(visits)
    started = sorted(1000 * u.startup_s for visit in visits for u in visit)
    audio_s = _audio_s(visits)
    items = [item for one in heard for item in one.items]
    return {
        **summary,
        "start_ms": {"p50": round(percentile(started, 50), 1), "p95": round(percentile(started, 95), 1)},
        "stalled_s": round(sum(stalled_s(u) for visit in visits for u in visit), 2),
        "pesq": _mean(sounds.pesq),
        "pesq_as_heard": _mean(sounds.pesq_as_heard),
        "visqol": _mean(sounds.visqol),
        "wer_pct": sounds.wrong_pct,
        "server_cpu_ms_per_s": round(1000 * sum(one.cpu_s for one in heard) / audio_s, 1),
        "concealed_pct": round(100 * sum(item.concealed_s for item in items) / audio_s, 2),
        "recovered_pct": round(100 * sum(item.recovered_s for item in items) / audio_s, 2),
        "faults": [item.fault for item in items if item.fault],
        "loop_lag_ms": {
            side: round(1000 * percentile(sorted(lag for one in heard for lag in one.lags[side]), 99), 1)
            for side in ("listener", "server")
        },
        "kinds": _by_kind(heard),
    }


def _by_kind(heard: Sequence[Heard]) -> dict[str, dict[str, float]]:
    """The compared figures of each kind of network."""
    kinds: dict[str, list[Visit]] = {}
    for one, visit in zip(heard, utterances_of(heard), strict=True):
        kinds.setdefault(one.visit.kind, []).append(visit)
    return {
        kind: {name: round(measure(visits), 4) for name, measure in MEASURES.items()}
        for kind, visits in sorted(kinds.items())
    }


def _summary(visits: Sequence[Visit]) -> dict[str, Any]:
    summary = summarise([Result("", tuple(visit), 0.0, 0, 0, 0) for visit in visits]).as_json()
    wanted = ("qoe", "p10_qoe", "stall_pct", "stall_free_pct", "stalls_per_min", "switches_per_min")
    more = ("bytes_per_s", "utterances", "audio_s")
    found: dict[str, Any] = {name: round(summary[name], 4) for name in (*wanted, *more)}
    found["played_seconds"] = {rung: round(s, 1) for rung, s in summary["played_seconds"].items()}
    return found


def _mean(values: Sequence[float]) -> float | None:
    return round(mean(values), 3) if values else None


def paired(arms: Mapping[str, Sequence[Heard]], base: str, seed: int) -> dict[str, Any]:
    """Of every other arm: value, low and high of its differences from `base`."""
    theirs = utterances_of(arms[base])
    return {
        name: {
            key: [round(value, 4) for value in difference(utterances_of(heard), theirs, measure, seed=seed)]
            for key, measure in MEASURES.items()
        }
        for name, heard in arms.items()
        if name != base
    }


COLUMNS: tuple[tuple[str, Callable[[Mapping[str, Any]], str]], ...] = (
    ("stall-free %", lambda f: f"{f['stall_free_pct']:.0f}"),
    ("stalled s", lambda f: f"{f['stalled_s']:.1f}"),
    ("start p95 ms", lambda f: f"{f['start_ms']['p95']:.0f}"),
    ("QoE", lambda f: f"{f['qoe']:.3f}"),
    ("PESQ", lambda f: _cell(f["pesq"], ".2f")),
    ("ViSQOL", lambda f: _cell(f["visqol"], ".2f")),
    ("wrong words %", lambda f: _cell(f["wer_pct"], ".1f")),
    ("kB/s", lambda f: f"{f['bytes_per_s'] / 1000:.1f}"),
    ("server CPU ms/s", lambda f: f"{f['server_cpu_ms_per_s']:.1f}"),
)
"""Heads of the table's columns, and what stands under them."""


def _cell(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def table(result: Mapping[str, Any]) -> str:
    """The table as Markdown."""
    paired = result["paired"]
    heads = ["arm", *(head for head, _ in COLUMNS), *(f"QoE less {base}'s [95 %]" for base in paired)]
    lines = [" | ".join(heads), " | ".join(["---"] * len(heads))]
    for name, found in result["arms"].items():
        against = [_interval(others[name]["qoe"]) if name in others else "" for others in paired.values()]
        lines.append(" | ".join([name, *(cell(found) for _, cell in COLUMNS), *against]))
    return "\n".join(f"| {line} |" for line in lines)


def _interval(found: Sequence[float]) -> str:
    value, low, high = found
    return f"{value:+.3f} [{low:+.3f}, {high:+.3f}]"
