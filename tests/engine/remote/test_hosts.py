"""The breaker of each server, and who is asked next: a machine of few states, with time as an argument."""

import pytest

from abr_tts.engine.remote.hosts import CLOSED, HALF_OPEN, OPEN, PATIENCE_S, RESTING, Host, Hosts, Rules

RULES = Rules(parallel=3, failures=2, open_s=10.0)


def failing(times, rules=RULES):
    host = Host("a", rules)
    for _ in range(times):
        host.failed(0.0, "down")
    return host


def test_failures_in_a_row_open_the_breaker_and_one_fewer_does_not():
    assert failing(1).state(0.0) == CLOSED and failing(1).places(0.0) == 3
    assert failing(2).state(0.0) == OPEN and failing(2).places(0.0) == 0
    assert failing(2).refuses_for(4.0) == 6.0


def test_a_success_in_between_begins_the_count_anew():
    host = failing(1)
    host.succeeded()
    assert not host.failed(0.0, "down") and host.state(0.0) == CLOSED


def test_after_its_time_one_request_is_let_through_and_decides():
    host = failing(2)
    assert host.state(9.99) == OPEN and host.state(10.0) == HALF_OPEN
    assert host.places(10.0) == 1, "a trial, not a stampede"
    assert host.failed(10.5, "still down"), "one failure is enough on trial"
    assert host.state(20.4) == OPEN and host.state(20.5) == HALF_OPEN
    host.succeeded()
    assert host.state(20.5) == CLOSED and host.stats(20.5).opened == 2


def test_a_failure_that_began_before_the_breaker_opened_does_not_prolong_it():
    host = failing(2)
    assert not host.failed(9.0, "late") and host.state(10.0) == HALF_OPEN


def test_a_rest_that_was_asked_for_is_granted_without_a_trial_afterwards():
    host = Host("a", RULES)
    host.rest(0.0, 5.0)
    assert host.state(4.9) == RESTING and host.places(4.9) == 0
    assert host.state(5.0) == CLOSED and host.places(5.0) == 3


def test_a_short_rest_is_sat_out_and_a_longer_one_refused():
    host = Host("a", RULES)
    host.rest(0.0, PATIENCE_S)
    assert host.wait(0.0) == PATIENCE_S and host.refuses_for(0.0) == 0.0
    host.rest(0.0, PATIENCE_S + 0.1)
    assert host.refuses_for(0.0) == PATIENCE_S + 0.1


def test_the_least_busy_server_is_asked_and_of_equals_the_least_asked():
    hosts = Hosts(["a", "b", "c"], RULES)
    order = []
    for _ in range(9):
        host = hosts.pick(0.0)
        host.enter()
        order.append(host.url)
    assert order == list("abc" * 3) and hosts.pick(0.0) is None
    hosts.all[1].leave()
    assert hosts.pick(0.0) is hosts.all[1]


def test_a_server_where_it_failed_is_asked_last():
    hosts = Hosts(["a", "b"], RULES)
    a, b = hosts.all
    b.enter()
    assert hosts.pick(0.0, {a}) is b and hosts.pick(0.0, {a, b}) is a


def test_places_are_counted_over_the_servers_that_are_asked():
    hosts = Hosts(["a", "b"], RULES)
    a, b = hosts.all
    assert hosts.places(0.0) == 6 and hosts.next_change(0.0) is None
    a.failed(0.0, "x")
    a.failed(0.0, "x")
    assert hosts.places(0.0) == 3 and hosts.refuse_for(0.0) == 0.0 and hosts.next_change(4.0) == 6.0
    b.rest(0.0, 20.0)
    assert hosts.places(0.0) == 0 and hosts.refuse_for(0.0) == 10.0
    assert hosts.places(10.0) == 1, "the trial"


def test_no_server_at_all_is_refused():
    with pytest.raises(ValueError, match="no server"):
        Hosts([], RULES)
