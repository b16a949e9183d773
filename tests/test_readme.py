"""
The README keeps its word: its commands run, its tables are the code's own numbers, its links lead somewhere.

The two commands that make an environment (`speak`, `test`) and the container are `.ci/run`'s.
"""

import asyncio
import importlib.util
import json
import os
import re
import ssl
import subprocess
import sys
import threading
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trustme

from abr_tts import errors
from abr_tts.client import Client
from abr_tts.control.ladder import FULL
from abr_tts.control.policy_file import PRESETS
from abr_tts.server.config import Settings

from . import readme
from .ports import kept_port

ROOT = readme.README.parent
TEXT = readme.README.read_text("utf-8")
PYTHON = ("python", "llm")
"""Blocks that are no shell's."""

WITHIN_S = 60
"""Seconds for any command here: they take one or two, a machine under load takes more."""


def table(heading: str) -> list[list[str]]:
    """The cells of the table under a heading, without its own head."""
    part = TEXT.split(f"# {heading}\n")[1].split("\n#")[0]
    rows = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


# What is written


def test_the_first_command_installs_and_speaks():
    assert readme.command("speak").startswith("pip install '.[espeak]' && abr-tts say \"")
    assert readme.command("speak").endswith('" -o hello.wav\n')


def test_the_second_command_installs_and_tests():
    assert readme.command("test") == "pip install '.[espeak,test]' && pytest\n"


@pytest.mark.parametrize(
    "text",
    [
        "<!-- command: a -->\nnothing\n",
        "<!-- command: a -->\n```sh\nx\n```\n<!-- command: a -->\n```sh\ny\n```\n",
    ],
)
def test_a_marker_without_a_block_or_used_twice_is_refused(text):
    with pytest.raises(ValueError, match="named twice or has no block"):
        readme.blocks(text)


def test_every_limit_is_the_default_and_its_error_exists():
    codes = {kind.code for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "code")}
    rows = table("Limits")
    assert len(rows) > 5
    for name, default, past in rows:
        section, key = name.strip("`").split(".")
        assert float(default) == getattr(getattr(Settings(), section), key), name
        assert {word for word in re.findall(r"`([a-z_]+)`", past) if word != "retry_after"} <= codes, past


def test_every_rung_is_listed_with_its_bitrate():
    found = {}
    for names, kbps, _ in table("Rungs"):
        numbers = [float(number) for number in kbps.split(",")]
        first, *rest = re.findall(r"`(\w+)`", names)
        if "…" in names:
            first, rest = "opus64", [f"opus{number:g}" for number in numbers[1:]]
        found |= dict(zip([first, *rest], numbers, strict=True))
    assert found == {rung.name: round(rung.kbps) for rung in FULL.rungs}


def test_every_preset_is_named():
    policies = TEXT.split("### Policies\n")[1].split("\n#")[0]
    assert all(f"`{name}`" in policies for name in PRESETS)


@pytest.mark.parametrize("folder", [".", "docs", "protocol"])
def test_every_link_to_a_file_leads_to_one(folder):
    text = "".join(page.read_text("utf-8") for page in (ROOT / folder).glob("*.md"))
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", text)
    assert [link for link in links if not (ROOT / folder / link).exists()] == []


def test_the_settings_page_is_what_the_code_declares():
    spec = importlib.util.spec_from_file_location("reference", ROOT / "tools" / "settings_reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (ROOT / "docs" / "settings.md").read_text("utf-8") == module.reference()


# What runs


class Newcomer:
    """A shell in an empty folder with `abr-tts` on its path, and a free port instead of the default."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self.environment = os.environ | {"ABR_TTS_SERVER__PORT": str(self.port)}
        bin_folder = Path(sys.executable).parent
        if not (bin_folder / "abr-tts").exists():  # the tests run against the tree, not an installed package
            bin_folder = folder
            script = f"#!{sys.executable}\nfrom abr_tts.cli import main\nraise SystemExit(main())\n"
            (folder / "abr-tts").write_text(script, "utf-8")
            (folder / "abr-tts").chmod(0o755)
            self.environment["PYTHONPATH"] = str(ROOT)
        self.environment["PATH"] = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"

    def run(self, name: str) -> str:
        """What a command of the README prints."""
        body = readme.command(name).replace(":8765", f":{self.port}")
        command = [sys.executable, "-c", body] if name in PYTHON else ["bash", "-euc", body]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=WITHIN_S
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def serving(self, name: str) -> Iterator[None]:
        """The README's server, from the line with its address until a SIGTERM, which it obeys."""
        server = subprocess.Popen(
            ["bash", "-euc", "exec " + readme.command(name)],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        watch = threading.Timer(WITHIN_S, server.kill)
        watch.start()
        said: list[str] = []
        try:
            while not said or f":{self.port}/" not in said[-1]:
                said.append(server.stdout.readline())
                assert said[-1], "".join(said)
            yield
        finally:
            server.terminate()
            rest, _ = server.communicate(timeout=WITHIN_S)
            watch.cancel()
        assert server.returncode == 0, "".join(said) + rest


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory):
    with kept_port() as port:
        newcomer = Newcomer(tmp_path_factory.mktemp("newcomer"), port)
        with newcomer.serving("serve"):
            yield newcomer


def test_say_writes_what_the_served_voice_says_and_reports_in_json(newcomer):
    report = json.loads(newcomer.run("say"))
    with wave.open(str(newcomer.folder / "nihao.wav")) as file:
        seconds = file.getnframes() / file.getframerate()
    assert seconds > 0.5
    assert report["seconds"] == pytest.approx(seconds, abs=0.02)
    assert set(report["rungs"]) == {"opus24"}


def test_the_python_example_hears_speech_frame_by_frame(newcomer):
    loudest = [int(line.split()[-1]) for line in newcomer.run("python").splitlines()]
    assert len(loudest) > 25
    assert max(loudest) > 1000


def test_a_model_that_was_interrupted_knows_what_was_heard(newcomer):
    answer = re.search(r'^ANSWER = \(?\s*"(.*)"', readme.command("llm"), re.M)[1]
    said, interrupted = newcomer.run("llm").strip().split(" | ")
    assert interrupted == "interrupted: True"
    assert answer.startswith(said) and 2 < len(said) < len(answer)
    assert answer[len(said)] == " " or answer[len(said) - 1] == " ", "to a whole word"


def test_voices_and_doctor_tell_what_is_there(newcomer):
    said = newcomer.run("look")
    assert "en" in said
    assert "libopus" in said


def test_an_operator_sees_what_a_policy_would_do(newcomer):
    recordings = newcomer.folder / "recordings"
    recordings.mkdir()
    for name, kbps in (("home", 3_000), ("train", 60)):
        (recordings / f"{name}.csv").write_text(f"time_s,kbps\n0,{kbps}\n5,{kbps // 2}\n10,{kbps}\n", "utf-8")
    said = newcomer.run("operate")
    assert "fixed_opus24" in said and "optimum" in said
    assert (newcomer.folder / "out.html").read_text("utf-8").startswith("<!doctype html>")


def test_wss_serves_with_a_certificate_and_its_key(tmp_path):
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost", "127.0.0.1")
    certificate.private_key_pem.write_to_path(tmp_path / "key.pem")
    for pem in certificate.cert_chain_pems:
        pem.write_to_path(tmp_path / "cert.pem", append=True)
    context = ssl.create_default_context()
    authority.configure_trust(context)

    async def listen(port: int) -> int:
        async with Client(f"wss://127.0.0.1:{port}", ssl=context) as client:
            return len(await client.speak("Over TLS.").read())

    with kept_port() as port, Newcomer(tmp_path, port).serving("wss"):
        assert asyncio.run(listen(port)) > 5000
