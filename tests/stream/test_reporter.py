"""The receiver report, in virtual time: when it is due, what it says, what it costs."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

import pytest

from abr_tts.stream.reporter import FRAME_HEADER, PING_EVERY_S, UPLINK_BURST, Position, Reporter
from abr_tts.units import FRAME_TICKS, seconds_to_ticks
from abr_tts.wire.codec import decode, encode
from abr_tts.wire.messages import BitRateHint

STREAM = 7


def reporter_at(now: float = 0.0, *streams: int) -> Reporter:
    reporter = Reporter(now)
    for stream in streams or (STREAM,):
        reporter.open(stream, now)
    reporter.pinged(1e9)
    return reporter


def at(played_s: float = 0.0, **more: object) -> dict[int, Position]:
    return {STREAM: replace(Position(seconds_to_ticks(played_s)), **more)}  # type: ignore[arg-type]


def run(
    reporter: Reporter,
    seconds: float,
    kbps: float,
    position: Callable[[float], Position],
    message: int = 1500,
) -> Iterator[tuple[float, BitRateHint]]:
    """A link of `kbps` in messages of `message` bytes; the driver polls when the timer says so."""
    now, arrivals, every = 0.0, 1, message * 8 / 1000 / kbps if kbps else float("inf")
    while True:
        timer = reporter.get_timer()
        assert timer is not None
        now = max(now, min(arrivals * every, timer))
        if now > seconds:
            return
        if now >= arrivals * every:
            reporter.arrived(message, now)
            arrivals += 1
        else:
            positions = dict.fromkeys(reporter_streams(reporter), position(now))
            for hint in reporter.poll(now, positions):
                yield now, hint


def reporter_streams(reporter: Reporter) -> list[int]:
    return list(reporter._streams)


def listener(now: float) -> Position:
    return Position(seconds_to_ticks(now) // FRAME_TICKS * FRAME_TICKS, buffer_ms=800)


def gaps(hints: list[tuple[float, BitRateHint]]) -> list[float]:
    times = [now for now, _ in hints]
    return [later - earlier for earlier, later in pairwise(times)]


def test_a_fast_link_is_reported_every_100_ms() -> None:
    hints = list(run(reporter_at(), 10, kbps=350, position=listener))
    assert gaps(hints) and max(gaps(hints)) < 0.145  # a message every 34 ms may come just too late
    assert min(gaps(hints)) >= 0.1 - 1e-9


def test_less_than_2_kb_is_reported_after_250_ms() -> None:
    hints = list(run(reporter_at(), 10, kbps=24, position=listener, message=300))
    assert all(0.25 - 1e-9 <= gap <= 0.5 for gap in gaps(hints))


def test_what_stands_still_is_reported_every_500_ms() -> None:
    hints = list(run(reporter_at(), 10, kbps=0, position=lambda now: Position(960)))
    assert gaps(hints)[1:] == pytest.approx([0.5] * (len(hints) - 2))
    assert 18 <= len(hints) <= 21


def test_the_shortest_interval_is_the_servers() -> None:
    reporter = reporter_at()
    reporter.shortest_s = 0.2
    assert min(gaps(list(run(reporter, 5, kbps=800, position=listener)))) >= 0.2 - 1e-9


@pytest.mark.parametrize("kbps", [8, 12, 24, 48, 64, 200, 350, 1000, 5000])
@pytest.mark.parametrize("streams", [1, 4, 16])
def test_reports_cost_at_most_5_percent_of_the_downlink_or_2_kbit_s(kbps: float, streams: int) -> None:
    reporter = reporter_at(0.0, *range(1, streams + 1))
    seconds = 20
    hints = [hint for _, hint in run(reporter, seconds, kbps, listener, message=400)]
    cost = sum(len(encode(hint)) + FRAME_HEADER for hint in hints)
    slack = UPLINK_BURST + 60  # what was saved up, and one report of debt
    assert cost <= max(0.05 * kbps, 2) * 125 * seconds + slack
    assert {hint.stream for hint in hints} == set(range(1, streams + 1)), "none is left out"


def test_of_many_streams_the_one_that_waited_longest_is_told_first() -> None:
    reporter = reporter_at(0.0, *range(1, 17))
    times: dict[int, list[float]] = {stream: [] for stream in range(1, 17)}
    for now, hint in run(reporter, 60, 48, listener):
        times[hint.stream].append(now)
    counts = [len(seen) for seen in times.values()]
    assert max(counts) - min(counts) <= 3


def test_the_end_is_told_at_once_and_once() -> None:
    reporter = reporter_at()
    reporter.arrived(100, 0.0)
    assert len(reporter.poll(0.3, at(0.2))) == 1
    assert reporter.poll(0.301, at(0.3)) == []
    [hint] = reporter.poll(0.302, at(0.34, complete=True))
    assert hint.played == seconds_to_ticks(0.34)
    assert reporter.poll(5.0, at(0.34, complete=True)) == []
    assert reporter.get_timer() is None


def test_the_end_is_told_even_when_the_allowance_is_spent() -> None:
    reporter = reporter_at(0.0, *range(1, 41))
    everywhere = {stream: Position(960) for stream in range(1, 41)}
    told = len(reporter.poll(0.5, everywhere))
    assert told < 40
    ending = {40: Position(1920, complete=True)}
    assert [hint.stream for hint in reporter.poll(0.5, ending)] == [40]


def test_a_speech_of_no_length_is_told_to_have_ended() -> None:
    [hint] = reporter_at().poll(0.01, at(0.0, complete=True))
    assert (hint.played, hint.buffer_ms) == (0, 0)


def test_a_report_says_what_the_playout_says() -> None:
    reporter = reporter_at()
    reporter.arrived(3000, 0.2)
    position = Position(9600, 412.6, stalls=2, stall_ms=640.4, highest=((0, 28800), (1, 19200)))
    [hint] = reporter.poll(0.2, {STREAM: position}, rtt_ms=43.4)
    assert hint == BitRateHint(
        STREAM, received=3000, played=9600, buffer_ms=413, rtt_ms=43.0, stalls=2, stall_ms=640,
        goodput_kbps=240.0, highest=((0, 28800), (1, 19200)),
    )  # fmt: skip


def test_values_beyond_the_wire_are_told_as_its_bounds() -> None:
    reporter = reporter_at()
    reporter.arrived(3000, 0.2)
    wild = Position(960, 10.0**12, stalls=10**9, stall_ms=1e12, highest=tuple((i, 0) for i in range(99)))
    [hint] = reporter.poll(0.2, {STREAM: wild}, rtt_ms=1e9)
    assert decode(encode(hint), "client") == hint


def test_received_counts_the_whole_connection() -> None:
    reporter = Reporter(0.0)
    reporter.arrived(5000, 0.0)
    reporter.open(STREAM, 0.1)
    assert reporter.poll(0.25, at()) == [], "what came before the stream is no news of it"
    reporter.arrived(2000, 0.3)
    [hint] = reporter.poll(0.3, at())
    assert hint.received == 7000


def test_a_closed_stream_is_reported_no_more() -> None:
    reporter = reporter_at()
    reporter.close(STREAM)
    reporter.close(STREAM)
    assert reporter.get_timer() is None
    assert reporter.poll(9.0, at(complete=True)) == []


def test_pings_are_due_while_a_stream_is_open() -> None:
    reporter = Reporter(3.0)
    assert reporter.get_timer() is None
    reporter.open(STREAM, 3.0)
    assert reporter.get_timer() == 3.0 == reporter.next_ping
    reporter.pinged(3.0)
    assert reporter.next_ping == 3.0 + PING_EVERY_S
    assert reporter.get_timer() == 3.25


def test_the_timer_never_lies_in_the_past_after_a_poll() -> None:
    reporter = reporter_at(0.0, *range(1, 10))
    now = 0.0
    for step in range(2000):
        reporter.arrived(1000, now)
        reporter.poll(now, {stream: Position(step * 960) for stream in range(1, 10)})
        timer = reporter.get_timer()
        assert timer is not None and timer > now
        now += 0.013


@pytest.mark.parametrize("hint_ms", [100, 400, 2_000])
def test_the_timer_never_lies_in_the_past_however_seldom_reports_are_wanted(hint_ms):
    reporter = reporter_at()
    reporter.shortest_s = hint_ms / 1000
    now, told = 0.0, []
    while now < 10.0:
        reporter.arrived(1500, now)
        told += [now for _ in reporter.poll(now, at(now))]
        timer = reporter.get_timer()
        assert timer is not None and timer > now
        now = timer
    assert min(later - earlier for earlier, later in pairwise(told)) >= hint_ms / 1000 - 1e-9
