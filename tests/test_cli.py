"""The command line, run as people run it: real processes, real sockets, real speech."""

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
import wave
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import trustme

from abr_tts import __version__
from abr_tts.audio.wav import UNKNOWN
from abr_tts.cli import doctor, main
from abr_tts.engine.kinds import KINDS
from abr_tts.engine.tone import Options, expected
from abr_tts.errors import MissingDependency
from abr_tts.server.app import Server

from .server.harness import serving_in_a_thread

ROOT = Path(__file__).resolve().parent.parent
COMMAND = [sys.executable, "-m", "abr_tts"]
RATE = 22_050
WAIT_S = 30


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving_in_a_thread() as server:
        yield server


def command(*arguments: str, **options) -> subprocess.CompletedProcess:
    """The command in a process of its own, to its end."""
    return subprocess.run([*COMMAND, *arguments], cwd=ROOT, capture_output=True, timeout=WAIT_S, **options)


def tone(text: str) -> np.ndarray:
    return expected(text, options=Options(rate=RATE))


def failed(capsys, *arguments: str, status: int = 1) -> str:
    """The one sentence with which the command fails; nothing is left on standard output."""
    assert main(arguments) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("abr-tts: error: ") and err.count("\n") == 1 and "Traceback" not in err
    return err.removeprefix("abr-tts: error: ").strip()


# ---------------------------------------------------------------- say


def test_one_command_says_a_text_to_a_file_with_a_server_of_its_own(tmp_path):
    done = command("say", "Hello world.", "-o", str(tmp_path / "hello.wav"), "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    figures = json.loads(done.stdout)
    with wave.open(str(tmp_path / "hello.wav")) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, RATE)
        seconds = file.getnframes() / RATE
        loudest = np.abs(np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(float)).max()
    assert 0.4 < seconds < 3 and loudest > 3000
    assert figures["voice"] == "en-us" and figures["complete"] and figures["stalls"] == 0
    assert figures["seconds"] == pytest.approx(seconds, abs=1e-3)
    assert 0 < figures["first_audio_ms"] <= figures["first_sound_ms"]


def test_what_is_said_is_what_the_server_sent(server, tmp_path, capsys):
    path = tmp_path / "tone.wav"
    say = ["say", "--url", server.url, "--rung", "pcm22", "-o", str(path), "two", "words"]
    assert main([*say, "--quiet"]) == 0
    with wave.open(str(path)) as file:
        assert np.array_equal(np.frombuffer(file.readframes(10**9), "<i2"), tone("two words"))
    assert capsys.readouterr() == ("", "")
    assert main(say) == 0
    out, err = capsys.readouterr()
    assert out == "" and re.fullmatch(
        rf"{re.escape(str(path))}: 0\.5 s of tone, first sound after \d+ ms \(pcm22 0\.5 s\)\n", err
    ), "one line for a file, terminal or not"


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_the_text_may_come_from_standard_input(server, tmp_path, monkeypatch, arguments):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("\ufeffdrei Wörter da\n".encode())))
    path = tmp_path / "tone.wav"
    assert main(["say", "--url", server.url, "-o", str(path), "--rate", "8000", *arguments]) == 0
    with wave.open(str(path)) as file:
        assert (file.getframerate(), file.getnframes()) == (8000, round(len("drei Wörter da") * 480))


def test_a_pipe_gets_a_header_without_length_and_a_file_one_with_it(server, tmp_path):
    arguments = ("say", "--url", server.url, "--rung", "pcm22", "-o", "-", "abc")
    piped = command(*arguments)
    assert (piped.returncode, piped.stderr) == (0, b"")
    with wave.open(io.BytesIO(piped.stdout)) as file:
        assert file.getframerate() == RATE
        assert np.array_equal(np.frombuffer(file.readframes(10**9), "<i2"), tone("abc"))
    assert piped.stdout[4:8] == piped.stdout[40:44] == UNKNOWN.to_bytes(4, "little")
    with open(tmp_path / "tone.wav", "wb") as target:
        subprocess.run([*COMMAND, *arguments], cwd=ROOT, stdout=target, timeout=WAIT_S, check=True)
    with wave.open(str(tmp_path / "tone.wav")) as file:
        assert file.getnframes() == len(tone("abc"))


def test_a_reader_who_leaves_the_pipe_ends_the_command_quietly(server):
    process = subprocess.Popen(
        [*COMMAND, "say", "--url", server.url, "-o", "-", "x" * 2000],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    process.stdout.read(100)
    process.stdout.close()
    assert process.wait(WAIT_S) == 1
    assert process.stderr.read() == b""
    process.stderr.close()


def test_ctrl_c_ends_quietly_with_130(server):
    process = subprocess.Popen(
        [*COMMAND, "say", "--url", server.url, "-o", "-", "--realtime", "x" * 2000],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.read(100)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=WAIT_S)
    assert (process.returncode, err) == (130, b"")


def test_a_terminal_shows_progress_and_what_came_of_it(server, tmp_path):
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [*COMMAND, "say", "--url", server.url, "-o", str(tmp_path / "x.wav"), "Hello there."],
        cwd=ROOT, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 4096):
            shown += piece
    except OSError:
        pass  # how a terminal tells that its other end is closed
    os.close(ours)
    assert process.wait(WAIT_S) == 0
    assert b"pcm22" in shown and b"bank" in shown and b"0 switches" in shown
    assert b"0.7 s of tone, first sound after" in shown.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["x", "-o", "/no/such/place/x.wav"], "there is no directory /no/such/place"),
        (["x", "-o", "/"], "/ is a directory"),
        (["", "-o", "x.wav"], "the text is empty"),
        ([" \n", "-o", "x.wav"], "the text is empty"),
        (["\udcff", "-o", "x.wav"], "the text is not valid UTF-8"),
        (["x", "-o", "x.wav", "--url", "ws://no-such-host.invalid"], "no server is known by the name"),
        (["x", "-o", "x.wav", "--url", "localhost:80"], "is no address of a server"),
    ],
)
def test_say_fails_with_one_sentence(capsys, monkeypatch, tmp_path, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    assert sentence in failed(capsys, "say", *arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--voice", "tune", "x"], "no voice 'tune'"),
        (["--rung", "opus7", "x"], "no rung 'opus7'; there are"),
        (["--speed", "9", "x"], "speed must be a number from 0.25 to 4"),
        (["--language", "tlh", "x"], "no voice speaks 'tlh'"),
        (["…"], "nothing to pronounce"),
    ],
)
def test_what_the_server_refuses_is_told_and_an_old_file_stays(server, capsys, tmp_path, arguments, sentence):
    path = tmp_path / "old.wav"
    path.write_bytes(b"old")
    assert sentence in failed(capsys, "say", "--url", server.url, "-o", str(path), *arguments)
    assert path.read_bytes() == b"old"


def test_a_server_that_is_not_there_is_told(capsys, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        url = f"ws://127.0.0.1:{port}"
        path = str(tmp_path / "x.wav")
        assert (
            failed(capsys, "say", "x", "-o", path, "--url", url) == f"no server listens on 127.0.0.1:{port}"
        )


def test_key_and_certificate_reach_the_server(tmp_path, capsys, monkeypatch):
    pem = tmp_path / "server.pem"
    trustme.CA().issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(pem)
    with serving_in_a_thread(tls__cert_file=pem, tls__key_file=pem, auth__keys=("right",)) as server:
        say = ("say", "abc", "--url", server.url, "-o", str(tmp_path / "x.wav"))
        refused = failed(capsys, *say)
        assert "is not trusted" in refused and "--ca FILE" in refused
        listing = failed(capsys, "voices", "--url", server.url)
        assert "is not trusted" in listing and "--ca FILE" in listing
        assert "refused the API key" in failed(capsys, *say, "--insecure")
        assert main([*say, "--insecure", "--api-key", "right"]) == 0
        monkeypatch.setenv("ABR_TTS_API_KEY", "right")
        assert main([*say, "--insecure"]) == 0


def test_an_authority_of_ones_own_is_believed_and_no_other(tmp_path, capsys):
    ours, theirs = trustme.CA(), trustme.CA()
    for name, authority in (("ours.pem", ours), ("theirs.pem", theirs)):
        authority.cert_pem.write_to_path(tmp_path / name)
    pem = tmp_path / "server.pem"
    ours.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(pem)
    with serving_in_a_thread(tls__cert_file=pem, tls__key_file=pem) as server:
        say = ("say", "abc", "--url", server.url, "--quiet", "-o", str(tmp_path / "x.wav"), "--ca")
        assert main([*say, str(tmp_path / "ours.pem")]) == 0
        assert "is not trusted" in failed(capsys, *say, str(tmp_path / "theirs.pem"))


@pytest.mark.parametrize(("content", "words"), [(None, "cannot be read: No such"), ("x", "no certificate")])
def test_a_file_that_is_no_authority_is_told_before_anything_is_asked(tmp_path, capsys, content, words):
    path = tmp_path / "ca.pem"
    if content:
        path.write_text(content)
    say = ("say", "x", "-o", str(tmp_path / "x.wav"), "--url", "wss://x.invalid")
    sentence = failed(capsys, *say, "--ca", str(path))
    assert sentence.startswith(f"--ca {path}: ") and words in sentence


def test_a_full_disk_is_told(server, capsys):
    sentence = failed(capsys, "say", "x" * 100, "--url", server.url, "-o", "/dev/full")
    assert "cannot be written" in sentence


def test_figures_and_sound_do_not_share_standard_output(capsys):
    assert "both want standard output" in failed(capsys, "say", "x", "-o", "-", "--json", status=2)


def test_a_rate_that_is_none_is_told_in_the_last_line(capsys):
    with pytest.raises(SystemExit):
        main(["say", "--rate", "7", "x"])
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.endswith("error: argument --rate: must be a multiple of 50 Hz up to 192000, not 7")


@pytest.mark.parametrize("verb", ["diff", "tune"])
def test_the_help_of_what_is_tried_speaks_of_95_percent(capsys, verb):
    with pytest.raises(SystemExit):
        main(["policy", verb, "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "95 % " in told and "%%" not in told


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["sing"],
        ["say", "--rate", "7", "x"],
        ["say", "--rate", "0", "x"],
        ["say", "--nope"],
        ["doctor", "x"],
    ],
)
def test_wrong_usage_has_status_2(capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert ": error: " in capsys.readouterr().err


# ---------------------------------------------------------------- say, aloud


def player(folder: Path, name: str, script: str) -> None:
    """A program on PATH that stands for a sound card, which a test machine has not."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("aplay", 'echo "$@" > {0}/args; cat > {0}/heard'),
        ("paplay", 'echo "$@" > {0}/args; cat > {0}/heard'),
        ("afplay", 'tail -c +45 "$1" > {0}/heard'),
        ("ffplay", "tail -c +45 > {0}/heard"),
    ],
)
def test_without_a_file_the_systems_player_gets_every_sample(server, tmp_path, monkeypatch, name, script):
    player(tmp_path, name, script.format(tmp_path))
    for tool in ("cat", "tail"):
        (tmp_path / tool).symlink_to(f"/usr/bin/{tool}")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["say", "--url", server.url, "--rung", "pcm22", "Hello"]) == 0
    assert np.array_equal(np.frombuffer((tmp_path / "heard").read_bytes(), "<i2"), tone("Hello"))
    if (tmp_path / "args").exists():
        assert "22050" in (tmp_path / "args").read_text()


def test_a_player_that_fails_is_told_in_its_own_words(server, tmp_path, monkeypatch, capsys):
    player(tmp_path, "aplay", "echo 'main:831: audio open error: No such device' >&2; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    sentence = failed(capsys, "say", "--url", server.url, "x" * 500)
    assert "aplay cannot play (main:831: audio open error: No such device)" in sentence
    assert "-o out.wav" in sentence


def test_where_nothing_plays_sound_it_says_what_to_do(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    sentence = failed(capsys, "say", "x")
    assert "aplay" in sentence and "-o out.wav" in sentence


# ---------------------------------------------------------------- voices, doctor, the rest


def test_say_tells_of_what_the_engine_cannot_pronounce(capsys, tmp_path):
    assert main(["say", "Hello བཀྲ", "-o", str(tmp_path / "a.wav")]) == 0
    assert "abr-tts: warning: the engine cannot pronounce Tibetan" in capsys.readouterr().err
    assert main(["say", "--quiet", "Hello བཀྲ", "-o", str(tmp_path / "a.wav")]) == 0
    assert capsys.readouterr().err == ""
    assert main(["say", "--json", "Hello བཀྲ", "-o", str(tmp_path / "a.wav")]) == 0
    (warning,) = json.loads(capsys.readouterr().out)["warnings"]
    assert "cannot pronounce Tibetan" in warning


def test_voices_are_listed_and_filtered(capsys):
    assert main(["voices", "--language", "zh"]) == 0
    table = capsys.readouterr().out
    assert "cmn" in table and "en-us" not in table
    assert main(["voices", "--json"]) == 0
    voices = json.loads(capsys.readouterr().out)["voices"]
    assert voices[0]["name"] == "en-us" and "cmn" in [voice["name"] for voice in voices]
    assert set(voices[0]) == {"name", "languages", "sample_rate", "description"}
    assert "no voice speaks 'tlh'" in failed(capsys, "voices", "--language", "tlh")


def test_the_doctor_finds_everything_here(capsys):
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    checks = {check["name"]: check for check in report["checks"]}
    assert report["ok"] and all(check["ok"] for check in checks.values() if check["needed"])
    opus, espeak = checks["libopus"]["facts"], checks["espeak"]["facts"]
    assert opus["source"] == "bundled" and opus["verified"] and Path(opus["path"]).is_file()
    assert espeak["voices"] > 100 and Path(espeak["data"]).is_dir() and espeak["version"].startswith("1.")
    assert main(["doctor"]) == 0
    assert "everything needed is here" in capsys.readouterr().out


def test_the_doctor_lists_every_engine_that_an_extra_brings(capsys, monkeypatch):
    extras = {f"engine {name}": kind for name, kind in KINDS.items() if kind.extra and name != "espeak"}
    assert len(extras) >= 5 and all(kind.needs for kind in KINDS.values() if kind.extra)
    for kind in extras.values():
        for module in kind.needs:
            monkeypatch.setitem(sys.modules, module, None)
    assert main(["doctor"]) == 0, "none of them is needed"
    told = capsys.readouterr().out
    for name, kind in extras.items():
        assert f"none     {name}: {kind.needs[0]} is not installed\n" in told
        assert f"pip install '.[{kind.extra}]'" in told


def test_the_doctor_says_what_is_missing_and_how_to_get_it(capsys, monkeypatch):
    def load(path: str | None = None) -> None:
        raise MissingDependency("no libopus on this machine")

    monkeypatch.setattr("abr_tts.audio.libopus.load", load)
    monkeypatch.setitem(sys.modules, "espeakng_loader", None)
    monkeypatch.setitem(doctor.PACKAGES, "no-such-package", None)
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "missing: no-such-package, libopus, espeak" in out
    for remedy in ("pip install no-such-package", "opuslib-next-bundled==0.1.1", "'.[espeak]'"):
        assert remedy in out


def test_the_doctor_knows_every_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = [re.split(r"[<>=]", dependency)[0] for dependency in project["dependencies"]]
    assert list(doctor.PACKAGES) == sorted(names, key=list(doctor.PACKAGES).index)
    assert project["requires-python"] == ">=" + ".".join(map(str, doctor.PYTHON))


def test_the_version_is_told():
    done = command("--version")
    assert (done.returncode, done.stdout.decode().strip()) == (0, f"abr-tts {__version__}")


def test_a_package_that_is_missing_is_told():
    script = "import sys; sys.modules['soxr'] = None\nfrom abr_tts.cli import main; sys.exit(main({}))"
    arguments = ["say", "x", "-o", os.devnull]
    run = [sys.executable, "-c", script.format(arguments)]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, timeout=WAIT_S)
    assert done.returncode == 1
    assert done.stderr.decode() == "abr-tts: error: soxr is not installed; abr-tts doctor says what is\n"


def test_help_imports_nothing_heavy():
    script = (
        "import sys; from abr_tts.cli import main\n"
        "try: main(['say', '--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'aiohttp', 'msgpack', 'soxr'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, timeout=WAIT_S)
    assert done.stdout.decode().splitlines()[-1] == "[]"
