"""`abr-tts engine`: which engines there are, and what one does on this machine, in figures that add up."""

import json
from dataclasses import replace

import pytest

from abr_tts.cli import engine_probe, main
from abr_tts.cli.engine import verdict
from abr_tts.cli.engine_probe import Figures, Heard
from abr_tts.engine.kinds import KINDS

FIGURES = Figures(
    engine="made", version="1", sample_rate=24_000, voices=1, languages=["en"], load_s=1.0,
    first_chunk_ms=9.0, rtf=0.1, cpu_rtf=0.04, chunks_s=[1.0], cancel_ms=1.0, peak_rss_mb=99.0,
    loudness_dbfs=-20.0,
)  # fmt: skip


def checked(capsys, *arguments):
    """The JSON of a check that goes well."""
    assert main(["engine", "check", *arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def refused(capsys, *arguments, status=1):
    """The one sentence of one that does not."""
    assert main(["engine", "check", *arguments]) == status
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("abr-tts: error: ") and err.count("\n") == 1
    return err


def test_every_engine_is_listed_with_what_installs_it(capsys):
    assert main(["engine", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(KINDS)
    assert all(
        f"[{kind.extra}]" in line for line, kind in zip(lines, KINDS.values(), strict=True) if kind.extra
    )
    assert main(["engine", "list", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["engines"]) == set(KINDS)


def test_a_tone_of_known_pace_and_chunks_gives_the_figures_that_it_was_made_with(capsys):
    options = {"rate": 16_000, "rtf": 0.25, "first_delay_s": 0.1, "chunks": [8_000]}
    figures = checked(
        capsys, "tone", *(f"--set=engine.options.{key}={value}" for key, value in options.items())
    )
    assert figures["sample_rate"] == 16_000 and figures["engine"] == "tone" and "zh" in figures["languages"]
    assert 225 <= figures["first_chunk_ms"] < 1_000, "100 ms, and 125 for half a second of sound"
    assert 0.25 <= figures["rtf"] < 0.6
    assert figures["chunks_s"][:3] == [0.5, 0.5, 0.5] and len(figures["chunks_s"]) > 5
    assert figures["cancel_ms"] < 1_000 and figures["peak_rss_mb"] > 10


def test_an_engine_that_finds_no_end_is_cut_off_and_measured_by_what_was_heard(capsys, monkeypatch):
    monkeypatch.setattr(engine_probe, "LONGEST_S", 0.5)
    figures = checked(capsys, "tone", "--set=engine.options.rtf=1", "--set=engine.options.chunks=[4800]")
    assert sum(figures["chunks_s"]) < 2 and figures["chunks_s"][0] == 0.2, "4.7 s if it were heard to its end"
    assert 0.8 <= figures["rtf"] < 1.5


def test_espeak_is_far_ahead_of_real_time_and_the_table_says_so(capsys):
    assert main(["engine", "check", "espeak"]) == 0
    *table, last = capsys.readouterr().out.splitlines()
    assert any(line.startswith("rate") and line.endswith("22050 Hz") for line in table)
    assert last.startswith("it keeps up with ") and int(last.split()[4]) > 50


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["nobody"], 2, "no engine 'nobody'; there are espeak"),
        (["tone", "--set", "rate"], 2, "engine.options.threads=2"),
        (["tone", "--set", "engine.options.pitch=1"], 1, "no option pitch"),
        (["tone", "--python", "/no/python"], 1, "/no/python cannot be started"),
        (["tone", "--set", "engine.options.amplitude=0.001"], 1, "of silence"),
        (["cosyvoice", "--model-dir", "/no/weights"], 1, "/no/weights"),
        (["espeak", "--model-dir", "/no/weights"], 1, "espeak has no option 'model_dir'"),
        (["espeak", "--set", "engine.kind=tone"], 2, "NAME says espeak"),
        (["espeak", "--set", "engine.nonsense=1"], 1, "--set engine.nonsense: unknown setting"),
        (["tone", "--set", "engine.options.rtf=-1"], 1, "rtf must be a number from 0"),
        (["openai", "--set", "engine.options.url=ftp://host"], 1, "engine.options.url must be an address"),
    ],
)
def test_what_does_not_load_or_is_not_heard_fails_with_one_sentence(capsys, arguments, status, words):
    assert words in refused(capsys, *arguments, status=status)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "it keeps up with 25 listeners a core"),
        ({"cpu_rtf": 0.9}, "it keeps up with 1 listener a core"),
        ({"cpu_rtf": None}, "it keeps up with 10 listeners at a time"),
        ({"rtf": 1.0}, "it does not keep up: listeners will wait in the middle of a sentence"),
    ],
)
def test_the_verdict_counts_processor_time_where_it_is_known(changes, sentence):
    assert verdict(replace(FIGURES, **changes)) == sentence


def test_pcm_that_comes_at_once_is_one_chunk():
    heard = Heard(1_000, began=5.0, arrived=[(5.5, 400), (5.501, 100), (6.0, 500), (6.019, 250)])
    assert heard.chunks() == [0.5, 0.75] and heard.seconds == 1.25
