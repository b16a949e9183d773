"""The rung of upgrades: by what the link carries, held against flutter, tried where nothing is known."""

import itertools

import pytest

from abr_tts.control.controller import Reason
from abr_tts.control.ladder import FULL
from abr_tts.control.policy_file import preset
from abr_tts.control.upgrades import Upgrades

from .looks import link

CLASSIC, DEFAULT = preset("classic"), preset("default")
BANK = FULL["opus24"]


def choose(upgrades, now, kbps, reserve=0.0, may_probe=False, bank=BANK, **more):
    rung = upgrades.choose(link(kbps, **more), bank, reserve, may_probe, now)
    return rung.name if rung else None


@pytest.mark.parametrize(
    ("kbps", "rung"),
    [(2_000, "pcm22"), (420, "pcm22"), (400, "opus48"), (62, "opus48"), (50, "opus32"), (40, None)],
)
def test_the_best_rung_that_fits_with_some_room_is_taken(kbps, rung):
    assert choose(Upgrades(DEFAULT), 0.0, kbps) == rung


def test_a_rung_of_lower_utility_is_never_an_upgrade():
    measured = preset("default")
    upgrades = Upgrades(measured)
    for kbps in range(10, 3_000, 10):
        rung = choose(upgrades, kbps / 100, kbps)
        assert rung is None or measured.utility(FULL[rung]) > measured.utility(BANK)
    assert choose(Upgrades(DEFAULT), 0.0, 2_000, bank=FULL["pcm22"]) is None


def test_what_the_bank_needs_is_left_to_it():
    assert choose(Upgrades(DEFAULT), 0.0, 420, reserve=32) == "opus48"


def test_down_at_once_and_up_after_a_while():
    upgrades = Upgrades(CLASSIC)
    assert choose(upgrades, 0.0, 1_000) == "pcm22"
    assert choose(upgrades, 0.1, 350) == "pcm16k"
    assert choose(upgrades, 0.2, 1_000) == "pcm16k"
    assert choose(upgrades, 0.3 + CLASSIC.hold_up_s, 1_000) == "pcm22"
    assert choose(upgrades, 3.0, 100) is None
    assert choose(upgrades, 3.1, 1_000) is None
    assert choose(upgrades, 3.2 + CLASSIC.hold_up_s, 1_000) == "pcm22"


def test_a_rate_that_swings_faster_than_the_hold_changes_nothing():
    upgrades = Upgrades(CLASSIC)
    choose(upgrades, 0.0, 350)
    chosen = {choose(upgrades, tenth / 10, 1_000 if tenth // 8 % 2 else 350) for tenth in range(1, 200)}
    assert chosen == {"pcm16k"}


def test_the_reason_can_be_read():
    upgrades = Upgrades(CLASSIC)
    choose(upgrades, 0.0, 210)
    assert upgrades.reason.sentence == "the link carries 210 kbit/s; pcm16k needs 300"
    assert upgrades.reason.values == {"kbps": 210.0, "need_kbps": pytest.approx(299.9, abs=0.1)}
    choose(upgrades, 5.0, 1_000)
    assert upgrades.reason.sentence == "the link carries 1000 kbit/s; pcm22 needs 374"


# ---------------------------------------------------------------- probes


def test_a_link_of_which_nothing_is_known_is_tried_with_the_best_rung():
    upgrades = Upgrades(CLASSIC)
    assert choose(upgrades, 0.0, 300, known=False, firm=False) is None
    assert upgrades.reason.code == "unknown"
    assert choose(upgrades, 0.1, 300, may_probe=True, known=False, firm=False) == "pcm22"
    assert upgrades.probing
    assert "pcm22 tries it" in upgrades.reason.sentence


def test_the_answer_to_a_probe_is_acted_upon_at_once():
    upgrades = Upgrades(CLASSIC)
    choose(upgrades, 0.0, 300, may_probe=True, known=False, firm=False)
    assert choose(upgrades, 0.3, 900, may_probe=True, firm=False, quiet_s=0.05) == "pcm22"
    assert not upgrades.probing


def test_an_answer_that_was_under_way_before_the_probe_is_none():
    upgrades = Upgrades(CLASSIC)
    choose(upgrades, 0.0, 100, may_probe=True, quiet_s=9.0)
    choose(upgrades, 0.02, 100, may_probe=True, quiet_s=0.0)
    assert upgrades.probing


def test_a_link_that_seems_too_slow_is_tried_again_and_ever_less_often():
    upgrades, times, quiet_since = Upgrades(CLASSIC), [], 0.0
    for tenth in range(600):
        now = tenth / 10
        before = upgrades.probes
        choose(upgrades, now, 100, may_probe=True, quiet_s=now - quiet_since)
        if upgrades.probes > before:
            times.append(now)
            quiet_since = now + 0.2
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert times[0] == pytest.approx(CLASSIC.probe_s, abs=0.2)
    assert gaps[0] < gaps[1] == pytest.approx(gaps[-1], abs=0.3)
    assert gaps[-1] < 5 * CLASSIC.probe_s


def test_a_link_that_was_dead_is_tried_as_soon_as_it_lives():
    upgrades = Upgrades(CLASSIC)
    choose(upgrades, 0.0, 1_000)
    assert choose(upgrades, 5.0, 1, may_probe=True, outages=1) == "pcm22"
    assert upgrades.probing


def test_nothing_is_tried_while_the_bank_cannot_wait():
    upgrades = Upgrades(CLASSIC)
    assert choose(upgrades, 0.0, 100, may_probe=False, quiet_s=60.0) is None


def test_a_rung_that_broke_off_for_a_moment_needs_no_more_than_to_be_kept():
    late = Reason("late", "what is on the way is 0.2 s late")
    for pause_s, rung in ((0.2, "pcm22"), (DEFAULT.hold_up_s + 0.1, "opus48")):
        upgrades = Upgrades(DEFAULT)
        choose(upgrades, 0.0, 500)
        upgrades.close(late, 1.0)
        assert choose(upgrades, 1.0 + pause_s, 380) == rung


def test_a_better_rung_is_tried_where_no_limit_was_seen_for_long():
    upgrades = Upgrades(CLASSIC)
    assert choose(upgrades, 10.0, 330) == "pcm16k"
    assert choose(upgrades, 11.0, 330, may_probe=True, limit_s=CLASSIC.probe_s - 0.1) == "pcm16k"
    assert choose(upgrades, 12.0, 330, may_probe=True, limit_s=CLASSIC.probe_s) == "pcm22"
    assert (upgrades.probing, upgrades.reason.code) == (True, "probe")
