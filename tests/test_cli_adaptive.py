"""The command line about adapting: what `say` shows, what `serve` records, `replay` and `policy`."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from abr_tts.cli import main
from abr_tts.cli.progress import Progress
from abr_tts.control.policy_file import preset, read
from abr_tts.server.app import Server
from abr_tts.wire.messages import Mark, Switch

from .server.harness import serving_in_a_thread
from .test_cli import failed


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving_in_a_thread() as server:
        yield server


# ---------------------------------------------------------------- say, serve


def test_a_terminal_shows_the_rung_the_bank_and_each_switch_with_its_reason(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("abr_tts.cli.progress._columns", lambda: 60)
    progress = Progress()
    progress.draw(1.25, "opus24", 12_340, 0)
    progress.draw(1.27, "opus24", 12_320, 0)
    progress.note(Mark(1, 0, 0, 5))
    progress.note(Switch(1, 2, "opus24", "pcm22", 96_000, 960, "the link carries a lot"))
    progress.note(Switch(1, 3, "pcm22", "pcm22", 97_000, 960, "a new track of the same"))
    progress.draw(2.0, "pcm22", 11_900, 1)
    drawn = capsys.readouterr().err.split("\r\x1b[2K")[1:]
    assert drawn == [
        "    1.2 s  opus24   bank 12.3 s  0 switches",
        "    2.0 s  pcm22    bank 11.9 s  1 switch  opus24 to pcm22:",
    ], "the second one came too soon; the last one ends where the terminal does"


def test_say_adapts_as_the_policy_it_names(server, tmp_path, capsys):
    say = ("say", "--url", server.url, "-o", str(tmp_path / "x.wav"), "--json", "some words to say")
    assert main([*say, "--policy", "thrifty"]) == 0
    assert list(json.loads(capsys.readouterr().out)["rungs"]) == ["opus32"], "a file: all of it at the best"
    assert main([*say, "--policy", "thrifty", "--realtime"]) == 0
    assert next(iter(json.loads(capsys.readouterr().out)["rungs"])) == "opus16", "heard: banked first"
    assert "no policy 'thrifti'; there are classic, default" in failed(capsys, *say, "--policy", "thrifti")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--policy", "clasic"], "stream.policy: no policy 'clasic'; there are"),
        (["--policy", "{folder}/bad.toml"], "bad.toml:2: hedroom: unknown key; did you mean headroom?"),
        (["--record", "{folder}/bad.toml/traces"], "record.dir: cannot make"),
    ],
)
def test_serve_refuses_a_bad_policy_and_a_bad_folder_before_it_listens(capsys, tmp_path, arguments, sentence):
    (tmp_path / "bad.toml").write_text("\nhedroom = 2\n")
    filled = [argument.format(folder=tmp_path) for argument in arguments]
    assert sentence in failed(capsys, "serve", "--port", "0", "--engine", "tone", *filled)


# ---------------------------------------------------------------- replay, policy


@pytest.fixture(scope="module")
def trace(tmp_path_factory) -> Path:
    """What `serve --record` leaves of one stream."""
    folder = tmp_path_factory.mktemp("traces")
    with serving_in_a_thread(record__dir=folder) as server:
        say = ["say", "--url", server.url, "-o", str(folder / "x.wav"), "--realtime"]
        assert main([*say, "so many words to say"]) == 0
    (path,) = folder.glob("*.jsonl")
    return path


def test_a_recorded_stream_replays_bit_for_bit(trace, capsys):
    assert main(["replay", str(trace)]) == 0
    told = capsys.readouterr().out
    assert str(trace) in told and "policy default (SHA-256" in told and "ended: done" in told
    assert "as recorded, bit for bit" in told
    assert main(["replay", "--json", str(trace)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["equal"] and report["difference"] is None and report["inputs"] > 20
    assert report["policy"] == "default" and "other" not in report


def test_a_trace_that_was_changed_does_not_replay(trace, tmp_path, capsys):
    lines = trace.read_text().splitlines(keepends=True)
    number = next(n for n, text in enumerate(lines, 1) if '"out":"encode"' in text)
    lines[number - 1] = lines[number - 1].replace("opus24", "opus12")
    path = tmp_path / "changed.jsonl"
    path.write_text("".join(lines))
    assert main(["replay", str(path)]) == 1
    assert f"line {number}, after" in (told := capsys.readouterr().out)
    assert 'encode: rung was "opus12" and is "opus24"' in told
    assert main(["replay", "--json", str(path)]) == 1
    assert json.loads(capsys.readouterr().out)["difference"]["line"] == number


def test_a_replay_says_what_another_policy_would_have_changed(trace, tmp_path, capsys):
    assert main(["replay", str(trace), "--policy", "thrifty"]) == 0
    told = capsys.readouterr().out
    assert "heard to s  banked to s  then: default" in told, "positions in the speech, no leads"
    assert "now: thrifty" in told and "opus16" in told
    assert "The rungs differ for" in told and "what the recorded policy had sent and met" in told
    assert main(["replay", str(trace), "--policy", "default"]) == 0
    assert "would have answered otherwise 0 times" in capsys.readouterr().out
    path = tmp_path / "mine.toml"
    path.write_text('bank_rung = "opus12"\n')
    assert main(["replay", str(trace), "--policy", str(path), "--json"]) == 0
    other = json.loads(capsys.readouterr().out)["other"]
    assert other["policy"] == "mine" and other["otherwise"] > 0 and other["note"]
    assert other["changes"][0]["now"]["bank"] == "opus12"
    assert other["differing"][0]["seconds"] > 0


@pytest.mark.parametrize(
    ("text", "arguments", "sentence"),
    [
        ("hello\n", [], "x.jsonl:1: is not JSON"),
        ("", [], "x.jsonl: there is nothing in it"),
        ("\udcff", [], "x.jsonl: is not UTF-8"),
        (None, [], "x.jsonl: cannot be read: No such file"),
        (None, ["--policy", "nope"], "nope: there is no such policy file; presets are default,"),
    ],
)
def test_what_is_no_trace_and_what_is_no_policy_has_status_2(capsys, tmp_path, text, arguments, sentence):
    path = tmp_path / "x.jsonl"
    if text is not None:
        path.write_text(text, errors="surrogateescape")
    assert sentence in failed(capsys, "replay", str(path), *arguments, status=2)


def test_a_broken_line_is_told_with_its_number(trace, tmp_path, capsys):
    lines = trace.read_text().splitlines(keepends=True)
    path = tmp_path / "x.jsonl"
    path.write_text("".join([*lines[:6], '{"in":"sing"}\n', *lines[6:]]))
    assert "x.jsonl:7: " in failed(capsys, "replay", str(path), status=2)


def test_a_preset_is_shown_and_is_a_policy_file(tmp_path, capsys):
    for arguments in (["classic"], ["classic", "--full"]):
        assert main(["policy", "show", *arguments]) == 0
        path = tmp_path / "classic.toml"
        path.write_text(capsys.readouterr().out)
        assert read(path) == preset("classic")
    assert "# Seconds ahead of the listener that upgrades are sent at most." in path.read_text()
    assert "did you mean classic?" in failed(capsys, "policy", "show", "clasic", status=2)


def test_a_policy_file_is_checked(tmp_path, capsys):
    path = tmp_path / "mine.toml"
    path.write_text('extends = "classic"\nupgrade_lead_s = 3\n')
    assert main(["policy", "check", str(path)]) == 0
    told = capsys.readouterr().out
    assert f"{path}: valid; policy mine, bank at opus24" in told and "pcm16k (" in told
    assert main(["policy", "check", "--json", str(path)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["upgrade_lead_s"] == 3 and report["rungs"][1]["utility"] == 0.95
    path.write_text("\n\nupgrade_lead = 3\n")
    sentence = failed(capsys, "policy", "check", str(path))
    assert sentence == f"{path}:3: upgrade_lead: unknown key; did you mean upgrade_lead_s?"
