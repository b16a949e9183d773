"""Other interpreters for these tests: a real Python 3.10, and environments with few packages or none."""

import glob
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

WANTED = (3, 10)
INSTALL_S = 300
ASK = "import sys, ensurepip, venv; print(*sys.version_info[:2], sys.executable)"


@cache
def python_3_10() -> str:
    """
    The path of a Python 3.10: what ABR_TTS_PYTHON_3_10 names, one on the path, one of pyenv's.

    Without any the test is skipped; but in CI that is a fault.
    """
    names = [os.environ.get("ABR_TTS_PYTHON_3_10"), shutil.which("python3.10"), shutil.which("python3")]
    pyenv = os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv"))
    for name in [*names, *sorted(glob.glob(f"{pyenv}/versions/3.10.*/bin/python"))]:
        if name and _version(name) == WANTED:
            return name
    assert "CI" not in os.environ, "no Python 3.10 here; ABR_TTS_PYTHON_3_10 may name one"
    pytest.skip("no Python 3.10 here")


def _version(name: str) -> tuple[int, ...]:
    asked = subprocess.run([name, "-c", ASK], capture_output=True, text=True, check=False)
    return tuple(map(int, asked.stdout.split()[:2])) if not asked.returncode else ()


def environment(folder: Path, python: str, *packages: str) -> str:
    """The interpreter of a new environment in `folder` with these packages and no others."""
    bare = [] if packages else ["--without-pip"]
    subprocess.run([python, "-m", "venv", *bare, str(folder)], check=True, timeout=INSTALL_S)
    own = str(folder / "bin" / "python")
    if packages:
        told = subprocess.run(
            [own, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages],
            capture_output=True, text=True, check=False, timeout=INSTALL_S,
        )  # fmt: skip
        assert told.returncode == 0, told.stderr
    return own


def pretending(folder: Path, version: tuple[int, ...]) -> str:
    """This interpreter, that takes itself for another version."""
    path = folder / "python"
    path.write_text(
        f'#!/bin/bash\nexec {sys.executable} -c "import sys; sys.version_info = {version}\n$2" "${{@:3}}"\n'
    )
    path.chmod(0o755)
    return str(path)
