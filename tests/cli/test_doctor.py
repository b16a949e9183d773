"""`abr-tts doctor` where much is missing: each thing is named, and how to get it is said once."""

import subprocess
import sys
import tomllib

from abr_tts.cli import doctor
from abr_tts.engine.kinds import KINDS
from abr_tts.errors import to_install

from ..test_cli import ROOT, WAIT_S

BARE = """
import importlib.metadata, sys

def version(name, real=importlib.metadata.version):
    if name in {gone}:
        raise importlib.metadata.PackageNotFoundError(name)
    return real(name)

importlib.metadata.version = version
sys.modules.update(dict.fromkeys({gone}))
from abr_tts.cli import main
sys.exit(main(["doctor"]))
"""
"""The doctor where distributions and modules of these names are not to be had."""

INDENT = " " * 9


def told(*gone: str) -> tuple[list[str], list[str]]:
    """What it finds where those are missing and no program is on PATH, and the remedies that it names."""
    script = BARE.format(gone=set(gone))
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env={"PATH": ""}, capture_output=True, text=True,
        timeout=WAIT_S,
    )  # fmt: skip
    assert done.returncode == 1 and not done.stderr, done.stderr
    lines = done.stdout.splitlines()
    return (
        [line for line in lines if not line.startswith(INDENT)],
        [line.strip() for line in lines if line.startswith(INDENT)],
    )


def test_a_remedy_is_told_once_and_below_what_it_is_for():
    needed = {module for kind in KINDS.values() for module in kind.needs}
    found, remedies = told("opuslib", "opuslib-next-bundled", *needed)
    assert [line for line in found if "pip install" in line or "alsa" in line] == []
    assert len(set(remedies)) == len(remedies), remedies
    extras = dict.fromkeys(to_install(kind.extra) for kind in KINDS.values() if kind.extra)
    opus = ["pip install opuslib==3.0.1", "pip install opuslib-next-bundled==0.1.1"]
    assert {*opus, *extras} <= set(remedies)
    (player,) = set(remedies) - {*opus, *extras}
    assert player.startswith("install one, such as alsa-utils")
    assert "missing: opuslib, opuslib-next-bundled, libopus, espeak" in found


def test_what_it_pins_is_what_the_project_pins():
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {name + pin for name, pin in doctor.PINS.items()} == {one for one in wanted if "==" in one}
