"""
wyoming-openai, unmodified, at a real server: the proxy by which Home Assistant speaks as OpenAI's clients do.

It needs Python 3.12 and one very version of OpenAI's package, so it gets an environment of its own; where
there is no such Python the tests are skipped. What Home Assistant says to it, events as lines of JSON, is
written here.
"""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from abr_tts.audio.pcm import to_float
from abr_tts.audio.resample import convert

from .doors.world import SAYING
from .harness import eventually, peer, serving
from .openai_world import difference_db

IN_CI = bool(os.environ.get("CI"))
PACKAGE = "wyoming-openai==0.8.0"
"""Apache-2.0; it asks for one very version of openai, other than that of `sdk-test`."""

NEW_ENOUGH = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 12))"
WAIT_S = 30.0
"""For its start, and for each of its answers."""


def newer_pythons() -> list[str]:
    """Where a Python 3.12 or later may be: this one, those of the path, pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")
    return [
        sys.executable,
        "python3.12",
        "python3.13",
        *map(str, sorted(pyenv.glob("3.1[2-9].*/bin/python"))),
    ]


def runs(python: str) -> bool:
    try:
        return not subprocess.run([python, "-c", NEW_ENOUGH], capture_output=True, timeout=WAIT_S).returncode
    except OSError:
        return False


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The Python of an environment that has it."""
    found = next(filter(runs, newer_pythons()), None)
    if found is None:
        pytest.skip("no Python 3.12 here")
    folder = tmp_path_factory.mktemp("wyoming")
    subprocess.run([found, "-m", "venv", str(folder)], check=True, timeout=120)
    command = [str(folder / "bin" / "pip"), "install", "-q", PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        assert not IN_CI, done.stderr
        pytest.skip("pip cannot fetch the package")
    return str(folder / "bin" / "python")


def listens(path: Path) -> bool:
    """Whether somebody takes connections there; a socket's path exists before."""
    with socket.socket(socket.AF_UNIX) as caller:
        return caller.connect_ex(str(path)) == 0


@contextlib.asynccontextmanager
async def proxy(python: str, url: str, folder: Path, *more: str):
    """Its two ends, as Home Assistant has them."""
    path = folder / "s"
    command = [
        "-m", "wyoming_openai", "--uri", f"unix://{path}", "--languages", "en", "--tts-openai-key", "none",
        "--tts-openai-url", f"{url}/v1", "--tts-models", "tts-1", *more,
    ]  # fmt: skip
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(python, *command, stdout=log, stderr=log)
    try:
        await eventually(lambda: listens(path) or process.returncode is not None, WAIT_S)
        assert process.returncode is None, (folder / "log").read_text("utf-8")
        reader, writer = await asyncio.open_unix_connection(path)
        yield reader, writer
        writer.close()
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def tell(writer: asyncio.StreamWriter, kind: str, **data) -> None:
    writer.write(json.dumps({"type": kind, "data": data}).encode() + b"\n")


async def told(reader: asyncio.StreamReader, last: str) -> list[tuple[str, dict, bytes]]:
    """Its events up to the one that is called `last`."""
    events = []
    async with asyncio.timeout(WAIT_S):
        while not events or events[-1][0] != last:
            head = json.loads(await reader.readline())
            data = head.get("data", {})
            if size := head.get("data_length"):
                data |= json.loads(await reader.readexactly(size))
            events.append((head["type"], data, await reader.readexactly(head.get("payload_length") or 0)))
            assert events[-1][0] != "error", data
    return events


def heard(events) -> np.ndarray:
    chunks = [
        (data["rate"], data["width"], data["channels"]) for kind, data, _ in events if kind == "audio-chunk"
    ]
    assert set(chunks) == {(24_000, 2, 1)}
    return to_float(np.frombuffer(b"".join(payload for _, _, payload in events), "<i2").astype(np.int16))


async def native(server) -> np.ndarray:
    async with peer(server.url) as client:
        started = await client.start(SAYING, rung="pcm22")
        return convert(to_float(await client.whole_pcm(started.stream)), started.sample_rate, 24_000)


async def test_a_sentence_of_home_assistant_is_the_native_stream(python, tmp_path):
    async with serving() as server, proxy(python, server.http_url, tmp_path) as (reader, writer):
        tell(writer, "synthesize", text=SAYING, voice={"name": "alloy"})
        sound = heard(await told(reader, "audio-stop"))
        assert difference_db(sound, await native(server)) < -60


async def test_text_that_comes_in_pieces_is_spoken(python, tmp_path):
    streaming = ("--tts-streaming-models", "tts-1")
    async with serving() as server, proxy(python, server.http_url, tmp_path, *streaming) as (reader, writer):
        tell(writer, "synthesize-start", voice={"name": "alloy"})
        for piece in SAYING.split(" "):
            tell(writer, "synthesize-chunk", text=f"{piece} ")
        tell(writer, "synthesize-stop")
        sound = heard(await told(reader, "synthesize-stopped"))
        assert len(sound) >= 0.9 * len(await native(server))


async def test_it_finds_the_voices_that_are_named_and_speaks_with_one_of_the_server_s_own(python, tmp_path):
    voices = ("--tts-voices", "alloy", "tone")
    async with serving() as server, proxy(python, server.http_url, tmp_path, *voices) as (reader, writer):
        tell(writer, "describe")
        (_, info, _) = (await told(reader, "info"))[-1]
        assert {one["name"] for one in info["tts"][0]["voices"]} == {"alloy", "tone"}
        tell(writer, "synthesize", text="Hello.", voice={"name": "tone"})
        assert len(heard(await told(reader, "audio-stop"))) > 0
