"""`abr-tts replay`: a recorded stream decided again, or beside it as another policy would have."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import NoCommonFormat
from .failure import Failure
from .policy.arguments import policy_of

if TYPE_CHECKING:
    from ..sim.replay import Choice, Look, Replayed, Verdict
    from ..trace import Trace

COUNTERFACTUAL = (
    "From the first difference on this is not what would have happened: every question is asked with "
    "what the recorded policy had sent and met by then."
)
"""What a reader of such a comparison must know."""

WHAT = (
    "What is banked and what it is upgraded to, whenever either of the two changes, and to which second of\n"
    "the speech it was heard and banked by then:"
)
"""What the table shows."""


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "replay",
        help="repeat the decisions of a recorded stream",
        description="Repeat a trace that abr-tts serve --record wrote, decision by decision.",
        epilog="Exit status: 0 if everything came out as recorded, bit for bit; 1 if not; "
        "2 if the file is no trace (with its line), or the policy is none.",
    )
    parser.add_argument("file", metavar="FILE.jsonl", type=Path, help="the trace of one stream")
    parser.add_argument(
        "--policy", metavar="OTHER", help="say what this preset or policy file would have chosen instead"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Replay; 0 if it came out as recorded."""
    from ..sim.replay import judge, replay
    from ..trace import BadTrace

    policy = policy_of(arguments.policy) if arguments.policy else None
    try:
        trace = _read(arguments.file)
        replayed = replay(trace)
        verdict = judge(trace, policy) if policy else None
    except BadTrace as error:
        raise Failure(str(error), status=2) from None
    except NoCommonFormat as error:
        raise Failure(f"{arguments.policy} has nothing for this listener: {error}", status=2) from None
    if arguments.json:
        print(json.dumps(_as_dict(trace, replayed, verdict)))
    else:
        print(_told(trace, replayed))
        if verdict:
            print("\n".join(_table(replayed, verdict)))
    return 1 if replayed.difference else 0


def _read(path: Path) -> Trace:
    from ..trace import read

    try:
        with path.open(encoding="utf-8") as lines:
            return read(lines, str(path))
    except OSError as error:
        raise Failure(f"{path}: cannot be read: {error.strerror or error}", status=2) from None
    except UnicodeDecodeError:
        raise Failure(f"{path}: is not UTF-8, so it is no trace", status=2) from None


# ---------------------------------------------------------------- in words


def _told(trace: Trace, replayed: Replayed) -> str:
    sha = trace.header["policy_sha256"]
    policy = f"policy {replayed.policy} (SHA-256 {sha[:12]}…)" if sha else replayed.policy
    end = f", ended: {trace.end}" if trace.end else ", cut off"
    what = f"{trace.source}: {replayed.seconds:.1f} s, {replayed.inputs} inputs, {policy}{end}"
    difference = replayed.difference
    if difference is None:
        return f"{what}\nall {replayed.outputs} outputs came out as recorded, bit for bit"
    return f"{what}\nline {difference.line}, after {difference.at_s:.3f} s: {difference.sentence}"


def _table(replayed: Replayed, verdict: Verdict) -> list[str]:
    then, now = f"then: {replayed.policy}", f"now: {verdict.policy}"
    head = ("at s", "heard to s", "banked to s", then, now, "why now")
    rows = [_row(look) for look in verdict.looks]
    widths = [max(map(len, column)) for column in zip(*((row[:5]) for row in (head, *rows)), strict=True)]
    lines = ["", WHAT]
    for row in (head, *rows):
        cells = [
            cell.rjust(width) if number < 3 else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        lines.append("  ".join((*cells, row[5])).rstrip())
    lines.append("")
    lines.append(
        f"Asked {verdict.asked} times what is sent next, {verdict.policy} would have answered otherwise "
        f"{verdict.otherwise} times" + (f", first after {verdict.first_s:.3f} s." if verdict.first_s else ".")
    )
    if not verdict.otherwise:
        return lines
    if not verdict.differing:
        return [*lines, "The rungs would have been the same all along.", COUNTERFACTUAL]
    total = sum(seconds for _, seconds in verdict.differing)
    lines.append(f"The rungs differ for {total:.1f} s:")
    lines += [
        f"  from {look.at_s:.3f} s for {seconds:.1f} s (heard up to {look.heard_s:.1f} s of the speech, "
        f"banked up to {look.banked_s:.1f} s)"
        for look, seconds in verdict.differing
    ]
    return [*lines, COUNTERFACTUAL]


def _row(look: Look) -> tuple[str, ...]:
    now = look.now
    why = "" if now is None or not look.differs else now.upgrade_reason or now.bank_reason
    then = look.then
    if why and now and then and now.bank != then.bank and now.upgrade == then.upgrade:
        why = now.bank_reason
    return (
        f"{look.at_s:.3f}", f"{look.heard_s:.1f}", f"{look.banked_s:.1f}", _rungs(then), _rungs(now), why,
    )  # fmt: skip


def _rungs(choice: Choice | None) -> str:
    if choice is None:
        return "-"
    return f"{choice.bank} + {choice.upgrade}" if choice.upgrade else choice.bank


# ---------------------------------------------------------------- for programs


def _as_dict(trace: Trace, replayed: Replayed, verdict: Verdict | None) -> dict[str, Any]:
    difference = replayed.difference
    told: dict[str, Any] = {
        "file": trace.source,
        "equal": difference is None,
        "policy": replayed.policy,
        "policy_sha256": trace.header["policy_sha256"],
        "seconds": replayed.seconds,
        "inputs": replayed.inputs,
        "outputs": replayed.outputs,
        "end": trace.end,
        "difference": asdict(difference) if difference else None,
    }
    if verdict is not None:
        told["other"] = {
            "policy": verdict.policy,
            "changes": [asdict(look) | {"differs": look.differs} for look in verdict.looks],
            "differing": [
                {"at_s": look.at_s, "seconds": seconds, "heard_s": look.heard_s, "banked_s": look.banked_s}
                for look, seconds in verdict.differing
            ],
            "asked": verdict.asked,
            "otherwise": verdict.otherwise,
            "first_s": verdict.first_s,
            "note": COUNTERFACTUAL,
        }
    return told
