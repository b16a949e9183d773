"""The parts of the core: where the listener is, how fast the engine is, what is on the way."""

import pytest

from abr_tts.control.controller import BANK, UPGRADE, Decision, Reason
from abr_tts.control.ladder import FULL
from abr_tts.stream.pacer import Cargo, KernelSample, Pacer, most_frames
from abr_tts.stream.playhead import EngineMeter, PlayHead

SECOND = 48_000


def head(*reports, sent_at=0.0) -> PlayHead:
    """(second, seconds played, milliseconds held) of each report; 0.05 s on the way."""
    played = PlayHead()
    played.sent(sent_at)
    for now, seconds, buffer_ms in reports:
        played.report(round(seconds * SECOND), buffer_ms, now, 0.05)
    return played


def test_between_reports_the_head_moves_with_time():
    assert head((1.0, 0.8, 500)).at(1.5) == pytest.approx((0.8 + 0.05 + 0.5) * SECOND, abs=2)


def test_before_any_sound_is_reported_it_may_be_heard_since_it_was_sent():
    assert head(sent_at=2.0).at(2.3) == pytest.approx(0.3 * SECOND, abs=2)
    assert head((2.2, 0.0, 100), sent_at=2.0).at(2.3) == pytest.approx(0.3 * SECOND, abs=2)
    assert PlayHead().at(9.0) == 0


def test_a_listener_who_has_run_out_stands_still():
    assert head((1.0, 0.8, 500), (2.0, 1.3, 0)).at(3.0) == round(1.3 * SECOND)


def test_a_paused_listener_stands_still_and_goes_on():
    played = head((1.0, 0.8, 9_000))
    played.pause(1.5)
    there = played.at(1.5)
    assert played.at(9.0) == there
    played.resume(10.0)
    assert played.at(10.5) == there + SECOND // 2


def test_a_pause_says_nothing_of_what_was_played():
    """The listener may have starved since its last report; what it lacks must not be freed."""
    played = head((1.0, 0.8, 500))
    played.pause(9.0)
    assert (played.played, played.at(9.0)) == (round(0.8 * SECOND), pytest.approx(8.85 * SECOND, abs=2))
    played.report(round(1.3 * SECOND), 0, 9.1, 0.05)
    assert (played.played, played.at(20.0)) == (round(1.3 * SECOND), round(1.3 * SECOND))


def test_a_listener_who_plays_faster_than_time_passes_is_eager():
    assert head((0.5, 4.0, 500)).eager
    assert not head((4.2, 4.0, 500)).eager
    assert head((0.5, 4.0, 500)).at(9.0) == 4 * SECOND


def test_an_old_report_does_not_move_the_head_back():
    assert head((1.0, 0.8, 500), (1.1, 0.2, 500)).played == round(0.8 * SECOND)


def test_the_engine_is_metered_only_while_it_works():
    meter = EngineMeter()
    assert (meter.making, meter.real_time_factor) == (False, 0.0)
    meter.begin(1.0)
    meter.made(1.0, 1.3)
    meter.made(1.0, 1.6)
    assert meter.making
    meter.end()
    meter.begin(100.0)
    meter.made(2.0, 100.6)
    assert meter.real_time_factor == pytest.approx(0.3)


def decision(rank: int, most: int, rung: str = "pcm22") -> Decision:
    return Decision(rank, FULL[rung], 0, Reason("x", "y"), outstanding_bytes=most)


def test_the_larger_count_of_what_is_on_the_way_rules():
    pacer = Pacer(30 * SECOND)
    pacer.on_sent(5_000, Cargo(BANK, 4_800, 4_800))
    assert pacer.outstanding == 5_000
    pacer.on_received(4_000)
    assert pacer.outstanding == 1_000
    pacer.on_kernel(KernelSample(3_000, 500, 20.0))
    assert pacer.outstanding == 3_500
    assert pacer.on_received(5_000)
    assert pacer.outstanding == 2_500
    assert not pacer.on_received(9_000)


def test_what_has_arrived_is_known_by_layer():
    pacer = Pacer(30 * SECOND)
    pacer.on_sent(1_000, Cargo(BANK, 4_800, 4_800))
    pacer.on_sent(4_000, Cargo(UPGRADE, 4_800, 9_600))
    pacer.on_received(1_000)
    assert (pacer.reached, pacer.outstanding_ticks) == ([4_800, 0], 4_800)
    pacer.on_received(5_000)
    assert pacer.reached == [4_800, 9_600]


def test_a_large_message_of_the_bank_counts_itself_against_the_cap_of_its_decision():
    pacer, size = Pacer(30 * SECOND), FULL["pcm22"].message_bytes(2)
    pacer.on_sent(4_000)
    assert pacer.is_open(decision(BANK, 4_000 + size), 2, 0)
    assert not pacer.is_open(decision(BANK, 4_000 + size - 1), 2, 0)


def test_a_message_within_a_segment_goes_while_the_cap_is_not_reached():
    pacer = Pacer(30 * SECOND)
    pacer.on_sent(4_000)
    assert pacer.is_open(decision(BANK, 4_001, "opus24"), 5, 0)
    assert not pacer.is_open(decision(BANK, 4_000, "opus24"), 5, 0)


def test_an_upgrade_goes_whole_while_the_cap_is_not_reached():
    pacer = Pacer(30 * SECOND)
    pacer.on_sent(4_000)
    assert pacer.is_open(decision(UPGRADE, 4_001), 5, 0)
    assert not pacer.is_open(decision(UPGRADE, 4_000), 5, 0)
    assert most_frames(decision(UPGRADE, 4_001)) == 5


def test_to_an_empty_pipe_a_message_larger_than_the_cap_goes():
    pacer = Pacer(30 * SECOND)
    assert pacer.is_open(decision(BANK, 3_000), 5, 0)
    pacer.on_sent(1)
    assert not pacer.is_open(decision(BANK, 3_000), 5, 0)
    pacer.on_received(1)
    assert pacer.is_open(decision(BANK, 3_000), 5, 0)


def test_the_bank_waits_for_its_lead_and_upgrades_do_not():
    pacer = Pacer(2 * SECOND)
    pacer.on_sent(4_000)
    assert pacer.is_open(decision(BANK, 9_000), 5, 2 * SECOND - 1)
    assert not pacer.is_open(decision(BANK, 9_000), 5, 2 * SECOND)
    assert pacer.is_open(decision(UPGRADE, 9_000), 5, 2 * SECOND)


@pytest.mark.parametrize(
    ("rung", "cap", "frames"),
    [
        ("pcm22", 3_000, 2),
        ("pcm22", 13_329, 2),
        ("pcm22", 13_330, 3),  # a fifth of it is three frames and their heads
        ("pcm22", 65_536, 5),
        ("pcm22", 1_000, 1),
        ("pcm22", 100, 1),
        ("pcm16k", 3_000, 3),
        ("opus64", 3_000, 5),
        ("opus12", 1_000, 10),
    ],
)
def test_where_little_may_be_on_the_way_a_message_carries_fewer_frames(rung, cap, frames):
    assert most_frames(decision(BANK, cap, rung)) == frames


def test_the_round_trip_of_the_listener_goes_before_the_kernels():
    pacer = Pacer(SECOND)
    assert pacer.min_rtt_s == 0.0
    pacer.on_kernel(KernelSample(0, 0, 0.2))
    assert pacer.min_rtt_s == pytest.approx(0.0002)
    for rtt_ms in (-1.0, 80.0, 60.0, 90.0):
        pacer.on_rtt(rtt_ms)
    assert pacer.min_rtt_s == pytest.approx(0.06)
