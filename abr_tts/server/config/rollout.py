"""
How policies change: [rollout], [canary].
"""

# ruff: noqa: RUF009 -- `setting` returns a dataclass field, which is what a default may be
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .options import Section, setting


@dataclass(frozen=True)
class RolloutSettings(Section):
    """[rollout]: how policy files that change come into use; see rollout.md."""

    check_s: float = setting(
        5.0, "Seconds between two looks at policy files, and at those of keys and certificates; 0: they are "
        "read again on SIGHUP alone.",
        low=0, high=3600,
    )  # fmt: skip
    state_file: Path | None = setting(
        None, "File that keeps what was rolled out and rolled back over a restart, one a server; "
        "in memory alone if empty.",
    )  # fmt: skip


@dataclass(frozen=True)
class CanarySettings(Section):
    """[canary]: a policy tried on a share of sessions, save requests and keys with one of their own."""

    policy: str | None = setting(
        None, "A preset, or the path of a policy file; while there is no such file, there is no canary."
    )
    share: float = setting(0.1, "Share of sessions whose streams get it, 0 to 1.", low=0, high=1)
