"""The account of a listener: what the wave file holds, what changed, what was lost."""

import numpy as np
import pytest

from abr_tts.demo.account import FRAME_S, Account

RATE, FRAME = 22_050, 441


def listened(*frames, name="adaptive") -> Account:
    """Frames as (at, rung) or (at, rung, stalls, stall_s), each a frame of its own number."""
    account = Account(name, name.title(), RATE)
    for number, (at, rung, *rest) in enumerate(frames, 1):
        stalls, stall_s = rest or (account.stalls, account.stall_s)
        account.frame(at, np.full(FRAME, number, np.int16), rung, stalls, stall_s)
    return account


def test_speech_without_a_stall_is_the_frames_one_after_the_other():
    account = listened((0.10, "pcm22"), (0.12, "pcm22"), (0.14, "pcm22"))
    assert account.waveform().tolist() == [1] * FRAME + [2] * FRAME + [3] * FRAME
    assert [tuple(spell) for spell in account.spells] == [(0.10, pytest.approx(0.16), "pcm22")]
    assert account.waits == []


def test_a_stall_is_silence_of_its_length_where_the_listener_waited():
    account = listened((0.10, "pcm22"), (0.52, "pcm22", 1, 0.4), (0.54, "pcm22", 1, 0.4))
    sound = account.waveform()
    assert len(sound) == 3 * FRAME + round(0.4 * RATE)
    assert sound[:FRAME].tolist() == [1] * FRAME
    assert not sound[FRAME : -2 * FRAME].any()
    assert [tuple(wait) for wait in account.waits] == [(pytest.approx(0.12), 0.52, "")]
    assert account.rendered == 3 * FRAME


def test_a_change_is_told_with_its_time_its_frame_and_both_rungs():
    account = listened((0.1, "opus24"), (0.12, "opus24"), (0.14, "pcm22"), (0.16, "pcm16k"))
    assert [tuple(change) for change in account.changes] == [
        (0.14, 2 * 960, "opus24", "pcm22"),
        (0.16, 3 * 960, "pcm22", "pcm16k"),
    ]
    assert account.seconds_at == {"opus24": 2 * FRAME_S, "pcm22": FRAME_S, "pcm16k": FRAME_S}


def test_a_stall_between_two_rungs_does_not_hide_the_change():
    account = listened((0.1, "pcm22"), (0.52, "opus24", 1, 0.4))
    assert [(change.source, change.target) for change in account.changes] == [("pcm22", "opus24")]
    assert [spell.rung for spell in account.spells] == ["pcm22", "", "opus24"]


def test_lost_samples_are_what_the_true_length_has_beyond_what_was_rendered():
    account = listened((0.1, "pcm22"), (0.12, "pcm22"))
    account.complete, account.length = True, 2 * FRAME
    assert account.lost_samples == 0
    account.length = 3 * FRAME
    assert account.lost_samples == FRAME
    account.length = FRAME
    assert account.lost_samples == -FRAME


def test_what_was_not_heard_any_more_is_not_lost():
    account = listened((0.1, "pcm22"))
    account.length = 100 * FRAME
    assert account.lost_samples == 0
    assert account.heard_s == pytest.approx(FRAME_S)


def test_a_listener_who_heard_nothing_has_an_account_too():
    account = listened()
    assert (account.end, account.heard_s, account.rung, account.lost_samples) == (0.0, 0.0, "", 0)
    assert len(account.waveform()) == 0
