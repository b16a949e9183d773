"""`abr-tts policy show` and `check`: what a preset says, and whether a server would take a file."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError
from ..failure import Failure

if TYPE_CHECKING:
    from ...control.policy import Policy


OWN_NAME = re.compile("[A-Za-z0-9._-]{1,64}")
"""Names that a new policy may be given: what stands in a file's name, a flag and a label without quoting."""


def add(verbs: Any) -> None:
    """Declare the two verbs."""
    show = verbs.add_parser(
        "show",
        help="print a preset, to begin a file of your own with",
        description="Print a preset as TOML: default, classic, opus or thrifty. What it does not say keeps "
        "its default; --full says everything.",
    )
    show.add_argument("preset", metavar="PRESET", help="default, classic, opus or thrifty")
    show.add_argument(
        "--name", metavar="NAME", help="call it so, for a file of your own: logs and metrics tell it apart"
    )
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
    if arguments.name is not None:
        policy = replace(policy, name=_own(arguments.name))
        text = renamed(text, policy)
    if arguments.json:
        print(json.dumps(as_dict(policy)))
    else:
        print(_explained(policy) if arguments.full else text, end="")
    return 0


def run_check(arguments: argparse.Namespace) -> int:
    """Read it; 0 if it is valid."""
    from ...control.policy_file import read

    policy = read(arguments.file)
    warnings = _warnings(policy)
    if arguments.json:
        print(json.dumps(as_dict(policy) | {"warnings": warnings}))
        return 0
    for words in warnings:
        print(f"abr-tts: warning: {words}", file=sys.stderr)
    ladder = ", ".join(
        f"{rung.name} ({rung.wire_kbps:.0f} kbit/s, {utility:g})"
        for rung, utility in zip(policy.rungs, policy.utilities, strict=True)
    )
    print(f"{arguments.file}: valid; policy {policy.name}, bank at {policy.bank_rung}")
    print(f"ladder, best first (rate on the wire, utility): {ladder}")
    return 0


def renamed(text: str, policy: Policy) -> str:
    """The TOML of a preset under another name: its comments tell whence it came."""
    from ...control.policy_file import line_of

    lines = text.splitlines()
    at = line_of(text, "name")
    assert at is not None, "every preset says its name"
    lines[at - 1] = f'name = "{policy.name}"'
    return "\n".join(lines) + "\n"


def _own(name: str) -> str:
    """
    A name for a policy of one's own.

    Raises:
        Failure: it cannot be one, or is a preset's.
    """
    from ...control.policy_file import PRESETS

    if not OWN_NAME.fullmatch(name):
        raise Failure(f"--name {name!r}: must be 1 to 64 letters, digits, dots, - and _", status=2)
    if name in PRESETS:
        raise Failure(f"--name {name}: is a preset's name; take another", status=2)
    return name


def _warnings(policy: Policy) -> list[str]:
    """What is no fault, and still would mislead."""
    from ...control.policy_file import PRESETS, preset

    if policy.name in PRESETS and policy != preset(policy.name):
        return [f"it is named {policy.name} and is not that preset: logs and metrics will tell of two "
                "policies of one name; set name"]  # fmt: skip
    return []


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
