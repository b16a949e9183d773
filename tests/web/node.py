"""Node.js for the tests of this room: where it is, and what running it gives."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
JS = ROOT / "tests" / "js"
IN_CI = bool(os.environ.get("CI"))
NODE = shutil.which("node")
OLDEST = 20
"""The oldest Node.js whose test runner reads these files."""

needs_node = pytest.mark.skipif(
    NODE is None and not IN_CI, reason="no Node.js here; where CI is set, it must be"
)


def run(*command: str | Path, text: str = "", cwd: Path = ROOT, seconds: float = 120) -> str:
    """What a command writes; an AssertionError with all of it if the command fails."""
    done = subprocess.run(
        [str(word) for word in command], input=text, cwd=cwd, capture_output=True, text=True, timeout=seconds
    )
    assert done.returncode == 0, f"{done.stdout[-8_000:]}\n{done.stderr[-8_000:]}"
    return done.stdout


def node(*arguments: str | Path, text: str = "") -> str:
    """What Node.js writes."""
    assert NODE is not None, "CI needs Node.js"
    return run(NODE, *arguments, text=text)
