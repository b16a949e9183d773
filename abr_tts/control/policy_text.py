"""
A policy as TOML that says everything: what a trace keeps, so that a replay needs no other file.

Reading it back (`policy_file.parse`) gives an equal policy, whatever the presets say by then.
"""

from __future__ import annotations

import json
from dataclasses import fields

from .ladder import Rung
from .policy import Policy


def as_text(policy: Policy) -> str:
    """The whole policy as TOML: each key, and each rung in full."""
    lines = [
        f"{item.name} = {_value(getattr(policy, item.name))}"
        for item in fields(policy)
        if item.name not in ("rungs", "utilities")
    ]
    for rung, utility in zip(policy.rungs, policy.utilities, strict=True):
        lines += ["", "[[rung]]", *_rung(rung), f"utility = {_value(utility)}"]
    return "\n".join(lines) + "\n"


def _rung(rung: Rung) -> list[str]:
    lines = [f"name = {_value(rung.name)}", f"codec = {_value(rung.codec)}"]
    lines.append(f"sample_rate = {rung.sample_rate}")
    if rung.codec == "opus":
        lines.append(f"kbps = {_value(rung.kbps)}")
    return lines


def _value(value: str | float) -> str:
    """TOML writes a text as JSON does (but for DEL), and a number as Python does."""
    if not isinstance(value, str):
        return repr(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
