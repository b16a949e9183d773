"""Every example of docs/clients.md runs, as a program of its own, against a served voice."""

import re
import subprocess
import sys

import pytest

from .. import readme
from ..server.harness import serving_in_a_thread

PAGE = readme.README.parent / "docs" / "clients.md"
NAMES = sorted(readme.blocks(PAGE.read_text("utf-8")))
WITHIN_S = 60


@pytest.fixture(scope="module")
def port():
    with serving_in_a_thread(engine__kind="espeak", engine__options={}, engine__workers=2) as server:
        yield server.port


def run(name: str, port: int) -> str:
    program = readme.command(name).replace(":8765", f":{port}")
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, cwd=PAGE.parent.parent, capture_output=True, text=True, timeout=WITHIN_S, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_all_examples_are_known():
    assert NAMES == ["client", "pool", "reconnect", "rest", "sync"]
    assert PAGE.read_text("utf-8").count("```python") == len(NAMES), "none stands there unnamed"


def test_the_first_example_tells_what_was_heard(port):
    assert re.fullmatch(r"[1-9]\.\d s at 22050 Hz, \{.*\}\n", run("client", port))


def test_an_unbroken_speech_has_nothing_to_tell(port):
    assert run("reconnect", port) == ""


def test_a_text_is_heard_to_its_end(port):
    assert int(run("rest", port).split()[0]) > 80


def test_a_pool_hears_six(port):
    assert len(run("pool", port).strip("[]\n").split(",")) == 6


def test_an_ordinary_program_hears_it_too(port):
    assert int(run("sync", port).split()[0]) > 22_050
