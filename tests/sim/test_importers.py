"""Recorded networks in other people's formats become the capacity that they mean, or an error with a line."""

import json

import pytest

from abr_tts.errors import ConfigError
from abr_tts.sim import importers
from abr_tts.sim.importers import fcc, text
from abr_tts.sim.importers.text import Source

FCC_HEAD = "unit_id,dtime,target,address,fetch_time,bytes_total,bytes_sec,objects,successes,failures"


def read(content: str, **more):
    (scenario,) = importers.read(content, "folder/file", name="file", **more)
    return scenario


def refusal(content: str, **more) -> str:
    with pytest.raises(ConfigError) as caught:
        importers.read(content, "folder/file", name="file", **more)
    return str(caught.value)


def bits(scenario) -> float:
    """What passes in one round."""
    steps = scenario.down.rate
    ends = [at for at, _ in steps[1:]] + [scenario.duration_s]
    return sum(kbps * 1000 * (end - at) for (at, kbps), end in zip(steps, ends, strict=True))


def fcc_rows(
    unit: str, rates: list[int], target: str = "http://a.example/x", successes: int = 1
) -> list[str]:
    return [
        f"{unit},2024-01-{1 + index // 24:02} {index % 24:02}:00,{target},-,5000000,1,{rate},1,{successes},0"
        for index, rate in enumerate(rates)
    ]


# ---------------------------------------------------------------- mahimahi


def test_each_line_of_mahimahi_lets_1500_bytes_pass():
    scenario = read("0\n0\n40\n250\n250\n1000\n")
    assert scenario.duration_s == 1.0
    assert bits(scenario) == pytest.approx(6 * 12_000)
    assert scenario.down.kbps_at(0.05) == pytest.approx(3 * 12_000 / 100)
    assert scenario.down.kbps_at(0.15) == 0
    assert scenario.down.kbps_at(0.25) == pytest.approx(240)


def test_a_mahimahi_file_with_a_1_in_it_is_a_link_of_12_mbit():
    scenario = read("1\n")
    assert scenario.duration_s == 0.001
    assert scenario.down.rate == ((0.0, 12_000.0),)


def test_a_last_step_of_mahimahi_that_is_cut_short_carries_no_less():
    scenario = read("50\n150\n")
    assert scenario.duration_s == 0.15
    assert bits(scenario) == pytest.approx(2 * 12_000)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("5\n3\n", "folder/file:2: 3 ms comes before 5 ms"),
        ("5\nsix\n", "folder/file:2: must be a whole number of milliseconds, not 'six'"),
        ("5\n-6\n", "folder/file:2: must be a whole number"),
        ("0\n0\n", "folder/file:1: must last for more than 0 ms"),
        ("1\n\n86400001\n", "folder/file:3: the time must be from 0 to 8.64e+07, not 86400001"),
    ],
)
def test_what_is_wrong_with_a_mahimahi_file_is_told_with_its_line(content, sentence):
    assert refusal(content).startswith(sentence)


# ---------------------------------------------------------------- sabre


def period(duration_ms=1000, kbps=500, latency=100) -> dict:
    return {"duration_ms": duration_ms, "bandwidth_kbps": kbps, "latency_ms": latency}


def test_a_list_of_periods_is_capacity_over_time_and_its_latency_a_round_trip():
    scenario = read(json.dumps([period(1020, 1051), period(2791, 46), period(1012, 0)], indent=1))
    assert scenario.down.rate == ((0.0, 1051.0), (1.02, 46.0), (pytest.approx(3.811), 0.0))
    assert scenario.duration_s == pytest.approx(4.823)
    assert scenario.base_rtt_s == pytest.approx(0.1)


def test_the_round_trip_of_periods_that_differ_is_their_median_by_time():
    content = json.dumps([period(100, latency=10), period(900, latency=70), period(200, latency=900)])
    assert read(content).base_rtt_s == pytest.approx(0.07)
    assert read(content, rtt_ms=30).base_rtt_s == pytest.approx(0.03), "the user's word counts more"


def test_a_period_of_no_length_says_nothing_and_one_without_latency_takes_the_usual_one():
    scenario = read('[{"duration_ms":0,"bandwidth_kbps":9},{"duration_ms":500,"bandwidth_kbps":80}]')
    assert scenario.down.rate == ((0.0, 80.0),)
    assert scenario.base_rtt_s * 1000 == pytest.approx(text.RTT_MS)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("[\n {},\n]", "folder/file:2: duration_ms is missing"),
        ('[\n\n\n{"duration_ms":1}]', "folder/file:4: bandwidth_kbps is missing"),
        ('[\n{"duration_ms":1,"bandwidth_kbps":-1}]', "folder/file:2: bandwidth_kbps must be from 0"),
        ('[\n{"duration_ms":1,"bandwidth_kbps":true}]', "folder/file:2: bandwidth_kbps must be a number"),
        ('[\n{"duration_ms":1,"bandwidth_kbps":NaN}]', "folder/file:2: bandwidth_kbps must be from 0"),
        ('[\n{"duration_ms":1,"bandwidth_kbps":0}]', "folder/file:1: has no capacity in it"),
        ("[\n7]", "folder/file:2: a period must be an object, not '7'"),
        ("[]", "folder/file:1: has no period that lasts"),
        ('[{"duration_ms":1,"bandwidth_kbps":1}\n{}]', "folder/file:2: not JSON: a comma or ] is missing"),
        ('[{"duration_ms":1,"bandwidth_kbps":1}\n', "folder/file:2: not JSON: a comma or ] is missing"),
        ('[{"duration_ms":1,"bandwidth_kbps":1}]\n]', "folder/file:1: not JSON: ']' follows the list"),
        ("[\n{duration}]", "folder/file:2: not JSON: "),
    ],
)
def test_what_is_wrong_with_a_list_of_periods_is_told_with_its_line(content, sentence):
    assert refusal(content).startswith(sentence)


# ---------------------------------------------------------------- pensieve


def test_a_line_of_pensieve_is_the_rate_up_to_its_time():
    scenario = read("0.0\t9.9\n0.5\t4.5\n2.0\t1.25\n")
    assert scenario.down.rate == ((0.0, 4500.0), (0.5, 1250.0))
    assert scenario.duration_s == 2.0
    assert scenario.base_rtt_s == pytest.approx(0.08)


def test_a_pensieve_trace_may_begin_at_any_second():
    scenario = read("1600000000 1\n1600000001 2\n1600000003 3\n")
    assert scenario.down.rate == ((0.0, 2000.0), (1.0, 3000.0))
    assert scenario.duration_s == 3.0


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("0 1\n1 2 3\n", "folder/file:2: must be two numbers, seconds and Mbit/s, not '1 2 3'"),
        ("0 1\n0 2\n", "folder/file:2: second 0 does not come after 0"),
        ("0 1\n1 -2\n", "folder/file:2: the rate must be from 0"),
        ("0 1\n1 nan\n", "folder/file:2: must be two numbers"),
        ("0 1\n", "folder/file:1: needs two lines at least"),
        ("0 1\n1 0\n", "folder/file:1: has no capacity in it"),
        ("0 1\n86401 1\n", "folder/file:1: lasts 86401 s; at most 86400 are read"),
    ],
)
def test_what_is_wrong_with_a_pensieve_trace_is_told_with_its_line(content, sentence):
    assert refusal(content).startswith(sentence)


# ---------------------------------------------------------------- FCC


def test_the_rows_of_one_household_and_target_are_one_network_in_the_order_of_time():
    rates = [125_000 * (index + 1) for index in range(fcc.LEAST_ROWS)]
    rows = fcc_rows("7", rates)
    content = "\n".join(
        [FCC_HEAD, *reversed(rows), *fcc_rows("8", rates[:-1]), *fcc_rows("7", rates, "http://b/")]
    )
    first, second = importers.read(content, "folder/file", name="file")
    assert (first.name, second.name) == ("file#7_a.example-x", "file#7_b")
    assert first.duration_s == 5 * fcc.LEAST_ROWS
    assert first.down.rate[:2] == ((0.0, 1000.0), (5.0, 2000.0))


def test_a_download_that_failed_says_nothing_of_the_link():
    rows = fcc_rows("7", [125_000] * fcc.LEAST_ROWS) + fcc_rows("7", [0] * 3, successes=0)
    scenario = read("\n".join([FCC_HEAD, *rows]))
    assert scenario.down.rate == ((0.0, 1000.0),)


def test_of_an_interval_its_own_rate_counts_and_not_the_mean_so_far():
    head = "unit_id,dtime,target,bytes_sec,bytes_sec_interval,sequence"
    rows = [f"7,2024-01-01 00:00:00,t,999,{125 * (index + 1)},{index}" for index in range(fcc.LEAST_ROWS)]
    scenario = read("\n".join([head, *rows]))
    assert scenario.down.rate[:2] == ((0.0, 1.0), (5.0, 2.0))
    assert scenario.down.kbps_at(scenario.duration_s - 1) == fcc.LEAST_ROWS, "row 10 comes after row 9"


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["unit_id,dtime,target"], "folder/file:1: the head lacks bytes_sec"),
        ([FCC_HEAD, *fcc_rows("7", [1] * (fcc.LEAST_ROWS - 1))], "folder/file:1: no household has 24 rows"),
        ([FCC_HEAD, "7,now"], "folder/file:2: has 2 cells, the head 10"),
        ([FCC_HEAD, "", "7,2024,t,-,1,1,fast,1,1,0"], "folder/file:3: the rate must be a number, not 'fast'"),
    ],
)
def test_what_is_wrong_with_an_fcc_file_is_told_with_its_line(lines, sentence):
    assert refusal("\n".join(lines)).startswith(sentence)


def test_an_fcc_file_of_too_many_networks_is_to_be_cut(monkeypatch):
    monkeypatch.setattr(fcc, "MOST_NETWORKS", 2)
    rows = [row for unit in "78" for row in fcc_rows(unit, [1000] * fcc.LEAST_ROWS)]
    assert len(importers.read("\n".join([FCC_HEAD, *rows]), "p")) == 2
    rows += fcc_rows("9", [1000] * fcc.LEAST_ROWS)
    assert "holds 3 networks; at most 2 are read" in refusal("\n".join([FCC_HEAD, *rows]))


# ---------------------------------------------------------------- csv, tts-netem


def test_a_table_and_a_document_are_read():
    table = read("time_s,kbps\n0,400\n2,100\n5,100\n", rtt_ms=40)
    assert table.down.rate == ((0.0, 400.0), (2.0, 100.0), (5.0, 100.0))
    assert (table.duration_s, table.base_rtt_s, table.name) == (5.0, pytest.approx(0.04), "file")
    rate = {"rate": [[0, 100]], "delay_ms": 20}
    content = {"format": "tts-netem/1", "name": "x", "duration_s": 9, "down": rate, "up": rate}
    document = read(json.dumps(content), rtt_ms=500)
    assert (document.name, document.duration_s) == ("x", 9.0)
    assert document.base_rtt_s == pytest.approx(0.04), "a document tells its delays itself"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("time_s,kbps\n0,1\n0,2\n", "folder/file:3: second 0.0 does not come after"),
        ('{\n"format": "tts-netem/2"}', "folder/file:2: format: 'tts-netem/2' is not 'tts-netem/1'"),
        ('{\n"format": "tts-netem/1",\n\n"dwon": 1}', "folder/file:4: dwon: unknown key; did you mean down?"),
        ('{"format"\n:}', "folder/file:2: not JSON: "),
        ("time_s,kbps\n0,1\n90000,1\n", "folder/file:1: lasts 90000 s; at most 86400"),
    ],
)
def test_what_is_wrong_with_a_table_or_a_document_is_told_with_its_line(content, sentence):
    assert refusal(content).startswith(sentence)


def test_the_line_of_a_document_is_that_of_the_key_in_its_own_direction():
    rate = {"rate": [[0, 100]], "delay_ms": 20}
    content = {
        "format": "tts-netem/1",
        "name": "x",
        "duration_s": 9,
        "down": rate,
        "up": rate | {"delay_ms": -1},
    }
    lines = json.dumps(content, indent=1).splitlines()
    wrong = next(number for number, line in enumerate(lines, 1) if "-1" in line)
    assert refusal("\n".join(lines)).startswith(f"folder/file:{wrong}: up.delay_ms: must be at least 0")


# ---------------------------------------------------------------- all of them


@pytest.mark.parametrize(
    ("content", "form"),
    [
        ("time_s,kbps\n", "csv"),
        ('\n {"format": 1}', "tts-netem"),
        ("\n[\n]", "sabre"),
        ("unit_id,dtime", "fcc"),
        ('"unit_id","dtime"', "fcc"),
        ("\n 12\n", "mahimahi"),
        ("0.0\t3.2\n", "pensieve"),
    ],
)
def test_a_format_is_told_by_the_first_line(content, form):
    assert importers.detect(Source(content, "p", "n")) == form


@pytest.mark.parametrize("content", ["", "hello\n", "1 2 3\n", "1.5\n", "nan 1\n", "time,kbps\n"])
def test_what_is_in_no_format_is_refused_with_its_line(content):
    assert refusal(content).startswith("folder/file:1: ") and "begins no format that is known" in refusal(
        content
    )


@pytest.mark.parametrize("row", ["0,2000", " 0.0 , 2000 "])
def test_a_table_without_its_head_is_told_which_line_is_missing(row):
    assert refusal(f"{row}\n5,100\n") == (
        f"folder/file:1: {row.strip()!r} is a row of csv, but no head stands above it: time_s,kbps"
    )


def test_a_format_may_be_named_and_a_wrong_name_is_answered_with_a_near_one():
    assert refusal("0 1\n1 2\n", form="mahimahi").startswith("folder/file:1: must be a whole number")
    assert refusal("1\n", form="mahimahai") == (
        "no format 'mahimahai'; there are csv, tts-netem, mahimahi, sabre, pensieve, fcc; "
        "did you mean mahimahi?"
    )


def test_a_byte_order_mark_is_no_part_of_the_first_line():
    assert read("\ufeff0 1\n1 2\n").duration_s == 1.0


def test_a_file_is_read_up_to_its_limit_of_bytes_and_not_beyond(monkeypatch):
    monkeypatch.setattr(text, "MOST_BYTES", 8)
    assert read("0 1\n1 2\n").duration_s == 1.0
    assert refusal("0 1\n1 2\n\n") == "folder/file:1: is 9 bytes long; at most 8 are read"


@pytest.mark.parametrize(
    ("content", "more"),
    [
        ("1\n2\n3\n", "4\n"),
        ("0 1\n1 2\n2 2\n", "3 2\n"),
        ("time_s,kbps\n0,1\n1,1\n", "2,1\n"),
    ],
)
def test_a_file_is_read_up_to_its_limit_of_rows_and_not_beyond(monkeypatch, content, more):
    monkeypatch.setattr(text, "MOST_ROWS", 3)
    assert read(content)
    assert refusal(content + more) == "folder/file:4: is row 4; at most 3 are read"


def test_periods_are_read_up_to_the_limit_of_rows(monkeypatch):
    monkeypatch.setattr("abr_tts.sim.importers.sabre.MOST_ROWS", 2)
    assert read(json.dumps([period(), period()]))
    assert "is period 3; at most 2 are read" in refusal(json.dumps([period()] * 3))
