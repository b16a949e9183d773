"""docs/openai.md keeps its word: its commands run, what it names exists, its tables are the code's."""

import re
import shutil
import subprocess
import sys
import wave

import pytest

from abr_tts.server.config import describe
from abr_tts.server.doors.formats import FORMS
from abr_tts.server.openai.models import MOST_CHARS, SpeechRequest
from abr_tts.server.openai.voices import NAMES

from .. import readme
from ..ports import kept_port
from ..test_readme import WITHIN_S, Newcomer

PAGE = (readme.README.parent / "docs" / "openai.md").read_text("utf-8")


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory):
    with kept_port() as port:
        newcomer = Newcomer(tmp_path_factory.mktemp("openai"), port)
        with newcomer.serving("serve"):
            yield newcomer


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
@pytest.mark.parametrize("command", ["openai-curl", "curl"])
def test_the_first_command_of_the_page_and_of_the_readme_writes_a_file_that_speaks(newcomer, command):
    (newcomer.folder / "hello.wav").unlink(missing_ok=True)
    newcomer.run(command)
    with open(newcomer.folder / "hello.wav", "rb") as file:
        assert len(file.read()) > 24_000
        file.seek(0)
        with wave.open(file) as sound:
            assert (sound.getframerate(), sound.getnchannels(), sound.getsampwidth()) == (24_000, 1, 2)


def test_the_python_example_hears_a_sentence(newcomer):
    pytest.importorskip("openai")
    body = readme.command("openai-python").replace(":8765", f":{newcomer.port}")
    command = [sys.executable, "-c", body]
    said = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN_S, check=True).stdout
    assert 0.8 < float(said.split()[0]) < 4


def table(head: str) -> list[str]:
    """The first cells of the rows of a table, without their marks."""
    rows = PAGE.split(head)[1].split("\n\n")[0].splitlines()[1:]
    return [word for row in rows for word in re.findall(r"`([^`]+)`", row.split("|")[1])]


def test_every_field_and_every_format_has_its_row():
    assert table("| field | |\n") == list(SpeechRequest.__struct_fields__)
    assert sorted(table("| format | |\n")) == sorted(FORMS)
    assert f"at most {MOST_CHARS} characters" in PAGE


def test_every_setting_that_it_names_exists():
    known = {item.name for item in describe()}
    named = set(re.findall(r"`((?:openai|auth|limits)\.\w+)`", PAGE))
    assert named and named <= known


def test_it_names_openais_voices_in_their_order():
    listed = re.search(r"thirteen names \(([^)]*)\)", PAGE)[1]
    assert re.split(r",\s+", listed) == list(NAMES)
