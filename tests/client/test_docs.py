"""Every example of docs/clients.md runs, as a program of its own, against a served voice."""

import os
import re
import shlex
import subprocess
import sys

import pytest

from .. import readme
from ..server.harness import serving_in_a_thread
from .test_loudspeaker import alsa_file, needs_portaudio

PAGE = readme.README.parent / "docs" / "clients.md"
NAMES = sorted(readme.blocks(PAGE.read_text("utf-8")))
WITHIN_S = 60


@pytest.fixture(scope="module")
def port():
    with serving_in_a_thread(engine__kind="espeak", engine__options={}, engine__workers=2) as server:
        yield server.port


def run(name: str, port: int, **environment: str) -> str:
    program = readme.command(name).replace(":8765", f":{port}")
    command = [sys.executable, "-c", program]
    if program.startswith("abr-tts "):
        command = [sys.executable, "-m", "abr_tts", *shlex.split(program)[1:]]
    done = subprocess.run(
        command,
        cwd=PAGE.parent.parent,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_all_examples_are_known():
    assert NAMES == ["client", "live", "loudspeaker", "play", "pool", "reconnect", "rest", "sync"]
    text = PAGE.read_text("utf-8")
    assert text.count("```python") + text.count("```sh") == len(NAMES), "none stands there unnamed"


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


def test_a_live_listener_with_a_good_link_hears_all_of_it(port):
    assert run("live", port) == "0 0 0\n"


@needs_portaudio
@pytest.mark.parametrize("name", ["play", "loudspeaker"])
def test_it_sounds(port, name, tmp_path):
    (tmp_path / "asound.conf").write_text(alsa_file(tmp_path / "heard"))
    run(name, port, ALSA_CONFIG_PATH=str(tmp_path / "asound.conf"))
    assert len((tmp_path / "heard").read_bytes()) > 22_050
