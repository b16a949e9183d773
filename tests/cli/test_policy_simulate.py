"""`abr-tts policy simulate` tells people and programs what listeners would hear, and draws it."""

import json
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from abr_tts.cli import main
from abr_tts.cli.progress import Bar

from ..test_cli import failed

KEYS = {
    "qoe", "stall_pct", "stall_free_pct", "stalls_per_min", "switches_per_min", "startup_ms", "p10_qoe",
    "bytes_per_s", "played_seconds", "kinds", "baselines", "optimum",
}  # fmt: skip


def simulate(capsys, *arguments: str) -> dict:
    assert main(["policy", "simulate", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


# ---------------------------------------------------------------- for programs


def test_programs_get_the_policy_the_usual_baselines_and_the_optimum(networks, capsys):
    report = simulate(capsys, "default", "--traces", str(networks), "--jobs", "1")
    assert report.keys() == KEYS
    assert list(report["baselines"]) == ["fixed_opus24", "fixed_opus32", "fixed_pcm22", "rate_ewma", "mpc"]
    assert report["kinds"].keys() == {"dsl", "radio"} == report["baselines"]["mpc"]["kinds"].keys()
    assert report["baselines"]["fixed_pcm22"]["stall_pct"] > report["stall_pct"]
    assert report["optimum"].keys() == {"qoe", "stall_pct", "bound"}


def test_the_figures_are_the_same_whatever_the_processes_and_others_with_another_seed(networks, capsys):
    arguments = ("default", "--traces", str(networks), "--against", "rate_ewma")
    one = simulate(capsys, *arguments, "--jobs", "1")
    assert simulate(capsys, *arguments, "--jobs", "3") == one
    assert simulate(capsys, *arguments, "--jobs", "1", "--seed", "2") != one
    twice = simulate(capsys, *arguments, "--jobs", "1", "--repeats", "2")
    assert sum(twice["played_seconds"].values()) > 1.5 * sum(one["played_seconds"].values())


def test_it_may_be_held_against_other_policies_files_and_nobody(networks, tmp_path, capsys):
    path = tmp_path / "mine.toml"
    path.write_text('extends = "thrifty"\n')
    traces = ("--traces", str(networks / "dsl_quick.csv"), "--jobs", "1")
    report = simulate(capsys, "opus", *traces, "--against", f"thrifty,{path},fixed_opus12")
    assert list(report["baselines"]) == ["thrifty", "mine", "fixed_opus12"] and "optimum" not in report
    assert report["baselines"]["thrifty"] == report["baselines"]["mine"]
    assert simulate(capsys, "opus", *traces, "--against", "none")["baselines"] == {}
    everyone = simulate(capsys, "opus", *traces, "--against", "all")["baselines"]
    assert {"bba", "bola", "mpc", "dynamic", "fixed_opus16"} <= everyone.keys()


def test_two_policies_of_one_name_are_called_as_they_were_given(networks, tmp_path, capsys):
    path = tmp_path / "other.toml"
    path.write_text('name = "default"\nhold_up_s = 9\n')
    traces = ("--traces", str(networks / "dsl_quick.csv"), "--jobs", "1")
    assert list(simulate(capsys, "default", *traces, "--against", str(path))["baselines"]) == [str(path)]


def test_a_slow_engine_and_a_proxy_in_the_path_change_what_is_heard(networks, capsys):
    arguments = ("default", "--traces", str(networks), "--against", "none", "--jobs", "1")
    plain = simulate(capsys, *arguments)
    slow = simulate(capsys, *arguments, "--real-time-factor", "1.5")
    assert slow["stall_pct"] > plain["stall_pct"] + 5
    assert simulate(capsys, *arguments, "--proxied") != plain


# ---------------------------------------------------------------- for people


def test_people_get_a_table_the_kinds_the_worst_networks_and_the_speed(networks, capsys):
    assert main(["policy", "simulate", "default", "--traces", str(networks), "--against", "mpc,optimum"]) == 0
    told = capsys.readouterr().out
    assert "default over 6 networks (dsl 3, radio 3), seed 1" in told
    for words in (
        "stalled %",
        "\nmpc ",
        "\noptimum ",
        "QoE / stalled %",
        "heard: ",
        "worst networks",
        "radio_gap",
    ):
        assert words in told
    assert " of them in a second" in told.splitlines()[-1]


def test_a_page_of_pictures_stands_alone_and_is_well_formed(networks, tmp_path, capsys):
    heavy, page = tmp_path / "heavy.toml", tmp_path / "out.html"
    heavy.write_text('bank_rung = "pcm22"\n[[rung]]\nname = "pcm22"\n')
    arguments = ["policy", "simulate", str(heavy), "--traces", str(networks), "--jobs", "1"]
    assert main([*arguments, "--against", "fixed_opus24,default,optimum", "--plot", str(page)]) == 0
    assert f"pictures: {page}" in capsys.readouterr().out
    text = page.read_text("utf-8")
    assert "<script" not in text and "<link" not in text and "src=" not in text and "@import" not in text
    assert "http" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    pictures = [piece.partition("</svg>")[0] + "</svg>" for piece in text.split("<svg")[1:]]
    trees = [ElementTree.fromstring(f"<svg{picture}") for picture in pictures]
    assert len(trees) == 6, "two of bars, one of dots, three time lines"
    space = "{http://www.w3.org/2000/svg}"
    assert sum(element.tag == f"{space}circle" for element in trees[2].iter()) == 6 + 2, "and the legend's"
    assert any(rect.get("fill") == "#e01e37" for rect in trees[3].iter(f"{space}rect")), "PCM stalls on it"
    HTMLParser().feed(text)


def test_a_name_cannot_break_out_of_the_page(networks, tmp_path, capsys):
    policy = tmp_path / "x.toml"
    policy.write_text('name = "<b onload=x>&"\n')
    page = tmp_path / "out.html"
    traces = ["--traces", str(networks / "dsl_quick.csv"), "--against", "none", "--jobs", "1"]
    assert main(["policy", "simulate", str(policy), *traces, "--plot", str(page)]) == 0
    assert "<b onload" not in page.read_text("utf-8") and "&lt;b onload" in page.read_text("utf-8")


# ---------------------------------------------------------------- what is wrong


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["defualt"], "defualt: there is no such policy file; presets are default,"),
        (["{folder}/bad.toml"], "bad.toml:2: hedroom: unknown key; did you mean headroom?"),
        (["default", "--against", "mpcc"], "--against: no baseline 'mpcc'; did you mean mpc?"),
        (["default", "--controller", "weak"], "--controller: no controller 'weak'"),
        (["default", "--format", "mahimaji"], "no format 'mahimaji'; there are"),
        (["default", "--format", "pensieve"], "dsl_quick.csv:1: must be two numbers"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line_and_status_2(
    networks, tmp_path, capsys, arguments, sentence
):
    (tmp_path / "bad.toml").write_text("\nhedroom = 2\n")
    filled = [argument.format(folder=tmp_path) for argument in arguments]
    assert sentence in failed(capsys, "policy", "simulate", *filled, "--traces", str(networks), status=2)


def test_a_bad_network_is_told_with_file_and_line_and_status_2(networks, capsys):
    bad = networks / "bad.csv"
    bad.write_text("time_s,kbps\n0,10\n1,ten\n")
    sentence = failed(capsys, "policy", "simulate", "default", "--traces", str(networks), status=2)
    assert sentence == f"{bad}:3: must be two numbers, not '1,ten'"


@pytest.mark.parametrize(
    "arguments", [["--jobs", "0"], ["--jobs", "257"], ["--repeats", "101"], ["--rtt-ms", "-1"]]
)
def test_a_number_out_of_its_bounds_is_wrong_usage(networks, capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        main(["policy", "simulate", "default", "--traces", str(networks), *arguments])
    assert caught.value.code == 2
    assert "must be " in capsys.readouterr().err


def test_pictures_that_cannot_be_written_are_told(networks, tmp_path, capsys):
    arguments = ["policy", "simulate", "default", "--against", "none", "--jobs", "1", "--plot", str(tmp_path)]
    assert main([*arguments, "--traces", str(networks / "dsl_quick.csv")]) == 1
    assert f"{tmp_path}: cannot be written: Is a directory" in capsys.readouterr().err


# ---------------------------------------------------------------- the bar


def test_a_terminal_shows_how_much_is_done_and_a_file_nothing(monkeypatch, capsys):
    monkeypatch.setattr("abr_tts.cli.progress._columns", lambda: 60)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    bar = Bar("simulating")
    bar.begin(2)
    bar.step()
    bar.step()
    bar.end()
    drawn = capsys.readouterr().err.split("\r\x1b[2K")
    assert drawn[1].startswith("simulating [############............] 1/2, ")
    assert drawn[2].startswith("simulating [########################] 2/2, 0 s left")
    assert drawn[3] == "" and all(len(line) < 60 for line in drawn)
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    quiet = Bar("simulating")
    quiet.begin(1)
    quiet.step()
    quiet.end()
    assert capsys.readouterr().err == ""
