"""The gate before upgrades: the bank first."""

import pytest

from abr_tts.control.gate import Gate
from abr_tts.control.policy_file import preset

from .looks import link, seen

POLICY = preset("default")


def code(gate, line, lead_s, banked=False, **what):
    reason = gate.closed(seen(bank=lead_s, **what), line, lead_s, banked)
    return reason.code if reason else None


def test_it_opens_when_three_seconds_are_banked_or_all_that_is_made():
    assert code(Gate(POLICY), link(500), 2.9) == "unsafe"
    assert code(Gate(POLICY), link(500), 3.0) is None
    assert code(Gate(POLICY), link(500), 0.4, banked=True) is None


def test_once_open_it_closes_only_when_the_bank_runs_low():
    gate = Gate(POLICY)
    code(gate, link(500), 3.0)
    assert code(gate, link(500), 1.1) is None
    assert code(gate, link(500), 0.9) == "unsafe"
    assert code(gate, link(500), 2.0) == "unsafe"


def test_where_the_link_has_died_before_more_must_be_banked():
    gate = Gate(POLICY)
    assert code(gate, link(500, outages=1), 7.9, banked=True) == "unsafe"
    assert code(gate, link(500, outages=1), 8.0) is None
    assert code(Gate(POLICY), link(500, outages=1), 1.0, banked=True, ended=True) is None


def test_a_paused_listener_gets_no_upgrades():
    assert code(Gate(POLICY), link(500), 9.0, paused=True) == "paused"


def test_what_is_late_stops_upgrades_at_once():
    gate = Gate(POLICY)
    assert code(gate, link(500), 9.0) is None
    assert code(gate, link(500, late_s=0.3), 9.0) == "late"
    assert code(gate, link(500), 9.0) is None


@pytest.mark.parametrize(
    ("heard", "late", "closed"), [(0, 0.0, True), (1_500, 0.12, True), (1_500, 0.0, False)]
)
def test_what_was_learned_long_ago_must_be_confirmed(heard, late, closed):
    line = link(500, quiet_s=9.0, heard_bytes=heard, late_s=late)
    assert (code(Gate(POLICY), line, 9.0) == "stale") is closed
