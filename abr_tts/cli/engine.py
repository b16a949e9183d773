"""`abr-tts engine`: which engines there are, and whether one works on this machine and how fast."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, to_install
from .failure import Failure

if TYPE_CHECKING:
    from .engine_probe import Figures


def add(subparsers: Any) -> None:
    """Declare the command and its verbs."""
    parser = subparsers.add_parser(
        "engine",
        help="list engines, and try one",
        description="An engine turns text into speech: the built-in one, a neural one, or one elsewhere.",
    )
    verbs = parser.add_subparsers(metavar="verb", required=True)
    _add_list(verbs)
    check = verbs.add_parser(
        "check",
        help="load an engine, speak, and tell how fast it is",
        description="Load an engine in a worker as the server does, speak, and tell its figures on this "
        "machine. The exit status is 1 if it does not load or does not speak.",
    )
    check.add_argument("name", metavar="NAME", help="such as espeak; abr-tts engine list names them")
    check.add_argument("--model-dir", metavar="DIR", help="weights (engine.options.model_dir)")
    check.add_argument("--python", metavar="PATH", help="interpreter for the worker (engine.python)")
    check.add_argument(
        "--set", metavar="SECTION.KEY=VALUE", action="append", default=[],
        help="any setting, such as engine.options.threads=2; may be repeated",
    )  # fmt: skip
    check.add_argument("--json", action="store_true", help="print one JSON object")
    check.set_defaults(run=run_check)


def _add_list(verbs: Any) -> None:
    parser = verbs.add_parser("list", help="name the engines", description="Name the engines.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run_list)


def run_list(arguments: argparse.Namespace) -> int:
    """Name them; 0."""
    from ..engine.kinds import KINDS

    if arguments.json:
        print(json.dumps({"engines": {name: asdict(kind) for name, kind in KINDS.items()}}))
        return 0
    width = max(map(len, KINDS))
    for name, kind in KINDS.items():
        extra = f" ({to_install(kind.extra)})" if kind.extra else ""
        print(f"{name:{width}}  {kind.sentence}{extra}")
    return 0


def run_check(arguments: argparse.Namespace) -> int:
    """Try it; 0 if it speaks."""
    from ..engine.kinds import KINDS
    from ..server.config import load
    from ..server.speech.synthesis import pool_of_one
    from .engine_probe import measure
    from .local import OWN_SECTIONS, hushed

    if arguments.name not in KINDS:
        raise Failure(f"no engine {arguments.name!r}; there are {', '.join(KINDS)}", status=2)
    environ = {name: value for name, value in os.environ.items() if name.startswith(OWN_SECTIONS)}
    try:
        settings = load(None, environ, _overrides(arguments))
    except ConfigError as fault:  # it names the setting as a flag, which here is reached by --set
        raise Failure(re.sub("^--", "--set ", str(fault))) from None
    with hushed():
        figures = asyncio.run(measure(pool_of_one(settings)))
    if arguments.json:
        print(json.dumps(asdict(figures), ensure_ascii=False))
    else:
        print("\n".join(_table(figures)))
        print(verdict(figures))
    return 0


def _overrides(arguments: argparse.Namespace) -> dict[str, str]:
    chosen = {}
    for assignment in arguments.set:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise Failure(f"--set {assignment}: it must look like engine.options.threads=2", status=2)
        chosen[name.strip()] = value.strip()
    if chosen.setdefault("engine.kind", arguments.name) != arguments.name:
        raise Failure(f"--set engine.kind={chosen['engine.kind']}: NAME says {arguments.name}", status=2)
    if arguments.model_dir is not None:
        chosen["engine.options.model_dir"] = str(Path(arguments.model_dir).absolute())
    if arguments.python is not None:
        chosen["engine.python"] = arguments.python
    return chosen


def _table(figures: Figures) -> list[str]:
    """The figures as lines, names on the left."""
    chunks = ", ".join(f"{chunk:.2f}" for chunk in figures.chunks_s[:8])
    more = ", …" if len(figures.chunks_s) > 8 else ""
    tags = ", ".join(figures.languages[:12]) + (", …" if len(figures.languages) > 12 else "")
    cpu = "" if figures.cpu_rtf is None else f", {figures.cpu_rtf:.3f} s of one core"
    rows = {
        "engine": f"{figures.engine} {figures.version}".strip(),
        "rate": f"{figures.sample_rate} Hz",
        "voices": f"{figures.voices} ({tags})",
        "loads in": f"{figures.load_s:.1f} s",
        "first sound": f"{figures.first_chunk_ms:.0f} ms after the request",
        "a second of speech": f"takes {figures.rtf:.3f} s{cpu}",
        "chunks": f"{chunks}{more} s",
        "a cancel frees it in": f"{figures.cancel_ms:.0f} ms",
        "memory": "elsewhere" if figures.peak_rss_mb is None else f"{figures.peak_rss_mb:.0f} MB at most",
        "loudness": f"{figures.loudness_dbfs:.0f} dBFS",
    }
    width = max(map(len, rows))
    return [f"{name:{width}}  {value}" for name, value in rows.items()]


def verdict(figures: Figures) -> str:
    """What the figures mean for a server, in one sentence."""
    if figures.rtf >= 1:
        return "it does not keep up: listeners will wait in the middle of a sentence"
    cost = figures.rtf if figures.cpu_rtf is None else figures.cpu_rtf
    listeners = max(1, int(1 / max(cost, 1e-4)))
    where = "at a time" if figures.cpu_rtf is None else "a core"
    return f"it keeps up with {listeners} listener{'s' * (listeners > 1)} {where}"
