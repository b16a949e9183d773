"""Scenarios and traces are read once, whole, and every fault is named by its key or line."""

import copy

import pytest

from abr_tts.errors import ConfigError
from abr_tts.sim.scenario import from_json, from_trace, steady

from .scenarios import NAMES, document, load


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_of_the_project_is_read(name):
    scenario = load(name)
    assert scenario.name == name
    assert scenario.duration_s == 120
    assert scenario.down.rate[0][0] == 0
    assert scenario.base_rtt_s > 0


def test_units_are_converted_and_defaults_filled_in():
    down = load("elevator").down
    assert (down.delay_s, down.jitter_s, down.queue_bytes) == (0.04, 0.003, 65536)
    assert down.drop_windows == ((25, 31),)
    assert [down.kbps_at(second) for second in (0, 17.99, 18, 119)] == [1500, 1500, 600, 1200]
    bursts = load("cafe_wifi").down.bursts
    assert (bursts.good_s, bursts.bad_s, bursts.good, bursts.bad) == (4, 0.12, 0.002, 0.5)
    assert load("lossy_2pct").down.loss == 0.02


def broken(path: str, value) -> dict:
    body = copy.deepcopy(document("elevator"))
    *folders, last = path.split(".")
    here = body
    for folder in folders:
        here = here[folder]
    here[last] = value
    return body


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("format", "tts-netem/2", "format: 'tts-netem/2' is not 'tts-netem/1'"),
        ("name", "", "name: a scenario needs a name"),
        ("note", 7, "note: must be a string"),
        ("seed", 1.5, "seed: must be an integer"),
        ("duration_s", 0, "duration_s: must be above 0, not 0"),
        ("durations", 1, "durations: unknown key; did you mean duration_s?"),
        ("down", None, "down: is missing"),
        ("up", [], "up: must be an object"),
        ("down.delay", 3, "down.delay: unknown key; did you mean delay_ms?"),
        ("down.delay_ms", "40", "down.delay_ms: must be a number, not '40'"),
        ("down.jitter_ms", -1, "down.jitter_ms: must be at least 0, not -1"),
        (
            "down.queue_bytes",
            100,
            "down.queue_bytes: must be whole bytes and hold one packet of 1500, not 100",
        ),
        ("down.rate", [], "down.rate: needs at least one [second, kbit/s]"),
        ("down.rate", [[1, 5]], "down.rate[0]: must begin at second 0, not 1.0"),
        (
            "down.rate",
            [[0, 5], [2, 6], [2, 7]],
            "down.rate[2]: second 2.0 does not come after the one before",
        ),
        ("down.rate", [[0, 5], [2]], "down.rate[1]: must be a pair of numbers, not [2]"),
        ("down.rate", [[0, float("nan")]], "down.rate[0][1]: must be a number, not nan"),
        ("down.rate", [[0, 0], [200, 5]], "down.rate: is 0 all the time, so nothing would ever arrive"),
        ("up.drop_windows", [[3, 2]], "up.drop_windows[0]: must be [from, to], later than the one before"),
        ("down.loss", {"q": 1}, "down.loss.q: unknown key; known are p, get"),
        ("down.loss", {"p": 2}, "down.loss.p: must be a share from 0 to 1, not 2"),
        ("down.loss", {"get": {"good_s": 1, "bad": 1}}, "down.loss.get.bad_s: is missing"),
    ],
)
def test_a_fault_is_named_by_its_key(path, value, said):
    with pytest.raises(ConfigError) as caught:
        from_json(broken(path, value))
    assert str(caught.value) == said


def test_a_trace_keeps_its_steps_and_splits_the_round_trip():
    scenario = from_trace("time_s,kbps\n10,500\n12.5,0\n20,80\n", "walk.csv", 60)
    assert scenario.down.rate == ((0, 500), (2.5, 0), (10, 80))
    assert scenario.duration_s == 17.5
    assert scenario.down.delay_s == scenario.up.delay_s == 0.03
    assert scenario.name == "walk.csv"


def test_a_last_row_that_repeats_only_closes_the_trace():
    assert from_trace("time_s,kbps\n0,5\n1,7\n1.5,7\n", "t", 0).duration_s == 1.5
    assert from_trace("time_s,kbps\n0,5\n", "t", 0).duration_s == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "t.csv:1: the first line must be time_s,kbps"),
        ("0,5\n", "t.csv:1: the first line must be time_s,kbps"),
        ("time_s,kbps\n0,5\n\n1,x\n", "t.csv:4: must be two numbers, not '1,x'"),
        ("time_s,kbps\n0,5,6\n", "t.csv:2: must be two numbers, not '0,5,6'"),
        ("time_s,kbps\n0,5\n0,6\n", "t.csv:3: second 0.0 does not come after the one before"),
        ("time_s,kbps\n0,-5\n", "t.csv:2 kbps: must be at least 0, not -5.0"),
        ("time_s,kbps\n0,0\n", "t.csv:1: has no capacity in it"),
    ],
)
def test_a_fault_of_a_trace_is_named_by_its_line(text, said):
    with pytest.raises(ConfigError) as caught:
        from_trace(text, "t.csv", 60)
    assert str(caught.value) == said


def test_a_steady_path_is_what_it_says():
    scenario = steady(400, delay_ms=30)
    assert scenario.down.kbps_at(77) == 400
    assert scenario.base_rtt_s == 0.06
