"""A trace repeats bit for bit, a change in it or in the code shows, and another policy is asked beside it."""

import json
import random
from dataclasses import replace

import pytest

from abr_tts.control.estimator import Estimate
from abr_tts.control.ladder import FULL
from abr_tts.control.policy_file import parse, preset
from abr_tts.control.policy_text import as_text
from abr_tts.errors import NoCommonFormat
from abr_tts.sim import speaker
from abr_tts.sim.engine import EMBEDDED
from abr_tts.sim.replay import judge, replay
from abr_tts.sim.run import World, run
from abr_tts.sim.scenario import Direction, Scenario
from abr_tts.stream.recorder import RecordedCore
from abr_tts.stream.terms import Terms
from abr_tts.trace import BadTrace, digest, line, read

ALL = ("opus", "pcm16", "ulaw")
FALL = Scenario(
    "fall and rise", 60.0,
    Direction(((0.0, 2000.0), (5.0, 350.0), (10.0, 40.0), (14.0, 0.0), (16.0, 2000.0)), 0.03, 0.003),
    Direction(((0.0, 2000.0),), 0.03, 0.003),
)  # fmt: skip
CLASSIC = Terms(ALL, EMBEDDED.rate, 1, preset("classic"))
KINDS = {
    "classic": CLASSIC,
    "default": replace(CLASSIC, policy=preset("default")),
    "remembering": replace(CLASSIC, remembered=Estimate(1234.5678, 0.061, -3.5)),
    "level 0": replace(CLASSIC, level=0),
    "PCM only": replace(CLASSIC, codecs=("pcm16",)),
    "fixed": replace(CLASSIC, policy=None, rung=FULL["opus24"]),
}


def record(terms: Terms, seconds: float = 20.0) -> list[str]:
    """The trace of one utterance in a world of its own, as lines."""
    lines: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            speaker, "StreamCore", lambda setup, now: RecordedCore(setup, terms, now, lines.append, "0")
        )
        result = run(
            FALL, lambda now: terms.controller(), world=World(engine=EMBEDDED), utterances=[(seconds, 1.0)]
        )
    assert result.utterances[0].complete
    return lines


@pytest.fixture(scope="module")
def classic() -> list[str]:
    return record(CLASSIC)


def changed(lines: list[str], number: int, **fields) -> list[str]:
    """The lines with some fields of one of them (from 1) changed."""
    new = json.loads(lines[number - 1]) | fields
    return [*lines[: number - 1], line(new), *lines[number:]]


def numbers(lines: list[str], **fields) -> list[int]:
    """Numbers of the lines that have these fields."""
    records = [json.loads(text) for text in lines]
    return [n for n, record in enumerate(records, 1) if fields.items() <= record.items()]


def with_policy(lines: list[str], text: str) -> list[str]:
    return changed(lines, 1, policy=text, policy_sha256=digest(text))


# ---------------------------------------------------------------- again


@pytest.mark.parametrize("kind", KINDS)
def test_every_decision_comes_out_again_bit_for_bit(kind):
    lines = record(KINDS[kind])
    replayed = replay(read(lines, kind))
    assert replayed.difference is None
    assert replayed.inputs > 300
    assert replayed.outputs == len(lines) - 1 - replayed.inputs
    assert replayed.seconds >= 19
    assert replayed.policy == ("rung opus24" if kind == "fixed" else KINDS[kind].policy.name)


def test_the_story_of_the_link_is_in_the_trace(classic):
    """So that the replay of it is a replay of something."""
    records = [json.loads(text) for text in classic]
    upgrades = [record["upgrade"] for record in records if record.get("out") == "decided"]
    assert {"pcm22", None} <= set(upgrades)
    assert len([record for record in records if record.get("out") == "switched"]) >= 2
    assert {"kernel", "hint", "timer"} <= {record.get("in") for record in records}


def test_a_report_that_said_something_else_leads_to_a_difference_that_is_told(classic):
    number = numbers(classic, **{"in": "hint"})[3]
    received = json.loads(classic[number - 1])["received"]
    difference = replay(read(changed(classic, number, received=received // 2), "t")).difference
    assert difference is not None
    assert difference.line > number and difference.at_s > 0
    assert difference.sentence


def test_a_decision_that_was_recorded_otherwise_is_told_with_its_line(classic):
    number = numbers(classic, out="encode", frames=5)[3]
    difference = replay(read(changed(classic, number, frames=3), "t")).difference
    assert (difference.line, difference.sentence) == (number, "encode: frames was 3 and is 5")


def test_another_policy_in_the_header_decides_otherwise(classic):
    text = as_text(preset("thrifty"))
    difference = replay(read(with_policy(classic, text), "t")).difference
    assert difference.sentence.startswith('decided: bank was "opus24" and is "opus16"')


def test_a_trace_that_breaks_off_anywhere_is_equal_up_to_there(classic):
    rng = random.Random(4)
    for _ in range(10):
        cut = rng.randrange(2, len(classic))
        half = classic[cut][: rng.randrange(len(classic[cut]))]
        assert replay(read([*classic[:cut], half], "t")).difference is None


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"in": "encoded", "now": 99.0, "sizes": [1]}, "refuses encoded: there is no job"),
        ({"in": "sent", "now": 99.0, "size": 1, "own": True}, "refuses sent"),
    ],
)
def test_an_input_that_no_core_takes_is_told(classic, record, words):
    difference = replay(read([*classic, line(record)], "t")).difference
    assert difference.line == len(classic) + 1
    assert words in difference.sentence


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"rate": 22_051}, "22051"),
        ({"codecs": ["mp3"]}, "decodes none"),
        ({"codecs": [1]}, "decodes none"),
        ({"limits": {"max_lead_s": "far", "max_ahead_s": 1.0}}, "makes no core"),
        ({"limits": {"depth": 1}}, "depth"),
        ({"remembered": {"kbps": 1}}, "min_rtt_s"),
        ({"remembered": 7}, "header makes no stream"),
        ({"policy": None, "rung": "opus24"}, "header makes no stream"),
        ({"policy": None, "rung": None}, "neither a policy nor a rung"),
        ({"policy": None, "rung": {"name": "opus24"}}, "header makes no stream"),
    ],
)
def test_a_header_that_makes_no_stream_is_a_bad_trace(classic, fields, words):
    with pytest.raises(BadTrace) as caught:
        replay(read(changed(classic, 1, **fields), "some.jsonl"))
    assert str(caught.value).startswith("some.jsonl:1: ") and words in str(caught.value)


def test_a_policy_that_this_version_does_not_know_is_a_bad_trace(classic):
    text = as_text(preset("classic")).replace("headroom", "headlong", 1)
    with pytest.raises(BadTrace, match=r"t:1: .*headlong"):
        replay(read(with_policy(classic, text), "t"))


def test_whatever_is_changed_in_a_trace_it_is_refused_or_told():
    lines = record(CLASSIC, 3.0)
    rng = random.Random(11)
    odd = [0, -1, 1.5, 2**40, 2**53, None, "x", [], {}, True, [[1, 2]], [[None]], 1e308]
    told = 0
    for _ in range(200):
        number = rng.randrange(1, len(lines) + 1)
        key = rng.choice(list(json.loads(lines[number - 1])))
        try:
            told += replay(read(changed(lines, number, **{key: rng.choice(odd)}), "t")).difference is not None
        except BadTrace:
            told += 1
    assert told > 100


# ---------------------------------------------------------------- another policy


@pytest.mark.parametrize("kind", ["classic", "remembering", "level 0"])
def test_the_same_policy_beside_itself_never_answers_otherwise(kind):
    verdict = judge(read(record(KINDS[kind]), kind), preset("classic"))
    assert (verdict.otherwise, verdict.first_s, verdict.differing) == (0, None, ())
    assert verdict.asked > 100
    assert all(look.then.rungs == look.now.rungs for look in verdict.looks)


def test_another_policy_is_told_where_it_would_have_chosen_otherwise(classic):
    trace = read(classic, "t")
    verdict = judge(trace, preset("thrifty"))
    assert verdict.policy == "thrifty"
    first, seconds = verdict.differing[0]
    assert (first.then.bank, first.now.bank) == ("opus24", "opus16")
    assert first.at_s <= verdict.first_s < 0.1 and seconds > 0
    assert {look.now.upgrade for look in verdict.looks} <= {None, "opus32", "opus24"}
    chosen = [look.then.rungs for look in verdict.looks]
    recorded = [
        (entry.record["bank"], entry.record["upgrade"]) for entry in trace.entries if entry.kind == "decided"
    ]
    assert [rungs for n, rungs in enumerate(chosen) if n == 0 or rungs != chosen[n - 1]] == [
        rungs for n, rungs in enumerate(recorded) if n == 0 or rungs != recorded[n - 1]
    ]


def test_the_other_policy_does_not_change_what_is_replayed(classic):
    trace = read(classic, "t")
    judge(trace, preset("thrifty"))
    assert replay(trace).difference is None


def test_a_fixed_rung_can_be_held_against_a_policy():
    verdict = judge(read(record(KINDS["fixed"]), "t"), preset("default"))
    assert {look.then.rungs for look in verdict.looks if look.then} == {("opus24", None)}
    assert {look.now.upgrade for look in verdict.looks if look.now} > {None}


def test_a_policy_that_has_nothing_for_the_listener_is_told():
    trace = read(record(KINDS["PCM only"], 3.0), "t")
    with pytest.raises(NoCommonFormat):
        judge(trace, preset("opus"))


def test_a_policy_that_differs_in_lead_alone_is_told_by_what_is_sent_next(classic):
    far = parse('extends = "classic"\nupgrade_lead_s = 6.0\n', "far.toml")
    verdict = judge(read(classic, "t"), far)
    assert verdict.policy == "far" and verdict.otherwise > 0
