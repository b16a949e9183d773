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


def lines_of(*gone: str, status: int, **environ: str) -> list[str]:
    """The whole of what it prints."""
    script = BARE.format(gone=set(gone))
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env={"PATH": ""} | environ, capture_output=True, text=True,
        timeout=WAIT_S,
    )  # fmt: skip
    assert done.returncode == status and not done.stderr, done.stderr
    return done.stdout.splitlines()


def told(*gone: str, status: int = 1, **environ: str) -> tuple[list[str], list[str]]:
    """What it finds where those are missing and no program is on PATH, and the remedies that it names."""
    lines = lines_of(*gone, status=status, **environ)
    return (
        [line for line in lines if not line.startswith(INDENT)],
        [line.strip() for line in lines if line.startswith(INDENT)],
    )


def test_a_remedy_of_what_is_needed_is_told_once_and_each_other_below_what_it_is_for():
    needed = {module for kind in KINDS.values() for module in kind.needs}
    found, remedies = told("opuslib", "opuslib-next-bundled", *needed)
    assert [line for line in found if "pip install" in line or "alsa" in line] == []
    several = {to_install(kind.extra) for kind in KINDS.values()}
    assert all(remedies.count(one) == 1 for one in set(remedies) - several), remedies
    extras = dict.fromkeys(to_install(kind.extra) for kind in KINDS.values() if kind.extra)
    opus = ["pip install opuslib==3.0.1", "pip install opuslib-next-bundled==0.1.1"]
    assert {*opus, *extras} <= set(remedies)
    (player,) = set(remedies) - {*opus, *extras, *map(to_install, doctor.EXTRAS)}
    assert player.startswith("install one, such as alsa-utils")
    assert "missing: opuslib, opuslib-next-bundled, libopus, espeak" in found


def test_what_it_pins_is_what_the_project_pins():
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {name + pin for name, pin in doctor.PINS.items()} == {one for one in wanted if "==" in one}


def test_a_command_stands_below_every_engine_and_every_extra_that_is_not_here():
    wanted = {f"engine {name}": kind for name, kind in KINDS.items() if kind.extra and name != "espeak"}
    wanted = {name: (kind.needs[0], kind.extra) for name, kind in wanted.items()}
    wanted |= {f"extra {name}": (module, name) for name, (module, _) in doctor.EXTRAS.items()}
    lines = lines_of(*(module for module, _ in wanted.values()), status=0)
    for name, (module, extra) in wanted.items():
        at = next(n for n, line in enumerate(lines) if line.startswith(f"none     {name}: {module} is not"))
        assert lines[at + 1].strip() == to_install(extra)


def test_every_extra_that_it_names_is_one_of_the_project():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(doctor.EXTRAS) <= set(extras)


def test_the_engine_that_is_set_is_judged_and_no_other():
    found, _ = told("espeakng_loader", status=0, ABR_TTS_ENGINE__KIND="tone")
    assert any(line.startswith("ok       engine tone: ") for line in found)
    assert "none     engine espeak: espeakng_loader is not installed" in found
    assert found[-1] == "everything needed is here"


def test_an_engine_that_is_set_and_does_not_load_is_missing():
    found, remedies = told("hibari", ABR_TTS_ENGINE__KIND="hibari")
    assert found[-1] == "missing: engine hibari" and to_install("neural") in remedies
    assert any(line.startswith("ok       engine espeak: installed") for line in found)


def test_where_the_default_engine_is_missing_the_one_that_is_here_is_named(tmp_path):
    for name in ("hibari", "onnxruntime"):
        (tmp_path / f"{name}.py").write_text("")
    found, remedies = told("espeakng_loader", PYTHONPATH=str(tmp_path))
    assert found[-1] == "missing: espeak"
    hint = "; or export ABR_TTS_ENGINE__KIND=neural, which is installed"
    assert to_install("espeak") + hint in remedies


def test_a_setting_that_is_wrong_and_a_package_that_is_not_there_are_told():
    found, _ = told(ABR_TTS_ENGINE__KIND="nope")
    assert any(line.startswith("MISSING  settings: ABR_TTS_ENGINE__KIND: kind is 'nope'") for line in found)
    found, _ = told("aiohttp")
    assert "MISSING  aiohttp: not installed" in found and found[-1].startswith("missing: aiohttp")
