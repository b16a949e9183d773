"""Folders of recorded networks are found, named, sorted into kinds, and refused with file and line."""

import json

import pytest

from abr_tts.cli.failure import Failure
from abr_tts.cli.policy import networks
from abr_tts.cli.policy.networks import load, summary
from abr_tts.errors import ConfigError

from .recordings import write

TABLE = "time_s,kbps\n0,400\n10,400\n"


def test_a_folder_is_read_in_the_order_of_names_and_kinds_are_what_names_begin_with(tmp_path):
    cases = load([write(tmp_path / "nets")])
    assert [case.name for case in cases][:2] == ["dsl_quick", "dsl_slow"]
    assert summary(cases) == "6 networks (dsl 3, radio 3)"


def test_an_index_tells_kind_and_round_trip_and_the_user_tells_it_better(tmp_path):
    folder = write(tmp_path / "nets", ["dsl_slow", "radio_gap"])
    (folder / "INDEX.csv").write_text("file,kind,base_rtt_ms,more\ndsl_slow.csv,adsl,90,x\n")
    slow, gap = load([folder])
    assert (slow.kind, gap.kind) == ("adsl", "radio")
    assert slow.scenario.base_rtt_s == pytest.approx(0.09)
    assert load([folder], rtt_ms=10)[0].scenario.base_rtt_s == pytest.approx(0.01)
    (alone,) = load([folder / "dsl_slow.csv"])
    assert alone.kind == "adsl", "the index beside a file counts for it, too"


def test_kinds_are_folders_within_the_folder(tmp_path):
    write(tmp_path / "train", ["radio_gap"])
    write(tmp_path / "home", ["dsl_slow"])
    assert [case.kind for case in load([tmp_path])] == ["home", "train"]


def test_formats_may_be_mixed_and_what_is_no_network_is_passed_over(tmp_path):
    (tmp_path / "walk.down").write_text("100\n200\n")
    (tmp_path / "walk.up").write_text("100\n200\n")
    (tmp_path / "report.json").write_text(json.dumps([{"duration_ms": 900, "bandwidth_kbps": 80}]))
    (tmp_path / "norway_bus_1").write_text("0 1\n1 2\n")
    rate = {"rate": [[0, 100]], "delay_ms": 20}
    document = {"format": "tts-netem/1", "name": "cafe_wifi", "duration_s": 9, "down": rate, "up": rate}
    (tmp_path / "doc.json").write_text(json.dumps(document))
    for name in ("README", "README.md", "LICENSE", "Makefile.am", ".hidden"):
        (tmp_path / name).write_text("no network\n")
    found = {case.name: case.kind for case in load([tmp_path])}
    assert found == {
        "cafe_wifi": "scenario", "norway_bus_1": "norway", "report": "network", "walk": "network",
    }  # fmt: skip


def test_networks_of_one_name_are_told_apart(tmp_path):
    folders = [write(tmp_path / name, ["dsl_slow"]) for name in "ab"]
    assert [case.name for case in load(folders)] == ["dsl_slow", "dsl_slow (2)"]


def test_a_broken_file_is_told_with_its_path_and_line(tmp_path):
    folder = write(tmp_path / "nets")
    (folder / "bad.csv").write_text("time_s,kbps\n0,1\n1,fast\n")
    with pytest.raises(ConfigError) as caught:
        load([folder])
    assert str(caught.value).startswith(f"{folder / 'bad.csv'}:3: must be two numbers")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.csv", b"time_s,kbps\n0,\xff\n", "a.csv:2: is not UTF-8"),
        ("INDEX.csv", b"file,kind,base_rtt_ms\na,b,soon\n", "INDEX.csv:2: base_rtt_ms must be 0 to 10000"),
        ("INDEX.csv", b"file,kind,base_rtt_ms\na,b,10001\n", "INDEX.csv:2: base_rtt_ms must be 0 to 10000"),
        ("INDEX.csv", b"name,kind\na,b\n", "INDEX.csv:2: no file is named"),
        ("README", b"nothing", "no recorded network in it"),
    ],
)
def test_what_is_wrong_with_a_folder_is_told(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(Failure) as caught:
        load([tmp_path])
    assert sentence in str(caught.value) and caught.value.status == 2


def test_a_path_that_is_not_there_is_told(tmp_path):
    with pytest.raises(Failure, match=r"nowhere: cannot be read: No such file"):
        load([tmp_path / "nowhere"])


def test_a_file_is_read_up_to_its_limit_and_not_beyond(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text(TABLE)
    monkeypatch.setattr(networks, "MOST_BYTES", len(TABLE))
    assert load([path])
    path.write_text(TABLE + "\n")
    with pytest.raises(Failure, match=f"is {len(TABLE) + 1} bytes long; at most {len(TABLE)} are read"):
        load([path])


def test_a_folder_is_read_up_to_its_limit_of_files_and_not_beyond(tmp_path, monkeypatch):
    folder = write(tmp_path / "nets")
    monkeypatch.setattr(networks, "MOST_FILES", 6)
    assert len(load([folder])) == 6
    monkeypatch.setattr(networks, "MOST_FILES", 5)
    with pytest.raises(Failure, match="holds 6 files; at most 5 are read"):
        load([folder])
