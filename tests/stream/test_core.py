"""The stream core obeys its law, loses nothing, and bounds what it holds."""

import random

import numpy as np
import pytest

from abr_tts.audio.libopus import load
from abr_tts.audio.pcm import decode_pcm16
from abr_tts.control.controller import Decision, FixedRung, Reason
from abr_tts.control.ladder import FULL
from abr_tts.control.policy_file import preset
from abr_tts.stream.core import CoreSetup, StreamCore
from abr_tts.stream.outputs import Clamped, Credit, Drained, Encode, Finished, Transmit
from abr_tts.stream.pacer import KernelSample
from abr_tts.stream.terms import Terms
from abr_tts.units import FRAME_TICKS
from abr_tts.wire.compact import PACKETS_MOST
from abr_tts.wire.messages import Audio, BitRateHint, Mark, StreamEnd, Switch, Track

from .driver import Driver, cut

RATE = 22_050
LIBRARY = load()


def make(rung="pcm22", rate=RATE, controller=None, **limits) -> StreamCore:
    return StreamCore(CoreSetup(1, rate, controller or FixedRung(FULL[rung]), LIBRARY, **limits), 0.0)


def noise(samples: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-32768, 32768, samples).astype(np.int16)


def audio_of(messages) -> list[Audio]:
    return [m for m in messages if isinstance(m, Audio)]


def assert_contiguous(messages, start: int = 0) -> None:
    pts = start
    for message in audio_of(messages):
        assert message.pts == pts
        pts += len(message.packets) * FRAME_TICKS


@pytest.mark.parametrize("block", range(10))
def test_in_a_thousand_interleavings_every_sample_is_sent_once_and_in_order(block):
    for seed in range(block * 100, block * 100 + 100):
        rng = random.Random(seed)
        pcm = noise(rng.randrange(1, 60_000), seed)
        middle = rng.randrange(len(pcm))
        driver = Driver(make(), [cut(pcm[:middle], rng, 4_000), cut(pcm[middle:], rng, 4_000)], rng)
        driver.run()
        assert_contiguous(driver.messages)
        heard = np.concatenate([decode_pcm16(p) for m in audio_of(driver.messages) for p in m.packets])
        end = driver.messages[-1]
        assert isinstance(end, StreamEnd)
        assert end.length == len(pcm)
        assert np.array_equal(heard[: end.length], pcm)
        assert not heard[end.length :].any()
        assert len(heard) - end.length < 441
        assert driver.core.retained == ()


@pytest.mark.parametrize("rung", ["opus24", "opus12", "opus64", "pcm16k", "ulaw22"])
def test_a_rung_sends_the_same_bytes_whatever_the_interleaving(rung):
    pcm = noise(40_000, 5) // 8
    sent = []
    for seed in range(3):
        rng = random.Random(seed)
        driver = Driver(make(rung), [cut(pcm, rng, 5_000)], rng)
        driver.run()
        opus = rung.startswith("opus")
        assert_contiguous(driver.messages, -FRAME_TICKS if opus else 0)
        sent.append([p for m in audio_of(driver.messages) for p in m.packets])
        assert len(sent[-1]) == 91 + opus
    assert sent[0] == sent[1] == sent[2]


def test_the_first_message_carries_one_frame_and_later_ones_several():
    rng = random.Random(1)
    driver = Driver(make(), [[noise(RATE * 3, 1)]], rng)
    driver.run()
    counts = [len(m.packets) for m in audio_of(driver.messages)]
    assert counts[0] == 1
    assert set(counts[1:-1]) == {5}


def test_the_first_track_is_told_while_the_engine_makes_the_first_word():
    controller = Terms(("opus", "pcm16"), RATE, policy=preset("default")).controller()
    core = make(controller=controller)
    assert core.poll() == Credit(1)
    assert core.poll() is None
    core.mark(0, 1, 0.0)
    assert isinstance(core.poll().message, Mark)
    assert core.poll() is None
    core.sent(30, 0.0)
    told = []
    while (output := core.poll()) is not None:
        told.append(output)
    assert [type(one.message) for one in told if isinstance(one, Transmit)] == [Track]
    core.sent(60, 0.0)
    while core.poll() is not None:
        pass
    core.push_pcm(noise(RATE // 2, 1), 0.2)
    assert isinstance(core.poll(), Encode)
    assert core.poll() is None


@pytest.mark.parametrize(("rung", "most"), [("opus24", 10), ("opus64", 10), ("pcm22", 5)])
def test_opus_that_is_there_shares_a_message_of_200_ms_and_nothing_waits_for_it(rung, most):
    rng = random.Random(1)
    driver = Driver(make(rung), [[*cut(noise(RATE * 3, 1), rng, 2_000), noise(RATE * 3, 2)]], rng)
    driver.run()
    assert_contiguous(driver.messages, 0 if rung == "pcm22" else -FRAME_TICKS)
    counts = [len(m.packets) for m in audio_of(driver.messages)]
    assert counts[0] == (1 if rung == "pcm22" else 2), "one frame, and a packet of pre-roll"
    assert max(counts) == most
    assert counts.count(most) > 10
    assert any(count < most for count in counts[1:-1]), "what there was by then"


def test_a_controller_may_bundle_the_first_message_as_well():
    class Bundled(FixedRung):
        def decide(self, seen):
            decision = super().decide(seen)
            return decision and decision._replace(bundle=10)

    driver = Driver(make(controller=Bundled(FULL["opus24"])), [[noise(RATE * 3, 2)]], random.Random(1))
    driver.run()
    counts = [len(m.packets) for m in audio_of(driver.messages)]
    assert counts[0] == 11  # a packet of pre-roll
    assert max(counts) <= PACKETS_MOST


def test_an_opus_stream_opens_with_one_pre_roll_packet():
    driver = Driver(make("opus24"), [[noise(RATE, 1)]], random.Random(1))
    driver.run()
    track = next(m for m in driver.messages if isinstance(m, Track))
    first = audio_of(driver.messages)[0]
    assert (track.start, track.preroll, track.codec, track.sample_rate) == (0, 1, "opus", 24_000)
    assert (first.pts, len(first.packets)) == (-FRAME_TICKS, 2)


def test_a_listener_who_never_reads_costs_bounded_memory_and_pauses_the_engine():
    clauses = [[noise(RATE * 5, i)] for i in range(20)]
    driver = Driver(make(max_ahead_s=30.0), clauses, random.Random(3))
    for _ in range(5_000):
        driver.step(("engine", "codec", "write"))
    assert 30 * RATE <= driver.core.produced <= 35 * RATE
    assert driver.core.outstanding <= 32_768 + 5 * 882 + 64
    assert driver.clauses, "the engine was given credit for everything"
    driver.run()
    assert driver.messages[-1].length == 100 * RATE
    assert driver.most_held <= 35 * RATE + 441 * 8


def test_a_listener_behind_a_low_rung_is_at_most_three_seconds_outstanding():
    for rung in ("opus12", "opus24", "opus64", "pcm16k"):
        driver = Driver(make(rung), [[noise(RATE * 20, 1) // 8]], random.Random(3))
        for _ in range(3_000):
            driver.step(("engine", "codec", "write"))
        frames = sum(len(m.packets) for m in audio_of(driver.messages))
        assert frames <= 3 * 50, rung


def test_nothing_leads_the_listener_by_more_than_the_limit():
    driver = Driver(make("opus24", max_lead_s=4.0), [[noise(RATE * 10, 1) // 8]], random.Random(3))
    driver.network = lambda: (
        driver.on_the_way and driver.__setattr__("received", driver.received + driver.on_the_way.popleft()[0])
    )
    for _ in range(5_000):
        driver.step()
    assert 4.0 <= driver.core.lead / 48_000 <= 4.0 + 0.1


def test_a_kernel_queue_alone_holds_the_stream_back():
    core = make()
    assert core.poll() and core.poll() is None
    core.report(KernelSample(40_000, 0), 0.0)
    assert core.poll() is None
    core.push_pcm(noise(RATE, 1), 0.1)
    assert core.poll() is None
    core.report(KernelSample(1_000, 0), 0.2)
    outputs = []
    while (output := core.poll()) is not None:
        outputs.append(output)
    assert any(isinstance(o, Encode) for o in outputs)


def test_input_before_the_outputs_are_drained_is_refused():
    core = make()
    with pytest.raises(RuntimeError, match="drain"):
        core.push_pcm(noise(10, 1), 0.0)


def test_time_that_goes_back_is_refused():
    core = make()
    core.poll()
    core.handle_timer(1.0)
    with pytest.raises(ValueError, match="time went back"):
        core.handle_timer(0.5)


def test_a_job_returns_once():
    driver = Driver(make(), [[noise(RATE, 1)]], random.Random(1))
    while not driver.jobs:
        driver.step(("engine", "write"))
    job = driver.jobs[0]
    driver.codec()
    driver.drain()
    with pytest.raises(ValueError, match="came back twice"):
        driver.core.encoded(job, [], driver.now)


def test_a_report_from_the_future_is_clamped_and_told():
    driver = Driver(make(), [[noise(RATE, 1)]], random.Random(1))
    for _ in range(50):
        driver.step(("engine", "codec", "write"))
    sent = driver.core.lead
    driver.core.report(BitRateHint(1, received=10**12, played=10**9, buffer_ms=0), driver.now)
    driver.drain()
    assert Clamped(("received", "played")) in driver.events
    assert driver.core.outstanding == 0
    assert driver.core.played == sent > 0


def test_an_empty_utterance_ends_with_length_zero():
    driver = Driver(make("opus24"), [[]], random.Random(1))
    driver.run()
    assert [type(m) for m in driver.messages] == [Mark, StreamEnd]
    assert driver.messages[-1].length == 0
    assert driver.events[-2:] == [Finished(0), Drained()]


def test_cancel_sends_the_end_and_nothing_after_it():
    driver = Driver(make(), [[noise(RATE * 5, 1)]], random.Random(1))
    while not driver.jobs or len(audio_of(driver.messages)) < 3:
        driver.step(("engine", "codec", "write"))
    driver.core.cancel(driver.now)
    driver.drain()
    driver.codec()
    driver.drain()
    driver.core.push_pcm(noise(500, 1), driver.now)
    driver.drain()
    while driver.socket:
        driver.write()
        driver.drain()
    assert driver.messages[-1].reason == "cancelled"
    assert sum(isinstance(m, StreamEnd) for m in driver.messages) == 1
    assert driver.core.held_samples == 0


def test_marks_tell_where_each_clause_begins():
    driver = Driver(make(), [[noise(RATE, 1)], [noise(441, 2)]], random.Random(1))
    driver.run()
    assert [m.pts for m in driver.messages if isinstance(m, Mark)] == [0, 48_000]


class Script:
    """A controller that changes its rung at given positions."""

    def __init__(self, plan: dict[int, str]) -> None:
        self.plan, self.rung = plan, None

    def decide(self, seen):
        pts = seen.layers[0].next_pts
        if pts >= seen.ready:
            return None
        names = [name for at, name in sorted(self.plan.items()) if at <= pts]
        return Decision(0, FULL[names[-1]], pts, Reason("script", "the script says so"))


def test_another_family_opens_a_track_one_frame_early_and_a_retune_does_not():
    plan = {0: "pcm22", 48_000: "opus24", 2 * 48_000: "opus12", 3 * 48_000: "pcm16k"}
    driver = Driver(make(controller=Script(plan)), [[noise(RATE * 4, 1) // 8]], random.Random(1))
    driver.run()
    tracks = [(m.rung, m.preroll) for m in driver.messages if isinstance(m, Track)]
    assert tracks == [("pcm22", 0), ("opus24", 2), ("pcm16k", 0)]
    switches = [m for m in driver.messages if isinstance(m, Switch)]
    assert [(s.source, s.target, s.length) for s in switches] == [
        ("pcm22", "opus24", 960),
        ("opus24", "opus12", 0),
        ("opus12", "pcm16k", 960),
    ]
    assert max(len(m.packets) for m in audio_of(driver.messages)) <= PACKETS_MOST
    ends = {}
    for message in driver.messages:
        if isinstance(message, Track):
            assert message.start == (ends[message.track - 1] - FRAME_TICKS if message.track else 0)
            ends[message.track] = message.start - message.preroll * FRAME_TICKS
        elif isinstance(message, Audio):
            assert message.pts == ends[message.track]
            ends[message.track] += len(message.packets) * FRAME_TICKS
    assert switches[0].at == next(m.start for m in driver.messages if isinstance(m, Track) and m.track == 1)


def test_an_engine_of_24_khz_feeds_opus_without_resampling_and_pcm22_resampled():
    for rung, samples in (("pcm24", 480), ("pcm22", 441), ("pcm16k", 320)):
        driver = Driver(make(rung, rate=24_000), [[noise(24_000, 1)]], random.Random(1))
        driver.run()
        assert {len(p) for m in audio_of(driver.messages) for p in m.packets} == {2 * samples}
        assert driver.messages[-1].length == 24_000


def test_nothing_is_encoded_while_the_socket_has_not_taken_the_last_message():
    driver = Driver(make(), [[noise(RATE * 5, 1)]], random.Random(1))
    for _ in range(500):
        driver.step(("engine", "codec"))
    assert len(audio_of(driver.socket)) <= 1
    driver.run()
    assert driver.messages[-1].length == RATE * 5
