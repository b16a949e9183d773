"""A core that is recorded does what any core does, and its trace has all of it but sound and text."""

import inspect
import random

import numpy as np
import pytest

from abr_tts.audio.libopus import load
from abr_tts.control.ladder import FULL
from abr_tts.control.policy_file import preset
from abr_tts.stream.core import CoreSetup, StreamCore
from abr_tts.stream.pacer import KernelSample
from abr_tts.stream.recorder import RecordedCore
from abr_tts.stream.terms import Terms
from abr_tts.trace import HINT_MORE, INPUTS, OUTPUTS, read
from abr_tts.wire.messages import BitRateHint

from .driver import Driver, cut

RATE = 22_050
ADAPTIVE = Terms(("opus", "pcm16", "ulaw"), RATE, 1, preset("default"))
FIXED = Terms(("opus",), RATE, 1, rung=FULL["opus24"])


def setup(terms: Terms) -> CoreSetup:
    return CoreSetup(1, RATE, terms.controller(), load())


def recorded(terms: Terms = ADAPTIVE) -> tuple[RecordedCore, list[str]]:
    lines: list[str] = []
    return RecordedCore(setup(terms), terms, 0.0, lines.append, "1.2.3"), lines


def drive(core: StreamCore, seed: int) -> Driver:
    rng = random.Random(seed)
    speech = np.arange(4 * RATE, dtype=np.int16)
    driver = Driver(core, [cut(speech, rng, 5000) for _ in range(2)], rng)
    driver.run()
    return driver


@pytest.mark.parametrize("terms", [ADAPTIVE, FIXED], ids=["adaptive", "fixed"])
@pytest.mark.parametrize("seed", [1, 2])
def test_recording_changes_nothing(terms, seed):
    plain = drive(StreamCore(setup(terms), 0.0), seed)
    core, _ = recorded(terms)
    watched = drive(core, seed)
    assert watched.messages == plain.messages
    assert watched.events == plain.events
    assert watched.now == plain.now


def test_every_input_of_the_core_is_recorded():
    """Also one that is added later: whatever takes `now` is an input."""
    core_inputs = {
        name
        for name, method in inspect.getmembers(StreamCore, inspect.isfunction)
        if not name.startswith("_") and "now" in inspect.signature(method).parameters
    }
    assert core_inputs - set(vars(RecordedCore)) == set()
    for name in (*core_inputs, "poll"):
        assert inspect.signature(getattr(RecordedCore, name)) == inspect.signature(getattr(StreamCore, name))


def test_the_trace_tells_inputs_in_order_and_after_each_what_it_led_to():
    core, lines = recorded()
    driver = drive(core, 3)
    trace = read(lines, "t")
    kinds = [entry.kind for entry in trace.entries]
    assert kinds[0] == "credit", "a new core has an output before any input"
    assert (
        {"mark", "pcm", "clause_end", "pcm_end", "sent", "encoded", "hint"}
        <= set(kinds)
        <= {*INPUTS, *OUTPUTS}
    )
    assert kinds.count("encode") == kinds.count("encoded")
    assert kinds.count("sent") == len(driver.messages)
    assert kinds[-1] == "drained"
    assert [kind for kind in kinds if kind == "decided"]
    samples = sum(entry.record["samples"] for entry in trace.entries if entry.kind == "pcm")
    (finished,) = (entry.record for entry in trace.entries if entry.kind == "finished")
    assert samples == finished["length"] == 8 * RATE


def test_the_header_says_who_listens_what_decides_and_since_when():
    _, lines = recorded()
    header = read(lines, "t").header
    assert header["product"] == "1.2.3" and header["handle"] == 1 and header["now"] == 0.0
    assert header["limits"] == {"max_ahead_s": 30.0, "max_lead_s": 30.0}
    assert Terms.from_header(header) == ADAPTIVE


def test_whatever_the_network_says_is_kept():
    core, lines = recorded()
    hint = BitRateHint(
        1, 2, 0, 40, rtt_ms=12.5, loss=0.25, jitter_ms=3.5, goodput_kbps=80.0, stalls=1, stall_ms=250,
        hidden=True, save_data=True, highest=((0, 960),), clamped=2,
    )  # fmt: skip
    calls = [
        lambda now: core.sent(100, now, own=False),
        lambda now: core.report(hint, now),
        lambda now: core.report(KernelSample(5, 6, 7.5), now),
        lambda now: core.received(50, now),
        core.pause, core.resume, core.handle_timer, core.cancel,
    ]  # fmt: skip
    for number, call in enumerate([lambda now: None, *calls]):
        call(float(number))
        while core.poll() is not None:
            pass
    told = {entry.kind: dict(entry.record) for entry in read(lines, "t").entries if entry.is_input}
    assert list(told) == ["sent", "hint", "kernel", "received", "pause", "resume", "timer", "cancel"]
    assert told["sent"] == {"in": "sent", "now": 1.0, "size": 100, "own": False}
    assert told["kernel"] == {
        "in": "kernel", "now": 3.0, "unacked_bytes": 5, "user_bytes": 6, "min_rtt_ms": 7.5,
    }  # fmt: skip
    assert set(HINT_MORE) < set(told["hint"])
    assert told["hint"]["highest"] == [[0, 960]] and told["hint"]["hidden"] is True


def test_an_ordinary_report_is_short():
    core, lines = recorded()
    core.poll()
    core.report(BitRateHint(1, 0, 0, 0), 1.0)
    assert '{"in":"hint","now":1.0,"received":0,"played":0,"buffer_ms":0,"rtt_ms":-1.0}\n' in lines


def test_no_sample_is_in_a_trace():
    core, lines = recorded()
    core.poll()
    core.push_pcm(np.full(123, 31_337, np.int16), 0.5)
    assert "31337" not in "".join(lines)
    assert '{"in":"pcm","now":0.5,"samples":123}\n' in lines
