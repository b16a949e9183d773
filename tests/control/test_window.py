"""The window: what an upgrade may carry, in time, above the bank, and worth a change."""

from abr_tts.control.ladder import FULL
from abr_tts.control.policy_file import preset
from abr_tts.control.window import Window

from .looks import frames, link, seen

POLICY = preset("default")


def piece(what, kbps=2_000, rung="pcm22", probe=0, window=None):
    window = window or Window(POLICY)
    window.beneath.note(what.layers[0], what.head)
    found = window.piece(what, link(kbps), FULL[rung], probe)
    return tuple(round(pts / 48_000, 2) for pts in found) if found else None


def test_a_new_upgrade_begins_just_ahead_of_the_listener_and_ends_with_its_lead():
    begin, end = piece(seen(head=3.0, bank=20.0))
    assert 3.05 <= begin <= 3.4
    assert end == 9.0


def test_it_begins_later_the_longer_it_travels():
    quick, slow = piece(seen(head=3.0, bank=20.0)), piece(seen(head=3.0, bank=20.0, outstanding=40_000))
    assert slow[0] > quick[0] + 0.1
    assert piece(seen(head=3.0, bank=20.0), kbps=420)[0] > quick[0] + 0.1


def test_it_goes_on_where_it_stopped_while_that_is_in_time_and_skips_otherwise():
    assert piece(seen(head=3.0, bank=20.0, upgrade=4.0, rung="pcm22"))[0] == 4.0
    assert piece(seen(head=3.0, bank=20.0, upgrade=3.02, rung="pcm22"))[0] > 3.02


def test_it_never_goes_beyond_the_bank():
    assert piece(seen(head=0.0, bank=2.5))[1] == 2.5
    assert piece(seen(head=0.0, bank=0.5, ready=9.0)) is None


def test_a_rung_that_may_still_be_bettered_is_not_sent_far_ahead():
    assert piece(seen(head=3.0, bank=20.0), rung="opus48")[1] == 5.5


def test_it_fills_in_bursts():
    window = Window(POLICY)
    assert piece(seen(head=3.0, bank=20.0, upgrade=8.0, rung="pcm22"), window=window) == (8.0, 9.0)
    assert piece(seen(head=3.0, bank=20.0, upgrade=9.0, rung="pcm22"), window=window) is None
    assert piece(seen(head=3.5, bank=20.0, upgrade=9.0, rung="pcm22"), window=window) is None
    assert piece(seen(head=4.0, bank=20.0, upgrade=9.0, rung="pcm22"), window=window) == (9.0, 10.0)
    assert piece(seen(head=4.1, bank=20.0, upgrade=9.5, rung="pcm22"), window=window) == (9.5, 10.1)


def test_the_last_frames_are_upgraded_though_they_fill_no_message():
    assert piece(seen(head=3.0, bank=5.04, upgrade=5.0, rung="pcm22", ended=True)) == (5.0, 5.04)
    assert piece(seen(head=3.0, bank=5.04, upgrade=5.0, rung="pcm22")) is None


def test_an_engine_that_is_hardly_ahead_is_upgraded_frame_by_frame():
    assert piece(seen(head=4.7, bank=5.04, upgrade=5.0, rung="pcm22")) == (5.0, 5.04)


def test_a_piece_too_short_to_be_worth_two_changes_is_left_alone():
    assert piece(seen(head=3.0, bank=3.8, ended=True)) is None
    assert piece(seen(head=3.0, bank=4.4, ended=True)) is not None
    assert piece(seen(head=3.0, bank=4.4, ended=True), rung="opus32") is None


def test_where_the_bank_is_as_good_there_is_nothing_to_upgrade():
    window = Window(POLICY)
    window.beneath.note(seen(bank=4.0, bank_rung="opus12").layers[0], 0)
    window.beneath.note(seen(bank=6.0, bank_rung="opus12").layers[0], 0)
    what = seen(head=1.0, bank=9.0)
    assert piece(what, rung="opus24", window=window)[1] <= 3.5
    assert window.beneath.at(frames(5.0)).name == "opus12"
    assert window.beneath.at(frames(8.0)).name == "opus24"
    assert piece(seen(head=5.8, bank=9.0), rung="opus24", window=window) is None


def test_up_to_where_the_bank_is_as_good_nothing_worse_is_left_between():
    window = Window(POLICY)
    window.beneath.note(seen(bank=5.1).layers[0], 0)
    window.beneath.note(seen(bank=8.0, bank_rung="opus48").layers[0], 0)
    what = {"head": 3.0, "bank": 8.0, "rung": "opus48"}
    assert piece(seen(upgrade=5.0, **what), rung="opus48", window=window) == (5.0, 5.12)
    assert piece(seen(upgrade=5.1, **what), rung="opus48", window=window)[0] == 5.1


def test_a_probe_is_too_short_to_be_heard():
    window = Window(POLICY)
    begin, end = piece(seen(head=3.0, bank=20.0), probe=1, window=window)
    assert 0.1 < end - begin <= 0.18
    rest = piece(seen(head=3.0, bank=20.0, upgrade=begin + 0.1, rung="pcm22"), probe=1, window=window)
    assert rest == (round(begin + 0.1, 2), end)
    assert piece(seen(head=3.0, bank=20.0, upgrade=end, rung="pcm22"), probe=1, window=window) is None
    assert piece(seen(head=3.0, bank=20.0, upgrade=end, rung="pcm22"), probe=2, window=window) is not None
