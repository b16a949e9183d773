"""What the comparison of nginx's methods is made of: who comes when and from where, and how it is told."""

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools" / "bench"))

import balance
from shipped import HERE


def test_every_method_meets_the_same_listeners():
    one, other = (balance.plan(50, 0.7, random.Random(3), nat=False) for _ in range(2))
    assert one == other
    assert len({who.address for who in one}) == len({who.session for who in one}) == 50


def test_the_servers_are_busy_for_the_share_that_is_asked():
    visits = balance.plan(20_000, 0.7, random.Random(1), nat=False)
    work_s = sum(len(who.text) for who in visits) * balance.CHAR_S * balance.RTF
    assert work_s / (visits[-1].at * balance.SERVERS) == pytest.approx(0.7, rel=0.02)


def test_two_of_three_come_from_one_carrier_where_it_is_asked():
    visits = balance.plan(3_000, 0.7, random.Random(1), nat=True)
    carried = sum(who.address.startswith("127.9.9.") for who in visits)
    assert carried / len(visits) == pytest.approx(2 / 3, abs=0.03)


def test_what_is_saved_is_told_of_round_robins_tail():
    found = {"round_robin": [10.0] * 90 + [200.0] * 10, "least_conn": [10.0] * 90 + [150.0] * 10}
    rows = balance.table(found)
    assert rows["round_robin"]["tail_saved_p95"] == 0
    assert (rows["least_conn"]["p95"], rows["least_conn"]["tail_saved_p95"]) == (150, 0.25)


def test_the_methods_are_those_that_the_shipped_file_names():
    text = (HERE / "nginx.d" / "balance.conf").read_text("utf-8")
    for lines in balance.METHODS.values():
        assert lines.split("$")[0].rstrip(";").strip() in text
