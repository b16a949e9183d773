"""The replay tool: the same talk over every backend, one report for all, and what each cannot do."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from abr_tts.errors import ConfigError
from abr_tts.sim.scenario import steady

SCENARIOS = Path(__file__).parents[2] / "tools" / "netem" / "scenarios"


@pytest.fixture
def replay():
    import replay

    return replay


def played(replay, *words: str, network: Path = SCENARIOS / "steady_400.json"):
    return replay.run(replay.arguments([str(network), *words]))


def assert_was_heard(told) -> None:
    (one,) = told["spoken"]
    assert one["complete"] and one["stalls"] == 0
    assert sum(seconds for _, seconds in one["played"]) == pytest.approx(one["audio_s"], abs=0.02)
    assert 0 < one["startup_ms"] < one["first_sound_ms"] < 2000
    assert 0.8 < told["qoe"] < 1.0
    assert told["bytes_per_s"] > 2000


def test_in_virtual_time_it_takes_no_time_and_is_the_same_twice(replay):
    told = played(replay, "--backend", "virtual", "--utterances", "1")
    assert_was_heard(told)
    assert told == played(replay, "--backend", "virtual", "--utterances", "1")


def test_over_a_relay_a_real_server_is_heard_and_what_is_not_emulated_is_told(replay):
    told = played(replay, "--backend", "proxy", "--utterances", "1", network=SCENARIOS / "lossy_2pct.json")
    assert_was_heard(told)
    assert any("does not emulate" in note for note in told["notes"])
    assert any("lost packets" in note for note in told["notes"])


def test_over_tun_a_listener_hears_what_virtual_time_foretold(replay, tun_link):
    real = played(replay, "--backend", "tun", "--no-check", "--utterances", "1")
    assert_was_heard(real)
    virtual = played(replay, "--backend", "virtual", "--utterances", "1")
    assert real["qoe"] == pytest.approx(virtual["qoe"], abs=0.05)
    assert real["bytes_per_s"] == pytest.approx(virtual["bytes_per_s"], rel=0.15)


def test_through_nginx_with_tls_it_is_heard_as_well(replay):
    import nginx

    if not nginx.installed():
        pytest.skip("nginx is not installed")
    told = played(replay, "--backend", "proxy", "--through", "nginx", "--utterances", "1")
    assert_was_heard(told)


def test_a_rung_holds_the_stream(replay):
    told = played(replay, "--backend", "virtual", "--rung", "opus16", "--utterances", "2")
    assert list(told["played_seconds"]) == ["opus16"]


def test_no_utterance_starts_after_the_seconds_that_were_asked_for(replay):
    told = played(replay, "--backend", "virtual", "--seconds", "6", "--utterances", "9")
    assert told["utterances"] == 2  # the second begins at 5.7 s


def test_a_listener_who_holds_more_waits_longer_and_the_rule_comes_back(replay):
    from abr_tts.stream.playout import REBUFFER_TICKS, Playout

    default = Playout.__init__.__kwdefaults__["start_ticks"]
    usual = played(replay, "--backend", "virtual", "--utterances", "1")
    patient = played(replay, "--backend", "virtual", "--utterances", "1", "--buffer-ms", "1000")
    assert patient["startup_ms"]["p50"] > usual["startup_ms"]["p50"] + 100
    assert Playout.__init__.__kwdefaults__["start_ticks"] == default == REBUFFER_TICKS


def test_a_real_listener_holds_what_it_was_told(replay):
    from holding import holding

    from abr_tts.client import client

    start = vars(client)["START_TICKS"]
    with holding(500):
        assert vars(client)["START_TICKS"] == 24_000
    assert vars(client)["START_TICKS"] == start


def test_the_report_is_json_and_lines_for_people(replay):
    import report

    told = played(replay, "--backend", "virtual", "--utterances", "2")
    assert json.loads(json.dumps(told)) == told
    text = report.as_text(told)
    assert "utterance 2" in text and "QoE" in text and "opus24 to " in text


def test_a_new_track_of_the_same_rung_is_no_switch():
    import report

    from abr_tts.sim.result import Change, Result, Utterance

    changes = [Change(1.0, "opus24", "opus24", 6.0, "anew"), Change(2.0, "opus24", "opus48", 7.0, "room")]
    result = Result("x", (Utterance(9.0, 0.0, ended_at=9.0, changes=changes),), 9.0, 0, 0, 0)
    told = report.as_json(result, "virtual", "asked for", (), None, "default")
    assert [change["to"] for change in told["spoken"][0]["switches"]] == ["opus48"]
    assert "opus24 to opus48 at 7.00 s of the utterance: room" in report.as_text(told)


def test_an_utterance_that_was_never_heard_is_told_without_infinity():
    import report

    from abr_tts.sim.result import Result, Utterance

    result = Result("dead", (Utterance(3.0, 0.0, ended_at=123.0),), 123.0, 0, 0, 0)
    told = report.as_json(result, "tun", "asked for", (), None, "default")
    assert told["spoken"][0]["first_sound_ms"] is None
    assert "NOT heard" in report.as_text(told)
    json.dumps(told, allow_nan=False)


def test_the_picture_shows_link_rungs_and_waits(replay, tmp_path):
    from abr_tts.demo.picture import COLOURS

    page = tmp_path / "out.html"
    network = SCENARIOS / "metro_stations.json"
    played(replay, "--backend", "virtual", "--utterances", "3", "--plot", str(page), network=network)
    text = page.read_text("utf-8")
    assert text.startswith("<!doctype html>") and "<script" not in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert COLOURS["opus12"] in text and COLOURS["pcm22"] in text
    assert "#e01e37" in text  # it waits in the tunnel


def test_a_recorded_trace_takes_its_round_trip_from_the_index_beside_it(tmp_path):
    from session import network

    trace = tmp_path / "a.csv"
    trace.write_text("time_s,kbps\n0,500\n10,500\n")
    (tmp_path / "INDEX.csv").write_text("file,base_rtt_ms\nb.csv,10\na.csv,240\n")
    assert network(trace).base_rtt_s == pytest.approx(0.24)
    assert network(trace, 100).base_rtt_s == pytest.approx(0.1)


def test_a_file_that_is_no_network_is_told_with_its_line(tmp_path):
    from session import network

    trace = tmp_path / "a.csv"
    trace.write_text("time_s,kbps\n0,500\n10,many\n")
    with pytest.raises(ConfigError, match=r"a\.csv:3"):
        network(trace)
    with pytest.raises(ConfigError, match="cannot be read"):
        network(tmp_path / "b.csv")


def test_auto_takes_tun_else_netem_else_the_relay_and_says_why(monkeypatch):
    import ways

    monkeypatch.setattr(ways, "tun_missing", lambda: None)
    assert ways.best().backend == "tun"
    monkeypatch.setattr(ways, "tun_missing", lambda: "only root makes network namespaces")
    monkeypatch.setattr(ways, "netem_missing", lambda: None)
    assert ways.best() == ("netem", "the kernel's own emulation, since there is no TUN link: only root makes "
                                    "network namespaces")  # fmt: skip
    monkeypatch.setattr(ways, "netem_missing", lambda: "the kernel refuses netem")
    choice = ways.best()
    assert choice.backend == "proxy" and "only root" in choice.why and "refuses netem" in choice.why


def test_a_greeting_is_the_same_path_in_fair_weather():
    from ways import greeting

    from abr_tts.sim.scenario import from_json

    stormy = from_json(json.loads((SCENARIOS / "elevator.json").read_text()))
    calm = greeting(stormy)
    assert calm.base_rtt_s == stormy.base_rtt_s and calm.down.queue_bytes == stormy.down.queue_bytes
    assert (calm.down.drop_windows, calm.down.loss, calm.down.bursts) == ((), 0.0, None)
    assert len(calm.down.rate) == 1 and calm.down.rate[0][1] > 0


def test_the_rates_that_are_checked_are_the_best_and_the_least_within_reason():
    import selfcheck

    assert selfcheck.like(steady(300, delay_ms=30).down) == [(300, 30.0)]
    wild = replace(steady(300).down, rate=((0.0, 3.0), (1.0, 0.0), (2.0, 90_000.0)))
    assert [kbps for kbps, _ in selfcheck.like(wild)] == [40.0, 5000.0]


def test_what_was_learned_of_the_link_is_believed_as_long_as_the_policy_says(monkeypatch):
    import virtual

    from abr_tts.control.adaptive import Adaptive
    from abr_tts.control.estimator import Estimate
    from abr_tts.control.policy_file import preset

    given, terms = [], virtual.Terms

    def note(*args, remembered=None, **more):
        given.append(remembered)
        return terms(*args, remembered=remembered, **more)

    monkeypatch.setattr(virtual, "Terms", note)
    monkeypatch.setattr(Adaptive, "estimate", lambda self, now: Estimate(500.0, 0.05, now))
    server = virtual.Server(replace(preset("default"), memory_s=10.0), None, 22_050)
    server.learned(server.controller(0.0), 5.0)
    server.controller(15.0)
    server.controller(15.1)
    assert given == [None, Estimate(500.0, 0.05, 5.0), None]


def test_the_classics_are_what_their_names_say():
    import qos
    from session import network

    told = {}
    for path in qos.CLASSICS:
        way = network(path).down
        told[path.stem] = (way.loss, round(1000 * way.delay_s), round(1000 * way.jitter_s))
        assert network(path).up == way
    assert told == {"good": (0.0, 10, 5), "lossy": (0.05, 50, 30), "very_bad": (0.15, 200, 100)}
