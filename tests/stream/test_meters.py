"""Jitter and goodput, in virtual time."""

import pytest

from abr_tts.stream.meters import Goodput, Jitter


def test_jitter_follows_rfc_3550() -> None:
    jitter = Jitter()
    assert jitter.ms == -1
    jitter.arrived(0, 0.00, 10.000)
    assert jitter.ms == -1, "one message has no difference"
    jitter.arrived(0, 0.02, 10.036)  # D = 16 ms
    assert jitter.ms == pytest.approx(16 / 16)
    jitter.arrived(0, 0.04, 10.040)  # D = -16 ms
    assert jitter.ms == pytest.approx(1 + (16 - 1) / 16)


def test_an_even_link_has_no_jitter_and_a_constant_one_converges() -> None:
    even, uneven = Jitter(), Jitter()
    for n in range(400):
        even.arrived(0, n * 0.1, 5 + n * 0.1)
        uneven.arrived(0, n * 0.1, 5 + n * 0.1 + (0.03 if n % 2 else 0.0))
    assert even.ms == pytest.approx(0, abs=1e-6)
    assert uneven.ms == pytest.approx(30, rel=0.01)


def test_another_track_is_not_compared_with_the_one_before() -> None:
    jitter = Jitter()
    jitter.arrived(0, 0.0, 1.0)
    jitter.arrived(0, 0.1, 1.1)
    jitter.arrived(1, 60.0, 1.2)
    assert jitter.ms == pytest.approx(0, abs=1e-6)


def test_goodput_is_the_rate_of_the_last_second() -> None:
    goodput = Goodput()
    assert goodput.rate(0.0) == -1
    for n in range(400):
        goodput.add(100, n * 0.01)
    assert goodput.rate(4.0) == pytest.approx(10_000, rel=0.06)
    assert goodput.rate(4.5) == pytest.approx(5_000, rel=0.12)
    assert goodput.rate(5.1) == -1


def test_one_lonely_message_is_no_infinite_rate() -> None:
    goodput = Goodput()
    goodput.add(1500, 1.0)
    assert goodput.rate(1.0) == 15_000


def test_what_is_kept_is_bounded() -> None:
    goodput = Goodput()
    for n in range(100_000):
        goodput.add(1, n * 0.0001)
    assert len(goodput._bins) <= 21
