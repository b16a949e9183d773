"""
Faults that users of command-line speech programs have reported: standard streams that are closed or full,
files that cannot be written, values that are empty. Each is one sentence and no traceback.
"""

import os
import subprocess
import sys
import wave
from pathlib import Path

import pytest

from abr_tts.cli import main

from ..server.harness import serving_in_a_thread

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "abr_tts"]
WAIT_S = 30


@pytest.fixture(scope="module")
def url():
    with serving_in_a_thread() as server:
        yield server.url


def in_shell(line: str, *arguments: str) -> subprocess.CompletedProcess:
    """`line`, in which "$@" is the command with its arguments."""
    shell = ["sh", "-c", line, "sh", *COMMAND, *arguments]
    return subprocess.run(shell, cwd=ROOT, capture_output=True, timeout=WAIT_S, text=True)


def test_a_full_standard_output_is_told():
    done = in_shell('"$@" > /dev/full', "policy", "show", "default")
    assert (done.returncode, done.stderr) == (1, "abr-tts: error: No space left on device\n")


def test_with_every_standard_stream_closed_a_command_still_does_its_work(url, tmp_path):
    path = tmp_path / "x.wav"
    done = in_shell('"$@" >&- 2>&- <&-', "say", "abc", "--url", url, "-o", str(path), "--json")
    assert done.returncode == 0
    with wave.open(str(path)) as file:
        assert file.getnframes() == 3 * 1323


def test_speech_for_a_standard_output_that_is_closed_is_not_lost_in_silence(url):
    done = in_shell('"$@" >&-', "say", "abc", "--url", url, "-o", "-")
    assert done.returncode == 1
    assert done.stderr.startswith("abr-tts: error: there is no standard output")


def told(capsys, *arguments: str) -> str:
    """The one sentence with which the command fails, in this process."""
    assert main(arguments) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("abr-tts: error: ") and err.count("\n") == 1
    return err


def test_a_file_that_cannot_be_written_is_told_in_one_sentence(url, tmp_path, capsys):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for name, words in (
        ("", "needs the name of a file"),
        (f"{tmp_path / 'x.wav'}/", "is a directory"),
        (str(pipe), "is a pipe"),
        ("x" * 300, "File name too long"),
    ):
        assert words in told(capsys, "say", "abc", "--url", url, "-o", name)


def test_a_file_that_cannot_be_opened_is_told_without_a_trace_of_the_library(url, tmp_path):
    lost = tmp_path / "lost.wav"
    lost.symlink_to("/no/such/place/x.wav")
    done = in_shell('"$@"', "say", "abc", "--url", url, "-o", str(lost))
    assert done.returncode == 1
    assert "No such file" in done.stderr and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["demo", "--text", "x", "--policy", "", "--out", "{folder}"], "stream.policy must be"),
        (["demo", "--text", "x", "--link", "{folder}/deep.json", "--out", "{folder}"], "is no scenario"),
        (["voices", "--language", ""], "no voice speaks ''"),
    ],
)
def test_an_empty_name_or_a_bottomless_file_is_refused(tmp_path, capsys, arguments, words):
    (tmp_path / "deep.json").write_text("[" * 100_000)
    assert words in told(capsys, *(argument.format(folder=tmp_path) for argument in arguments))
