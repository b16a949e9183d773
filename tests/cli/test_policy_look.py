"""`abr-tts policy show` and `check` say what may be written, and what is written."""

import json
from dataclasses import replace

import pytest

from abr_tts.cli import main
from abr_tts.control import policy_text
from abr_tts.control.policy import NUMBERS
from abr_tts.control.policy_file import PRESETS, parse, preset, preset_text

from ..test_cli import failed


@pytest.mark.parametrize("name", PRESETS)
def test_everything_about_a_preset_is_a_file_that_says_the_same(name, capsys):
    assert main(["policy", "show", name, "--full"]) == 0
    assert parse(capsys.readouterr().out, "x") == preset(name)


def test_every_number_is_told_with_its_bounds(capsys):
    assert main(["policy", "show", "default", "--full"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in NUMBERS:
        at = next(index for index, line in enumerate(lines) if line.startswith(f"{name} = "))
        assert lines[at - 1].startswith("# ") and " to " in lines[at - 1]
    assert "# Seconds that a better rung must fit before it is taken. 0 to 60." in lines


def test_a_bound_that_is_told_is_the_last_value_that_check_takes(tmp_path, capsys):
    path = tmp_path / "x.toml"
    path.write_text("hold_up_s = 60\n")
    assert main(["policy", "check", str(path)]) == 0
    capsys.readouterr()
    path.write_text("\nhold_up_s = 60.1\n")
    sentence = failed(capsys, "policy", "check", str(path))
    assert sentence == f"{path}:2: hold_up_s is 60.1, but must be at most 60"


def test_the_command_names_its_verbs(capsys):
    with pytest.raises(SystemExit):
        main(["policy", "--help"])
    told = capsys.readouterr().out
    for verb in ("show", "check", "simulate", "diff", "tune"):
        assert f"\n    {verb} " in told


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_as_json_is_what_check_tells_of_a_file_that_says_the_same(name, tmp_path, capsys):
    assert main(["policy", "show", name, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (tmp_path / "same.toml").write_text(policy_text.as_text(preset(name)))
    assert main(["policy", "check", str(tmp_path / "same.toml"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == told | {"warnings": []}
    assert [one["name"] for one in told["rungs"]] == [rung.name for rung in preset(name).rungs]


@pytest.mark.parametrize("full", [(), ("--full",)])
@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_under_a_name_of_ones_own_is_the_same_but_for_the_name(name, full, capsys):
    assert main(["policy", "show", name, "--name", "mine-2", *full]) == 0
    assert parse(capsys.readouterr().out, "x") == replace(preset(name), name="mine-2")
    assert main(["policy", "show", name, "--name", "mine-2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "mine-2"


@pytest.mark.parametrize("name", ["", "a b", 'a"', "x" * 65, "ä", "a\n"])
def test_a_name_that_needs_quoting_is_refused(name, capsys):
    assert "1 to 64" in failed(capsys, "policy", "show", "default", "--name", name, status=2)
    assert main(["policy", "show", "default", "--name", "x" * 64]) == 0


def test_a_preset_cannot_be_shown_under_the_name_of_one(capsys):
    assert "a preset's name" in failed(capsys, "policy", "show", "classic", "--name", "opus", status=2)


def test_a_changed_file_that_keeps_a_presets_name_is_warned_of(tmp_path, capsys):
    path = tmp_path / "mine.toml"
    path.write_text(preset_text("default"))
    assert main(["policy", "check", str(path)]) == 0
    assert capsys.readouterr().err == "", "it is the preset"
    path.write_text('name = "default"\nbank_lead_s = 20\n')
    assert main(["policy", "check", str(path)]) == 0
    told = capsys.readouterr()
    assert "valid; policy default" in told.out
    assert told.err.startswith("abr-tts: warning: it is named default and is not that preset")
    assert main(["policy", "check", str(path), "--json"]) == 0
    (warning,) = json.loads(capsys.readouterr().out)["warnings"]
    assert warning in told.err
    path.write_text("bank_lead_s = 20\n")
    assert main(["policy", "check", str(path)]) == 0
    assert capsys.readouterr().err == "", "it is named by its file"
