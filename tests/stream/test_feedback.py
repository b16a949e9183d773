"""What a core hears of the way to its listener is brought into bounds, and told to all who count on it."""

import pytest

from abr_tts.control.controller import BANK, FixedRung
from abr_tts.control.ladder import FULL
from abr_tts.stream.feedback import Feedback
from abr_tts.stream.pacer import NOTHING, Cargo, KernelSample, Pacer
from abr_tts.stream.playhead import PlayHead
from abr_tts.units import FRAME_TICKS
from abr_tts.wire.messages import BitRateHint

MESSAGE = Cargo(BANK, 10 * FRAME_TICKS, 10 * FRAME_TICKS)


class Pupil(FixedRung):
    """A controller that learns, and what it was told."""

    def __init__(self):
        super().__init__(FULL["opus24"])
        self.told = []

    def on_sent(self, size, own, now):
        self.told.append(("sent", size, own, now))

    def on_received(self, total, rtt_ms, now):
        self.told.append(("received", total, rtt_ms, now))

    def on_kernel(self, queued, min_rtt_ms, now):
        self.told.append(("kernel", queued, min_rtt_ms, now))


def hearing(controller=None):
    """Ten frames in 600 bytes were written at 1.0 s."""
    pacer, head = Pacer(48_000), PlayHead()
    feedback = Feedback(pacer, head, controller or FixedRung(FULL["opus24"]))
    feedback.written(600, MESSAGE, True, 1.0)
    return feedback, pacer, head


@pytest.mark.parametrize(
    ("received", "played", "wrong"),
    [
        (600, 10, ()),
        (601, 10, ("received",)),
        (600, 11, ("played",)),
        (601, 11, ("received", "played")),
    ],
)
def test_a_report_of_more_than_there_was_is_named_and_counts_as_all(received, played, wrong):
    feedback, pacer, head = hearing()
    hint = BitRateHint(1, received, played * FRAME_TICKS, 0, rtt_ms=20.0)
    assert feedback.hint(hint, 10 * FRAME_TICKS, 1.5) == wrong
    assert (pacer.outstanding, head.played) == (0, 10 * FRAME_TICKS)


def test_a_report_counts_as_said_half_a_round_trip_ago():
    feedback, _, head = hearing()
    feedback.hint(BitRateHint(1, 600, 0, 200, rtt_ms=100.0), 10 * FRAME_TICKS, 1.5)
    feedback.hint(BitRateHint(1, 600, FRAME_TICKS, 180, rtt_ms=100.0), 10 * FRAME_TICKS, 2.0)
    assert head.at(2.0) == pytest.approx(FRAME_TICKS + 0.05 * 48_000, abs=2)


def test_a_controller_that_learns_is_told_of_everything():
    pupil = Pupil()
    feedback, _, _ = hearing(pupil)
    feedback.written(50, NOTHING, False, 1.1)
    feedback.kernel(KernelSample(400, 100, 12.0), 1.2)
    feedback.received(300, 1.3)
    feedback.hint(BitRateHint(1, 600, 0, 0, rtt_ms=20.0), 0, 1.4)
    assert feedback.learns
    assert pupil.told == [
        ("sent", 600, True, 1.0),
        ("sent", 50, False, 1.1),
        ("kernel", 500, 12.0, 1.2),
        ("received", 300, -1.0, 1.3),
        ("received", 600, 20.0, 1.4),
    ]


def test_a_fixed_rung_learns_nothing():
    assert not hearing()[0].learns


def test_on_another_connection_counts_begin_again_and_the_new_controller_is_told():
    old, new = Pupil(), Pupil()
    feedback, pacer, head = hearing(old)
    told = list(old.told)
    feedback.restart(new, 4 * FRAME_TICKS, 3 * FRAME_TICKS, 5.0)
    assert (pacer.outstanding, pacer.reached[BANK], head.played) == (0, 4 * FRAME_TICKS, 3 * FRAME_TICKS)
    feedback.written(70, NOTHING, False, 5.1)
    assert (old.told, new.told) == (told, [("sent", 70, False, 5.1)])
