"""The schedule of a real-time listener, in virtual time."""

import pytest

from abr_tts.client.clock import FRAME_S, LATE_S, FrameClock


def test_late_wake_ups_do_not_add_up() -> None:
    clock, now = FrameClock(), 100.0
    for _ in range(500):
        now += clock.wait(now) + 0.003  # every sleep is 3 ms late
        clock.tick(now)
    assert now == pytest.approx(100.0 + 499 * FRAME_S + 0.006, abs=0.004)


def test_the_first_frame_is_due_at_once_and_the_next_20_ms_later() -> None:
    clock = FrameClock()
    assert clock.wait(7.0) == 0
    clock.tick(7.0)
    assert clock.wait(7.005) == pytest.approx(0.015)


def test_a_short_delay_is_made_up() -> None:
    clock = FrameClock()
    clock.tick(0.0)
    now = 0.02 + LATE_S / 2
    for _ in range(5):
        assert clock.wait(now) == 0
        clock.tick(now)
    assert clock.wait(now) == pytest.approx(0.0, abs=1e-9)
    clock.tick(now)
    assert clock.wait(now) == pytest.approx(FRAME_S)


def test_after_a_long_absence_time_starts_anew() -> None:
    clock = FrameClock()
    clock.tick(0.0)
    assert clock.wait(60.0) == 0
    clock.tick(60.0)
    assert clock.wait(60.0) == pytest.approx(FRAME_S), "no burst of a minute"
