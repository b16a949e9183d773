"""
The real classes of CosyVoice, where they are installed: their interpreter, a checkout, tiny weights.

They come with the extra `cosyvoice-test` (docs/engines.md). ABR_TTS_COSYVOICE_PYTHON names another
interpreter that has them; ABR_TTS_COSYVOICE_SOURCE a folder with another `cosyvoice` package, such as a
checkout of today, which is then tested instead, CosyVoice3 with it.
"""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
STANDINS = HERE / "standins"
BUILD_S = 300
ASK = (
    "import importlib.util as u; assert u.find_spec('torch') and u.find_spec('hyperpyyaml');"
    "print(*(u.find_spec(name).submodule_search_locations[0] for name in ('cosyvoice', 'matcha')))"
)


@cache
def packages():
    """(interpreter, folder of `cosyvoice`, folder of `matcha`), or the test is skipped."""
    python = os.environ.get("ABR_TTS_COSYVOICE_PYTHON", sys.executable)
    asked = subprocess.run([python, "-c", ASK], capture_output=True, text=True, check=False, cwd="/")
    if asked.returncode:
        pytest.skip(
            "the real CosyVoice is not installed: pip install '.[cosyvoice-test]', see docs/engines.md"
        )
    ours, matcha = asked.stdout.split()
    source = os.environ.get("ABR_TTS_COSYVOICE_SOURCE")
    return python, Path(source) / "cosyvoice" if source else Path(ours), Path(matcha)


def newest():
    """Whether it is a package of another version that is tested, with CosyVoice3 in it."""
    return "ABR_TTS_COSYVOICE_SOURCE" in os.environ


def make_checkout(folder):
    """A checkout: CosyVoice and parts of Matcha linked in, stand-ins for what is large and not needed."""
    _, ours, theirs = packages()
    matcha = folder / "third_party" / "Matcha-TTS" / "matcha"
    matcha.mkdir(parents=True)
    (folder / "cosyvoice").symlink_to(ours)
    for path in STANDINS.iterdir():
        if path.name not in ("third_party", "README.md", "__pycache__"):
            (folder / path.name).symlink_to(path)
    for path in (STANDINS / "third_party" / "Matcha-TTS" / "matcha").iterdir():
        if path.name != "__pycache__":
            (matcha / path.name).symlink_to(path)
    for part in ("models", "hifigan"):
        (matcha / part).symlink_to(theirs / part)
    return str(folder)


def make_weights(folder, version, checkout):
    """Tiny random weights of the real classes, in seconds."""
    path = os.pathsep.join([checkout, f"{checkout}/third_party/Matcha-TTS"])
    made = subprocess.run(
        [packages()[0], str(HERE / "tiny.py"), str(folder), str(version)],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False, timeout=BUILD_S,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr[-3000:]
    return str(folder)
