"""`abr-tts demo`: one text over a failing link, adaptive beside fixed; sound, picture and figures."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from .failure import Failure
from .progress import ERASE

if TYPE_CHECKING:
    from ..demo.run import Heard, Show
    from ..sim.scenario import Scenario

FOLDER = "abr-tts-demo"
"""Where the files go unless told otherwise."""

REDRAW_S, RETELL_S = 0.1, 5.0
"""Seconds between two progress lines: on a terminal, where one is drawn over the other, and elsewhere."""

TRACE_RTT_MS = 60.0
"""Round trip of a recorded capacity trace, which tells the rate alone: usual on mobile networks."""


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "demo",
        help="hear and see it adapt, beside a fixed stream",
        description="Speak a text over an emulated link that collapses and recovers, twice at once: "
        "adaptive, and as 22 kHz PCM paced 1 s ahead of the listener. It takes as long as the speech does.",
        epilog=f"Leaves adaptive.wav, fixed.wav, decisions.jsonl and demo.svg in DIR (./{FOLDER}).",
    )
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path(FOLDER), help="where the files go")
    parser.add_argument(
        "--link", metavar="FILE", type=Path, help="scenario (tts-netem/1) or capacity trace (CSV)"
    )
    parser.add_argument(
        "--policy", help="of the adaptive stream: a preset or a policy file; classic if not given"
    )
    parser.add_argument("--text", help="what is said, instead of a text of about 40 s")
    parser.add_argument(
        "--json", action="store_true", help="print figures as one JSON object to standard output"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show it; 0 when the adaptive listener heard everything."""
    from ..demo import report

    show = _show(arguments)
    folder: Path = arguments.out
    _make(folder)
    adaptive, fixed = asyncio.run(_perform(show))
    try:
        report.write(folder, show, (adaptive, fixed))
    except OSError as fault:
        raise Failure(f"{folder} cannot be written: {fault.strerror or fault}") from None
    if arguments.json:
        print(json.dumps({"adaptive": report.figures(adaptive), "fixed": report.figures(fixed)}))
    else:
        print(report.table((adaptive, fixed)))
        print(f"\n{', '.join(str(folder / name) for name in report.FILES)}")
    _tell_replay(adaptive)
    return 0


async def _perform(show: Show) -> tuple[Heard, Heard]:
    from ..demo.path import not_emulated
    from ..demo.run import perform
    from .local import hushed

    lacking = not_emulated(show.link)
    if lacking:
        print(f"abr-tts: the relay carries bytes; it does without {' and '.join(lacking)}", file=sys.stderr)
    line = Line()
    with hushed():
        try:
            return await perform(show, line.draw)
        finally:
            line.end()


def _show(arguments: argparse.Namespace) -> Show:
    from ..demo import story
    from ..demo.run import Show

    text = story.TEXT if arguments.text is None else arguments.text
    if not text.strip():
        raise Failure("the text is empty: there is nothing to say")
    link = story.LINK if arguments.link is None else _link(arguments.link)
    policy = story.POLICY if arguments.policy is None else arguments.policy
    return Show(text, link, policy, os.environ)


def _link(path: Path) -> Scenario:
    from ..sim.scenario import from_json, from_trace

    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".csv":
            return from_trace(text, path.stem, TRACE_RTT_MS)
        return from_json(json.loads(text))
    except OSError as fault:
        raise Failure(f"{path} cannot be read: {fault.strerror or fault}") from None
    except ConfigError as fault:
        raise Failure(f"{path}: {fault}") from None
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise Failure(f"{path} is no scenario: neither a tts-netem/1 document nor a capacity trace") from None


def _make(folder: Path) -> None:
    """The folder, before forty seconds are spent on what could not be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise Failure(f"{folder} cannot be made: {fault.strerror or fault}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Failure(f"{folder} cannot be written: permission denied")


def _tell_replay(heard: Heard) -> None:
    replayed = heard.replayed()
    if replayed.difference is None:
        words = f"{replayed.outputs} outputs of the server's core replay bit for bit from decisions.jsonl"
    else:
        words = f"decisions.jsonl does not replay: {replayed.difference.sentence}"
    print(f"abr-tts: {words}", file=sys.stderr)


class Line:
    """How it is going: one line on standard error, redrawn on a terminal, repeated elsewhere."""

    def __init__(self) -> None:
        self._redrawn = sys.stderr.isatty()
        self._next = 0.0

    def draw(self, second: float, kbps: float, arms: list[str]) -> None:
        """The second, the link's kbit/s, and how each arm is."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + (REDRAW_S if self._redrawn else RETELL_S)
        words = f"{second:5.1f} s  link {kbps:4.0f} kbit/s | {' | '.join(arms)}"
        if self._redrawn:
            words = ERASE + words[: shutil.get_terminal_size().columns - 1]
        print(words, end="" if self._redrawn else "\n", file=sys.stderr, flush=True)

    def end(self) -> None:
        """The line goes."""
        if self._redrawn:
            print(ERASE, end="", file=sys.stderr, flush=True)
