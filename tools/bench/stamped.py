"""
A worker that notes when its engine hands out each chunk, and may be given another pace for each text.

`interpreter(folder)` writes a program for `engine.python`: it runs the worker as it is, with a watch on
what the engine emits. After each request a line of JSON goes to a file in the folder: text, the second
(of `time.monotonic`, one clock for all processes of a machine) and the first sample of every chunk.
`read(folder)` collects them.
"""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

WATCH = """
import dataclasses, json, os, time
from abr_tts.engine import work

class Watched(work.Outlet):
    def __call__(self, chunk):
        if len(chunk):
            self.chunks.append((time.monotonic(), self.samples))
        return super().__call__(chunk)

def ask(engine, said, out, plain=work.ask):
    out.chunks = []
    if "real_time_factors" in SETUP:
        factors = SETUP["real_time_factors"]
        engine._options = dataclasses.replace(engine._options, rtf=factors[int(said.text[:6]) % len(factors)])
    asked = time.monotonic()
    plain(engine, said, out)
    with open(os.path.join(SETUP["folder"], str(os.getpid())), "a") as file:
        line = {"text": said.text, "asked": asked, "chunks": out.chunks, "samples": out.samples}
        file.write(json.dumps(line) + "\\n")

work.Outlet, work.ask = Watched, ask
"""
"""What is run in the worker before it begins."""

PROGRAM = """#!{python}
import sys
SETUP = {setup}
code = sys.argv[2].replace("\\nmain(", {watch!r} + "\\nmain(")
assert "Watched" in code, "the worker begins otherwise"
sys.argv = ["-c", *sys.argv[3:]]
exec(code)
"""


def interpreter(folder: Path, **setup: Any) -> str:
    """
    The path of the program.

    Args:
        real_time_factors: of the tone engine, by the number that each text begins with.
    """
    stamps = folder / "stamps"
    stamps.mkdir()
    program = folder / "python"
    setup = {"folder": str(stamps), **setup}
    program.write_text(PROGRAM.format(python=sys.executable, setup=setup, watch=WATCH))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


def read(folder: Path) -> dict[str, dict[str, Any]]:
    """What was noted, by text."""
    lines = [line for file in (folder / "stamps").iterdir() for line in file.read_text().splitlines()]
    return {note["text"]: note for note in map(json.loads, lines)}
