"""What came of a demonstration: figures as JSON, as a table, and the files that it leaves."""

from __future__ import annotations

import wave
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..control.ladder import FULL
from .account import Account
from .path import not_emulated
from .picture import Shown, draw, name_of, verdict
from .run import Heard, Show

FILES = ("adaptive.wav", "fixed.wav", "decisions.jsonl", "demo.svg")
"""What is left behind."""


def figures(heard: Heard) -> dict[str, Any]:
    """One arm, for JSON. Times count from the request; `reason` is the server's own."""
    account = heard.account
    first = account.first_audio_s
    return {
        "first_audio_ms": None if first is None else round(first * 1000),
        "stalls": account.stalls,
        "stall_ms": round(account.stall_s * 1000),
        "switches": [
            {
                "at_ms": round(change.at * 1000),
                "from": change.source,
                "to": change.target,
                "reason": heard.told.reason(change),
            }
            for change in account.changes
        ],
        "played_seconds": played_seconds(account),
        "bytes": account.bytes,
        "lost_samples": account.lost_samples,
    }


def played_seconds(account: Account) -> dict[str, float]:
    """Seconds heard of each rung, best rung first."""
    return {
        rung.name: round(account.seconds_at[rung.name], 2)
        for rung in FULL.rungs
        if rung.name in account.seconds_at
    }


def table(arms: Sequence[Heard]) -> str:
    """For people: both arms side by side, then what changed and why."""
    accounts = [arm.account for arm in arms]
    rungs = [rung.name for rung in FULL.rungs if any(rung.name in one.seconds_at for one in accounts)]
    rows = [
        ("", [account.title for account in accounts]),
        ("first sound", [_ms(account.first_sound_s) for account in accounts]),
        ("stalls", [f"{account.stalls}" for account in accounts]),
        ("silence", [f"{account.stall_s:.1f} s" for account in accounts]),
        *((name_of(rung), [f"{one.seconds_at.get(rung, 0):.1f} s" for one in accounts]) for rung in rungs),
        ("bytes", [f"{account.bytes:,}" for account in accounts]),
        ("samples lost", [f"{account.lost_samples}" for account in accounts]),
    ]
    left = max(len(label) for label, _ in rows)
    right = [max(len(cells[column]) for _, cells in rows) for column in range(len(accounts))]
    lines = [
        "  ".join([label.ljust(left), *(cell.rjust(width) for cell, width in zip(cells, right, strict=True))])
        for label, cells in rows
    ]
    return "\n".join([*lines, *_switches(arms), *_cut(accounts)])


def _switches(arms: Sequence[Heard]) -> list[str]:
    lines = []
    for arm in arms:
        for change in arm.account.changes:
            names = f"{name_of(change.source)} → {name_of(change.target)}"
            lines.append(f"{change.at:6.1f} s  {names:25}  {arm.told.reason(change)}")
    return ["", *lines] if lines else []


def _cut(accounts: Sequence[Account]) -> list[str]:
    return [f"\n{one.title}: {verdict(one)}" for one in accounts if not one.complete]


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1000:.0f} ms"


def write(folder: Path, show: Show, arms: tuple[Heard, Heard]) -> None:
    """
    Leave the files in `folder`, over those of an earlier run.

    Raises:
        OSError: it cannot be written.
    """
    adaptive, fixed = arms
    for name, arm in zip(FILES, arms, strict=False):
        _write_wav(folder / name, arm.account)
    (folder / "decisions.jsonl").write_text(adaptive.lines, encoding="utf-8")
    link = show.link
    note = (
        f"{adaptive.account.heard_s:.0f} s of speech over {link.name!r}, round trip "
        f"{link.base_rtt_s * 1000:.0f} ms; both listeners at once, each with the link for itself"
    )
    lacking = not_emulated(link)
    footnote = f"The relay carries bytes: without {' and '.join(lacking)}." if lacking else ""
    shown = [Shown(arm.account, arm.told.pieces) for arm in (adaptive, fixed)]
    picture = draw(shown, link, "One voice over one link, twice", note, footnote)
    (folder / "demo.svg").write_text(picture, encoding="utf-8")


def _write_wav(path: Path, account: Account) -> None:
    """What was heard, 16 bits mono, the silence of stalls in it."""
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, account.sample_rate or 22_050, 0, "NONE", ""))
        file.writeframes(account.waveform().astype("<i2", copy=False).tobytes())
