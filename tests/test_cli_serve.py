"""`abr-tts serve`, run as people run it: it serves until it is told to stop, and says what is wrong."""

import os
import re
import subprocess
import wave
from collections.abc import Iterator

import pytest

from abr_tts.cli import main
from abr_tts.errors import to_install
from abr_tts.server.app import Server

from .server.harness import serving_in_a_thread
from .test_cli import COMMAND, ROOT, WAIT_S, failed


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving_in_a_thread() as server:
        yield server


def test_a_server_serves_until_it_is_told_to_stop(tmp_path):
    config = tmp_path / "abr-tts.toml"
    config.write_text('[engine]\nkind = "espeak"\n\n[engine.options]\nrate = 16000\n')
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", "--config", str(config), "--engine", "tone", "--workers", "1"],
        cwd=ROOT, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        found = re.search(r"ws://127\.0\.0\.1:\d+", process.stderr.readline())
        assert found
        path = tmp_path / "x.wav"
        assert main(["say", "--url", found[0], "-o", str(path), "abc"]) == 0
        with wave.open(str(path)) as file:
            assert file.getframerate() == 16_000, "the file's option, under the flag's engine"
        process.terminate()
        assert process.wait(WAIT_S) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("host", "more", "warned"),
    [
        ("0.0.0.0", (), True),
        ("127.0.0.1", (), False),
        ("localhost", (), False),
        ("0.0.0.0", ("--set", "auth.keys=a-key"), False),
    ],
)
def test_a_server_that_is_open_to_the_network_without_a_key_warns(host, more, warned):
    process = subprocess.Popen(
        [*COMMAND, "serve", "--host", host, "--port", "0", "--engine", "tone", "--workers", "1", *more],
        cwd=ROOT, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    lines = [process.stderr.readline()]
    try:
        while "the page is" not in lines[-1]:
            assert lines[-1], "it serves"
            lines.append(process.stderr.readline())
    finally:
        process.terminate()
        process.communicate(timeout=WAIT_S)
    warnings = [line for line in lines if " WARNING " in line]
    assert [f"whoever reaches {host} on the network" in line for line in warnings] == [True] * warned


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--port", "99999"], "--port: port is 99999, but must be at most 65535"),
        (["--workers", "many"], "--workers: workers must be a whole number"),
        (["--engine", "espeek"], "did you mean espeak?"),
        (
            ["--set", "server.prot=1"],
            "--set server.prot: unknown setting server.prot; did you mean server.port?",
        ),
        (["--config", "/no/such.toml"], "/no/such.toml: there is no such settings file"),
        (["--cert", "/no/cert.pem", "--key", "/no/key.pem"], "/no/cert.pem"),
        (["--cert", "/no/cert.pem"], "tls.key_file is missing"),
        (["--host", "192.0.2.1"], "192.0.2.1"),
    ],
)
def test_serve_fails_with_one_sentence(capsys, arguments, sentence):
    assert sentence in failed(capsys, "serve", *arguments)


def test_a_setting_without_a_value_is_wrong_usage(capsys):
    assert "section.key=value" in failed(capsys, "serve", "--set", "server.port", status=2)


def test_a_bad_file_is_told_with_the_line(capsys, tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text("[server]\nport = \n")
    assert "line 2" in failed(capsys, "serve", "--config", str(path))
    path.write_text("[server]\nprot = 1\n")
    assert "did you mean server.port?" in failed(capsys, "serve", "--config", str(path))


def test_a_port_in_use_is_told(server, capsys):
    assert "in use" in failed(capsys, "serve", "--port", str(server.port), "--engine", "tone")


def test_every_setting_is_listed(capsys):
    assert main(["serve", "--settings"]) == 0
    assert "server.port = 8765" in capsys.readouterr().out


def test_an_engine_whose_package_is_missing_is_told_in_one_line(tmp_path):
    (tmp_path / "hibari.py").write_text("raise ImportError('not here')\n")
    done = subprocess.run(
        [*COMMAND, "serve", "--port", "0", "--engine", "hibari"],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
        timeout=WAIT_S,
    )  # fmt: skip
    words = f"abr-tts: error: hibari cannot be imported (not here): {to_install('neural')}\n"
    assert (done.returncode, done.stderr) == (1, words)
