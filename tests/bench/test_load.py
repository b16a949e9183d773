"""The benchmarks of load, cost and soak: what they ask for, how they count, and a small soak."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

import abr_tts


@pytest.fixture(autouse=True)
def same_package(monkeypatch):
    """Servers that benchmarks start are of the package that is tested, installed or not."""
    monkeypatch.setenv("PYTHONPATH", str(Path(abr_tts.__file__).parents[1]))


class Arguments:
    connections, each, seed, paced, rung = 4, 6, 1, False, None


# Load


def test_every_sentence_has_twenty_characters_and_languages_take_turns():
    import load

    plans = load.plans(Arguments)
    assert [len(plan) for plan in plans] == [6] * 4
    for number, plan in enumerate(plans):
        assert all(len(text) == load.CHARS for text, _ in plan)
        assert [voice for _, voice in plan] == [("en-us", "cmn")[(number + n) % 2] for n in range(6)]
    assert all(text.isascii() == (voice == "en-us") for plan in plans for text, voice in plan)
    assert load.plans(Arguments) == plans, "the same seed, the same sentences"


def test_a_request_that_was_refused_or_had_no_sound_is_not_counted_as_answered():
    import load
    from listener import Heard

    whole = Heard("x", 1.0, first_audio=1.5, ended=2.0, frames=50, length=22_050)
    assert load._answer(whole, 0.5, 1) == load.Answer(1.0, 1.0, 1, 0.5), "both its waits are told"
    for bad in (
        Heard("x", 1.0, error=object()),
        Heard("x", 1.0, first_audio=1.5, frames=50),
        Heard("x", 1.0, ended=2.0, length=0),
    ):
        assert load._answer(bad, 1.0).first_s is None


def test_the_plain_design_and_ours_speak_the_same_sentences_at_the_same_length(tmp_path):
    import load
    from common import ServerProcess

    plan = [("The old boat sees it.", "en-us"), ("今天天气很好我们去公园散步看花吧。", "cmn")]
    with ServerProcess({}, program="plain_speech.py") as server:
        plain = asyncio.run(load.ask_plain(server.url, plan, 0.0, Arguments))
        assert server.ask("stats")["pid"] != os.getpid()
    with ServerProcess({"engine.kind": "espeak", "engine.workers": 1}) as server:
        ours = asyncio.run(load.ask_ours(server.url, plan, 0.0, Arguments))
    for one, other in zip(plain, ours, strict=True):
        assert one.first_s > 0 and other.first_s > 0
        assert other.audio_s == pytest.approx(one.audio_s, abs=0.05)


def test_ratios_are_ours_over_the_baseline():
    import load

    one = {
        "first_audio_ms": {"mean": 1, "p50": 2, "p99": 3},
        "peak_pss_mb": 10,
        "cpu_s_per_audio_s": 1,
        "seconds": 5,
    }
    other = {
        "first_audio_ms": {"mean": 2, "p50": 2, "p99": 2},
        "peak_pss_mb": 5,
        "cpu_s_per_audio_s": 4,
        "seconds": 5,
    }
    assert load.ratios(one, other) == {
        "first_audio_mean": 0.5, "first_audio_p50": 1.0, "first_audio_p99": 1.5, "peak_pss_mb": 2.0,
        "cpu_s_per_audio_s": 0.25, "seconds": 1.0,
    }  # fmt: skip


# Cost


def test_bare_libopus_makes_our_packets_and_others_are_refused():
    import bare
    import numpy as np

    hum = (6000 * np.sin(np.arange(22_050) * 0.05)).astype(np.int16)
    frames, packets = bare.frames_of(hum, 22_050, "opus24")
    assert frames.shape == (len(packets), 480) and len(packets) >= 45
    assert bare.cpu_s(frames, packets, 24) > 0
    with pytest.raises(SystemExit, match="not the same work"):
        bare.cpu_s(frames, [*packets[:-1], b"x"], 24)


def test_a_listener_that_has_paused_keeps_all_that_it_was_sent():
    import cost
    from common import ServerProcess

    async def bank(url):
        async with cost.Holder(url) as one:
            seconds = await one.bank("one two three four", "opus24")
            one.speaking.cancel()
            return seconds

    with ServerProcess({"engine.kind": "espeak", "engine.workers": 1}) as server:
        assert asyncio.run(bank(server.url)) > 0.5
        assert server.ask("stats")["written_s"]["opus24"] > 0.5


def test_what_a_process_uses_is_read_of_it_and_its_children():
    import usage

    me = os.getpid()
    assert usage.family(me)[0] == me
    assert usage.rss_kb(me) >= usage.pss_kb([me]) > 1000
    assert usage.threads(me) >= 1 and usage.descriptors(me) >= 3 and usage.cpu_s([me]) > 0
    assert usage.rss_kb(2**22 + 1) == 0, "one that is gone uses nothing"


# Soak


def test_the_slope_is_that_of_a_line_through_what_was_seen():
    import soak

    assert soak.slope([(0, 100), (100, 150), (200, 200)]) == pytest.approx(0.5)
    assert soak.slope([(5, 100), (5, 900)]) == 0.0


GOOD = {
    "slope_kb_a_stream": 1.0, "loop_lag_ms": {"p99": 20.0}, "machine_ms": {"p99": 10.0}, "left": {},
    "unanswered": 0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "claim"),
    [
        ({"slope_kb_a_stream": 1.1}, "slope"),
        ({"loop_lag_ms": {"p99": 20.1}}, "lag"),
        ({"left": {"tasks": 1}}, "left"),
        ({"unanswered": 1}, "answered"),
    ],
)
def test_a_soak_that_leaves_something_behind_does_not_hold(fault, claim):
    import soak

    assert soak.judged(GOOD) == dict.fromkeys(("slope", "lag", "left", "answered"), True)
    assert soak.judged(GOOD | fault)[claim] is False
    assert soak.holds(GOOD) and not soak.holds(GOOD | fault)


def test_on_a_machine_that_is_late_itself_lag_is_not_judged_rather_than_talked_down():
    import soak

    noisy = GOOD | {"loop_lag_ms": {"p99": 200.0}, "machine_ms": {"p99": 10.1}}
    assert soak.judged(noisy)["lag"] is None and soak.holds(noisy)
    assert not soak.holds(noisy | {"unanswered": 1})


def test_a_small_soak_of_a_real_server_answers_all_and_leaves_nothing():
    import soak

    result = soak.run(streams=70, rounds=5, seed=3)
    told = json.dumps(result)
    assert result["streams"] == 70 and result["unanswered"] == 0, told
    assert set(result["done"]) == {"whole", "cancel", "kill", "resume", "slow"}, told
    assert result["left"] == {}, told
    assert set(result["refused"]) <= {"busy"}, told
    objects = {"Session", "Utterance", "StreamCore", "Outbox", "Connection", "Track", "Held"}
    assert not objects & set(result["growth"]), "no object of a stream stays"


def test_a_soak_without_objgraph_says_how_to_get_it(monkeypatch):
    import soak

    monkeypatch.setitem(sys.modules, "objgraph", None)
    monkeypatch.setattr(sys, "argv", ["soak.py"])
    monkeypatch.setattr(soak, "ServerProcess", lambda *_, **__: pytest.fail("it measures"))
    with pytest.raises(SystemExit, match=r"objgraph is missing.*pip install '\.\[espeak,test\]'"):
        soak.main()
