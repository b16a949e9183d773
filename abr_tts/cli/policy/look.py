"""`abr-tts policy show` and `check`: what a preset says, and whether a server would take a file."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError
from ..failure import Failure

if TYPE_CHECKING:
    from ...control.policy import Policy


def add(verbs: Any) -> None:
    """Declare the two verbs."""
    show = verbs.add_parser(
        "show",
        help="print a preset, to begin a file of your own with",
        description="Print a preset as TOML: default, classic, opus or thrifty. What it does not say keeps "
        "its default; --full says everything.",
    )
    show.add_argument("preset", metavar="PRESET", help="default, classic, opus or thrifty")
    told = show.add_mutually_exclusive_group()
    told.add_argument("--full", action="store_true", help="every key with its value and what it does")
    told.add_argument("--json", action="store_true", help="print the whole policy as one JSON object")
    show.set_defaults(run=run_show)
    check = verbs.add_parser(
        "check",
        help="check a policy file",
        description="Read a policy file as a server would. A fault is told with file, line, key and reason.",
    )
    check.add_argument("file", metavar="FILE", type=Path, help="policy file (TOML)")
    check.add_argument("--json", action="store_true", help="print the policy as one JSON object")
    check.set_defaults(run=run_check)


def run_show(arguments: argparse.Namespace) -> int:
    """Print it; 0."""
    from ...control.policy_file import preset, preset_text

    try:
        text, policy = preset_text(arguments.preset), preset(arguments.preset)
    except ConfigError as error:
        raise Failure(str(error), status=2) from None
    if arguments.json:
        print(json.dumps(as_dict(policy)))
    else:
        print(_explained(policy) if arguments.full else text, end="")
    return 0


def run_check(arguments: argparse.Namespace) -> int:
    """Read it; 0 if it is valid."""
    from ...control.policy_file import read

    policy = read(arguments.file)
    if arguments.json:
        print(json.dumps(as_dict(policy)))
        return 0
    ladder = ", ".join(
        f"{rung.name} ({rung.wire_kbps:.0f} kbit/s, {utility:g})"
        for rung, utility in zip(policy.rungs, policy.utilities, strict=True)
    )
    print(f"{arguments.file}: valid; policy {policy.name}, bank at {policy.bank_rung}")
    print(f"ladder, best first (rate on the wire, utility): {ladder}")
    return 0


def as_dict(policy: Policy) -> dict[str, Any]:
    """A policy for JSON: every key, and the ladder as a list."""
    values = {f.name: getattr(policy, f.name) for f in fields(policy) if f.name not in ("rungs", "utilities")}
    rungs = [
        {"name": r.name, "codec": r.codec, "sample_rate": r.sample_rate, "kbps": r.kbps,
         "wire_kbps": round(r.wire_kbps, 1), "utility": utility}
        for r, utility in zip(policy.rungs, policy.utilities, strict=True)
    ]  # fmt: skip
    return values | {"rungs": rungs}


def _explained(policy: Policy) -> str:
    """The whole policy as TOML, each key under its sentence."""
    from ...control.policy_text import as_text

    sentences = {item.name: _sentence(item.metadata) for item in fields(policy)}
    lines = []
    for line in as_text(policy).splitlines():
        key = line.partition(" =")[0]
        if key in sentences and "[[rung]]" not in lines:
            lines.append(f"# {sentences[key]}")
        lines.append(line)
    return "\n".join(lines) + "\n"


def _sentence(metadata: Mapping[str, Any]) -> str:
    """What a key does, and what it may be."""
    told: str = metadata.get("sentence", "")
    if "low" in metadata:
        return f"{told} {metadata['low']:g} to {metadata['high']:g}."
    return f"{told} {' or '.join(metadata['choices'])}." if metadata.get("choices") else told
