"""Traces: what is written is read back as the very same, what is wrong is named, differences are told."""

import json
import math
import random

import pytest

from abr_tts.trace import BadTrace, compare, digest, line, read

POLICY = 'name = "mine"\n'
HEADER = {
    "trace": 1, "product": "0.1", "now": 10.0, "handle": 1,
    "limits": {"max_ahead_s": 30.0, "max_lead_s": 30.0},
    "rate": 22_050, "level": 1, "codecs": ["opus"], "rung": None, "remembered": None,
    "policy_sha256": digest(POLICY), "policy": POLICY,
}  # fmt: skip
CREDIT = {"out": "credit", "clauses": 1}
SENT = {"in": "sent", "now": 10.5, "size": 100, "own": True}
ENCODE = {"out": "encode", "track": 0, "rank": 0, "rung": "opus24", "pts": -960, "frames": 2}
TIMER = {"in": "timer", "now": 11.25}


def lines(*records):
    return [line(record) for record in (HEADER, *records)]


def trace(*records):
    return read(lines(*records), "a.jsonl")


def complaint(*texts) -> str:
    with pytest.raises(BadTrace) as caught:
        read(texts, "a.jsonl")
    return str(caught.value)


def test_what_is_written_is_read():
    found = trace(CREDIT, SENT, ENCODE, {"end": "done"})
    assert found.header == HEADER
    assert [(entry.line, entry.record) for entry in found.entries] == [(2, CREDIT), (3, SENT), (4, ENCODE)]
    assert [(entry.kind, entry.is_input) for entry in found.entries] == [
        ("credit", False), ("sent", True), ("encode", False),
    ]  # fmt: skip
    assert found.end == "done"


def test_every_float_reads_back_bit_for_bit():
    rng = random.Random(5)
    values = [0.1 + 0.2, 1e-320, 5e300, -0.0, math.nextafter(3.0, 4.0), *(rng.random() for _ in range(1000))]
    hint = {"in": "hint", "received": 1, "played": 0, "buffer_ms": 0}
    found = trace(*(hint | {"now": 10.0, "rtt_ms": value} for value in values))
    assert [entry.record["rtt_ms"].hex() for entry in found.entries] == [value.hex() for value in values]


def test_a_mark_has_an_end_that_is_not_the_end_of_the_trace():
    mark = {"in": "mark", "now": 10.0, "begin": 0, "end": 12}
    assert trace(mark, CREDIT).entries[0].record == mark


@pytest.mark.parametrize("bad", ["{", '{"in": "ti', "\x00", "\ufffd{"])
def test_a_last_line_that_is_torn_off_is_left_out_and_one_in_the_middle_is_not(bad):
    assert read([*lines(CREDIT), bad], "a.jsonl").entries[-1].record == CREDIT
    assert read([*lines(CREDIT), bad], "a.jsonl").end == ""
    assert complaint(*lines(CREDIT), bad + "\n", line(CREDIT)) == "a.jsonl:3: is not JSON"


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ([1], "is not a JSON object"),
        ({"in": "sing", "now": 10.0}, "'sing'"),
        ({"out": "sing"}, "'sing'"),
        ({"in": ["timer"], "now": 10.0}, "neither an input nor an output"),
        ({"what": 1}, "neither an input nor an output"),
        ({"in": "timer"}, "timer has no now"),
        ({"in": "timer", "now": "soon"}, "now of timer must be a number, not 'soon'"),
        ({"in": "timer", "now": math.nan}, "time goes back from 10.0 to nan"),
        ({"in": "timer", "now": math.inf}, "time goes back"),
        ({"in": "timer", "now": 9.0}, "time goes back from 10.0 to 9.0"),
        ({"in": "pcm", "now": 10.0, "samples": -1}, "samples of pcm must be a whole number from 0, not -1"),
        ({"in": "pcm", "now": 10.0, "samples": 10**12}, "samples of pcm must be at most"),
        ({"in": "pcm", "now": 10.0, "samples": 2**60}, "samples of pcm must be a whole number"),
        ({"in": "pcm", "now": 10.0, "samples": True}, "must be a whole number from 0, not True"),
        ({"in": "encoded", "now": 10.0, "sizes": [3, -1]}, "sizes of encoded must be"),
        ({"in": "encoded", "now": 10.0, "sizes": [10**9]}, "sizes of encoded must be"),
        ({"in": "sent", "now": 10.0, "size": 3}, "sent has no own"),
        ({"in": "sent", "now": 10.0, "size": 3, "own": 1}, "own of sent must be a true or false"),
        ({"in": "hint", "now": 10.0, "received": 1, "played": 0, "buffer_ms": 0, "rtt_ms": 1,
          "stalls": "no"}, "stalls of hint must be"),
        ({"out": "encode", "track": 0, "rank": 0, "rung": 24, "pts": 0, "frames": 1}, "rung of encode"),
    ],
)  # fmt: skip
def test_a_line_that_is_none_is_named_with_its_reason(record, words):
    told = complaint(*lines(CREDIT), json.dumps(record) + "\n")
    assert told.startswith("a.jsonl:3: ") and words in told and "\n" not in told


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (CREDIT, "a.jsonl:1: is not the header of a trace"),
        (HEADER | {"trace": 2}, "a.jsonl:1: is of version 2; this program reads version 1"),
        ({key: HEADER[key] for key in HEADER if key != "rate"}, "a.jsonl:1: the header has no rate"),
        (HEADER | {"codecs": "opus"}, "codecs of the header must be a list, not 'opus'"),
        (HEADER | {"policy": POLICY + "headroom = 2\n"}, "its hash is another"),
    ],
)
def test_a_wrong_header_is_refused(header, words):
    assert words in complaint(line(header), line(CREDIT))


def test_an_empty_file_is_no_trace():
    assert complaint() == "a.jsonl: there is nothing in it"


def test_nothing_comes_after_the_end():
    assert complaint(*lines({"end": "done"}, CREDIT)) == "a.jsonl:3: comes after the end"


def test_equal_traces_have_no_difference():
    assert compare(trace(CREDIT, SENT, ENCODE), trace(CREDIT, SENT, ENCODE)) is None


def test_the_first_difference_is_told_with_line_and_time_and_only_what_differs():
    other = ENCODE | {"rung": "opus16", "frames": 3}
    found = compare(trace(CREDIT, SENT, ENCODE, TIMER), trace(CREDIT, SENT, other, CREDIT))
    assert (found.line, found.at_s) == (4, 0.5)
    assert found.sentence == 'encode: rung was "opus24" and is "opus16", frames was 2 and is 3'


def test_another_kind_of_output_is_told_in_full():
    found = compare(trace(SENT, ENCODE), trace(SENT, CREDIT))
    assert found.sentence.startswith("recorded encode (track 0, rank 0,")
    assert found.sentence.endswith("replayed credit (clauses 1)")


def test_an_output_that_is_missing_is_a_difference():
    assert compare(trace(SENT, ENCODE), trace(SENT)).sentence.endswith("replayed nothing")


def test_what_comes_beyond_the_last_line_is_none_because_recorders_end_with_their_streams():
    assert compare(trace(SENT), trace(SENT, ENCODE)) is None


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (1, True), (0.0, -1e-320), (0.0, -0.0)])
def test_numbers_are_compared_bit_for_bit_and_by_kind(one, other):
    decided = {"out": "decided", "bank": "a", "upgrade": None, "bank_reason": {}, "upgrade_reason": {}}
    assert compare(
        trace(decided | {"upgrade_reason": {"kbps": one}}),
        trace(decided | {"upgrade_reason": {"kbps": other}}),
    )
