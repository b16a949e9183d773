"""docs/dashscope.md keeps its word: its programs run, its tables are the code's own."""

import re
import subprocess
import sys
import wave

import pytest

from abr_tts.server.config import Settings, describe
from abr_tts.server.dashscope import messages as m
from abr_tts.server.dashscope.faults import CODES

from ... import readme
from ...ports import kept_port
from ...test_readme import WITHIN_S, Newcomer

PAGE = (readme.README.parent / "docs" / "dashscope.md").read_text("utf-8")


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory):
    pytest.importorskip("dashscope", reason="the DashScope SDK is not installed")
    with kept_port() as port:
        newcomer = Newcomer(tmp_path_factory.mktemp("dashscope"), port)
        with newcomer.serving("serve"):
            yield newcomer


def run(newcomer: Newcomer, name: str) -> str:
    """What a program of the page prints."""
    body = readme.command(name).replace(":8765", f":{newcomer.port}")
    done = subprocess.run(
        [sys.executable, "-c", body], cwd=newcomer.folder, capture_output=True, text=True, timeout=WITHIN_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_program_writes_speech(newcomer):
    run(newcomer, "dashscope")
    data = (newcomer.folder / "hello.wav").read_bytes()
    assert data[:4] == b"RIFF" and len(data) > 44 + 22_050
    with wave.open(str(newcomer.folder / "hello.wav")) as file:
        assert (file.getframerate(), file.getnchannels()) == (22_050, 1)


def test_the_second_program_hears_speech_while_its_text_comes(newcomer):
    assert float(run(newcomer, "dashscope-stream").split()[0]) > 1


def rows(heading: str) -> list[list[str]]:
    """The cells of the table under a heading."""
    part = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in cells] for cells in lines[2:]]


def test_every_limit_is_the_default():
    for name, value, _ in rows("Limits"):
        section, key = name.strip("`").split(".")
        default = getattr(getattr(Settings(), section), key)
        assert value.replace(" ", "").startswith(f"{default:g}"), name


def test_every_parameter_is_in_the_table_or_among_what_is_refused():
    named = set(re.findall(r"`(\w+)`", PAGE)) | {"voice", "text_type"}
    assert set(m.Parameters.__struct_fields__) <= named


def test_every_error_code_is_explained():
    explained = {code for cells in rows("The protocol") for code in re.findall(r"`([\w.]+)`", cells[0])}
    assert explained == {code for _, code in CODES}


def test_every_setting_that_is_named_exists():
    known = {item.name for item in describe()}
    wanted = set(re.findall(r"`((?:dashscope|limits|engine)\.\w+)`", PAGE))
    assert wanted and wanted <= known
