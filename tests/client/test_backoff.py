"""When a client connects again: at once, then later and later, and not for ever."""

import random

import pytest

from abr_tts.client.backoff import Backoff, may_retry


class Most(random.Random):
    """Chance at its upper bound."""

    def uniform(self, a: float, b: float) -> float:
        return b


def waits(backoff: Backoff, count: int) -> list[float | None]:
    """Of so many attempts that each fail at once."""
    now, found = 0.0, []
    for _ in range(count):
        found.append(backoff.next(now))
        now += found[-1] or 0.0
    return found


def test_the_first_retry_is_at_once_and_later_ones_wait_up_to_a_minute():
    assert waits(Backoff(1e6, Most()), 10) == [0, 1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_the_wait_is_anything_up_to_its_bound():
    found = [Backoff(1e6, random.Random(seed)) for seed in range(300)]
    third = [waits(one, 4)[3] for one in found]
    assert min(third) < 0.1 and max(third) > 3.9 and 1.7 < sum(third) / 300 < 2.3


def test_success_sets_the_count_and_the_time_back():
    backoff = Backoff(10.0, Most())
    assert waits(backoff, 3) == [0, 1, 2]
    backoff.reset()
    assert backoff.next(1000.0) == 0.0


def test_it_is_given_up_when_the_total_time_has_passed_and_not_before():
    backoff = Backoff(5.0, Most())
    assert [backoff.next(now) for now in (0.0, 1.0, 3.0)] == [0, 1, 2]
    assert backoff.next(4.999) == pytest.approx(0.001), "a last attempt at the very end"
    assert backoff.next(5.0) is None


def test_what_the_server_asks_is_waited_and_no_client_waits_for_longer_than_it_would_try():
    backoff = Backoff(10.0, Most())
    assert backoff.next(0.0, retry_after=3.0) == 3.0
    assert backoff.next(3.0, retry_after=0.5) == 1.0
    assert Backoff(10.0, Most()).next(0.0, retry_after=10.5) is None


@pytest.mark.parametrize("close", [None, 1001, 1005, 1006, 1011, 1012, 1013, 1015])
def test_after_these_closes_it_connects_again(close):
    assert may_retry(close)


@pytest.mark.parametrize("close", [1000, 1002, 1003, 1007, 1008, 1009, 1010, 4008])
def test_after_these_it_does_not(close):
    assert not may_retry(close, "bad_message")


@pytest.mark.parametrize("code", ["idle_timeout", "rate_limited"])
def test_but_for_two_errors_that_close_with_1008(code):
    assert may_retry(1008, code)
