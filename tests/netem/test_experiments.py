"""The experiments: what each of them asks for, and how it sums up."""

import argparse
from pathlib import Path

import pytest


def test_the_qos_table_has_a_row_of_figures_for_each_class_and_buffer():
    import qos

    args = argparse.Namespace(
        backend="virtual", seed=1, utterances=1, policy="default", through=None, chances=2
    )
    rows = [qos.measure(qos.Cell(qos.CLASSICS[0], ms), args) for ms in (200, 1000)]
    assert [(row["class"], row["buffer_ms"]) for row in rows] == [("good", 200), ("good", 1000)]
    assert rows[0]["startup_ms"]["p50"] + 100 < rows[1]["startup_ms"]["p50"]
    assert rows[0]["qoe"] > rows[1]["qoe"]
    assert "good       200 ms" in qos.table(rows)


@pytest.mark.parametrize(
    ("real", "within", "inside"), [(0.93, True, True), (0.86, True, False), (0.955, False, True)]
)
def test_agreement_is_held_against_the_mean_and_the_spread_of_virtual_time(monkeypatch, real, within, inside):
    import agree

    def told(trace, backend, args, *more):
        qoe = real if backend == "tun" else {"1": 0.87, "2": 0.87, "3": 0.96}[more[1]]
        return {"qoe": qoe, "stall_pct": 0.0, "startup_ms": {"p50": 50.0}, "bytes_per_s": 9000.0}

    monkeypatch.setattr(agree, "replayed", told)
    row = agree.compare(Path("folder/a.csv"), argparse.Namespace(chances=3))
    assert (row["network"], row["virtual"]["qoe"]) == ("a", 0.9)
    assert (row["virtual_least"], row["virtual_most"]) == (0.87, 0.96)
    assert row["apart"] == pytest.approx(real - 0.9)
    assert (row["within"], row["inside"]) == (within, inside)
    told = agree.table([row])
    assert ("(*) further apart than allowed, but no further" in told) == (inside and not within)
    far = agree.table([row | {"within": False, "inside": False}])
    assert "(!)" not in told and "(!) further apart than allowed" in far


@pytest.mark.parametrize(("ways", "up"), [("both", ((2.0, 12.0),)), ("down", ())])
def test_the_outage_lasts_ten_seconds_and_loses_the_ways_that_were_asked_for(ways, up):
    import outage

    made = outage.network(2.0, ways)
    assert made.down.drop_windows == ((2.0, 12.0),)
    assert made.up.drop_windows == up
    assert outage.long_talk().audio_s > 17


def test_streams_that_were_given_up_are_told_apart_from_those_that_were_heard():
    import outage

    args = argparse.Namespace(ways="both", through=None)
    runs = [
        {"again_s": 0.2, "silent_s": 5.0, "complete": True},
        {"fault": "nothing heard for 10 s"},
        {"again_s": 0.6, "silent_s": 5.4, "complete": True},
    ]
    told = outage.summary(runs, args)
    assert (told["median_s"], told["max_s"], told["complete"]) == (pytest.approx(0.4), 0.6, 2)
    assert told["given_up"] == ["nothing heard for 10 s"]
    assert outage.summary([runs[1]], args)["median_s"] is None


def test_a_listener_who_waits_is_noticed_with_the_seconds(monkeypatch):
    from live import Ear

    ear = Ear()
    for at, rung in ((1.0, "opus24"), (1.02, "opus24"), (1.5, "opus24"), (1.52, "opus48")):
        ear.heard(at, rung, 0.02)
    assert ear.first_at == 1.0
    assert ear.waits == [(1.02, 1.5)]
    assert ear.runs == [("opus24", pytest.approx(0.06)), ("opus48", pytest.approx(0.02))]
