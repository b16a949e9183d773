"""
What came of a session, as JSON and as lines for people.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from abr_tts.sim.result import Result, Utterance
from abr_tts.sim.score import qoe, stalled_s, summarise, waited_s


def as_json(
    result: Result, backend: str, why: str, notes: Sequence[str], checked: dict[str, Any] | None, policy: str
) -> dict[str, Any]:
    """Plain values; what was not measured is null."""
    told = {
        "scenario": result.scenario,
        "backend": backend,
        "why": why,
        "notes": list(notes),
        "self_check": checked,
        "policy": policy,
        **summarise([result]).as_json(),
        "seconds": result.seconds,
        "lost_packets": None if backend == "virtual" else result.retransmitted,
        "resent_packets": result.retransmitted if backend == "virtual" else None,
        "dropped_packets": result.dropped,
        "spoken": [_utterance(one) for one in result.utterances],
    }
    rounded: dict[str, Any] = _rounded(told)
    return rounded


def _utterance(one: Utterance) -> dict[str, Any]:
    return {
        "asked_at": one.asked_at,
        "audio_s": one.audio_s,
        "complete": one.complete,
        "qoe": qoe(one),
        "startup_ms": 1000 * waited_s(one),
        "first_sound_ms": 1000 * one.startup_s,
        "stalls": one.stalls,
        "stalled_s": stalled_s(one),
        "played": [list(run) for run in one.runs],
        "switches": [
            {"at": c.at, "from": c.source, "to": c.target, "from_s": c.from_s, "reason": c.reason}
            for c in one.changes
            if c.source != c.target
        ],
        "payload_bytes": one.payload_bytes,
        "wire_bytes": one.wire_bytes,
    }


def _rounded(value: Any) -> Any:
    """To four places; infinity is null, since JSON has none."""
    if isinstance(value, float):
        return round(value, 4) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(inner) for inner in value]
    return value


def as_text(told: dict[str, Any]) -> str:
    """The same for people."""
    lines = [f"{told['scenario']}, policy {told['policy']}, backend {told['backend']} ({told['why']})"]
    lines += [f"  {note}" for note in told["notes"]]
    if told["self_check"]:
        for one in told["self_check"]["checks"]:
            lines.append("  checked: " + ", ".join(f"{key} {value:g}" for key, value in one.items()))
    for number, one in enumerate(told["spoken"], 1):
        lines += _spoken(number, one)
    startup, first = told["startup_ms"], told["first_sound_ms"]
    lines += [
        "",
        f"QoE {told['qoe']:.3f}   stalled {told['stall_pct']:.2f} %   "
        f"stall-free {told['stall_free_pct']:.0f} %   stalls a minute {told['stalls_per_min']:.2f}",
        f"start-up p50 {_ms(startup['p50'])}, p95 {_ms(startup['p95'])} (from the request: "
        f"{_ms(first['p50'])}, {_ms(first['p95'])})   switches a minute {told['switches_per_min']:.1f}",
        f"bytes a second {told['bytes_per_s']:.0f}   packets {_losses(told)}, "
        f"dropped {told['dropped_packets']}",
        "played: " + ", ".join(f"{rung} {s:.1f} s" for rung, s in told["played_seconds"].items()),
    ]
    return "\n".join(lines)


def _spoken(number: int, one: dict[str, Any]) -> list[str]:
    stalls = f"{one['stalls']} stalls, {one['stalled_s']:.2f} s" if one["stalls"] else "no stall"
    end = "" if one["complete"] else ", NOT heard to its end"
    played = ", ".join(f"{rung} {seconds:.1f}" for rung, seconds in one["played"])
    start = f"sound after {_ms(one['first_sound_ms'])}"
    lines = [
        "",
        f"{one['asked_at']:7.2f} s  utterance {number}, {one['audio_s']:.1f} s{end}: "
        f"QoE {one['qoe']:.3f}, {start}, {stalls}, {one['wire_bytes']} bytes",
        f"           heard: {played or 'nothing'}",
    ]
    for change in one["switches"]:
        lines.append(
            f"{change['at']:7.2f} s  {change['from']} to {change['to']} "
            f"at {change['from_s']:.2f} s of the utterance: {change['reason']}"
        )
    return lines


def _losses(told: dict[str, Any]) -> str:
    if told["lost_packets"] is None:
        return f"sent again {told['resent_packets']}"
    return f"lost {told['lost_packets']}"


def _ms(value: float | None) -> str:
    return "never" if value is None else f"{value:.0f} ms"
