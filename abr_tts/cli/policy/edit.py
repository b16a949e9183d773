"""A policy file with other numbers: the user's own text, comments and all, changed where it must be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

from ...control.policy import Policy
from ...control.policy_file import line_of, parse
from ...control.policy_text import as_text
from ...errors import ConfigError


def changes(before: Policy, after: Policy) -> dict[str, float]:
    """The numbers that differ, as they are after."""
    return {
        item.name: getattr(after, item.name)
        for item in fields(after)
        if "low" in item.metadata and getattr(after, item.name) != getattr(before, item.name)
    }


def edited(text: str, policy: Policy, name: str, head: str) -> str:
    """
    The text of a policy file that says `policy`.

    Args:
        text: TOML that it starts from, of a preset or a file.
        name: what the policy is called.
        head: comment that it begins with, a line or more, without `#`.

    Returns:
        `text` with the numbers of `policy`, where that is enough; else the whole policy, plainly.
    """
    comment = "".join(f"# {line}\n" for line in head.splitlines())
    policy = replace(policy, name=name)
    try:
        before = parse(text, "the start")
        values: dict[str, str] = {"name": f'"{name}"'}
        values |= {key: repr(value) for key, value in changes(before, policy).items()}
        found = comment + "\n" + _with(text, values)
        if parse(found, "the result") == policy:
            return found
    except ConfigError:
        pass  # it says its numbers in a way that a line cannot be changed in
    return comment + "\n" + as_text(policy)


def _with(text: str, values: Mapping[str, str]) -> str:
    """TOML with these keys at its top, in place where they stand already."""
    lines = text.splitlines()
    new = []
    for key, value in values.items():
        at = line_of(text, key)
        if at is None:
            new.append(f"{key} = {value}")
        else:
            was = lines[at - 1].partition("=")[2].partition("#")[0].strip()
            lines[at - 1] = f"{key} = {value}  # was {was}"
    table = next((index for index, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    while table and (not lines[table - 1].strip() or lines[table - 1].lstrip().startswith("#")):
        table -= 1
    return "\n".join([*lines[:table], *new, *lines[table:]]) + "\n"
