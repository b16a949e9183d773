"""The text of an utterance: what is cut, when, and what happens when it stands still. Time is an argument."""

import pytest

from abr_tts.engine.text import Clauser
from abr_tts.server.speech.reading import CUT_CHARS, Reading

IDLE_S = 0.5


def reading(idle_s=IDLE_S):
    return Reading(Clauser(200, 80), idle_s)


def taken(one):
    """All clauses that are ready."""
    found = []
    while one.cut() and one.ready:
        found.append(one.take().text)
    return found


def test_a_text_that_stands_still_is_looked_at_once_after_its_time():
    one = reading()
    one.add("Let me look that up.", now=10.0)
    assert taken(one) == []
    assert one.rest_at() == 10.0 + IDLE_S
    one.rest(unheard_s=9.0, now=10.4)
    assert not one.ready, "not yet"
    one.rest(unheard_s=9.0, now=10.5)
    assert taken(one) == ["Let me look that up."]


def test_each_piece_of_text_puts_it_off():
    one = reading()
    for n in range(40):  # a model of 20 tokens a second
        one.add("word ", now=n / 20)
        taken(one)
        one.rest(unheard_s=0.0, now=n / 20)
        assert one.rest_at() == n / 20 + IDLE_S
    assert not one.ready


def test_a_phrase_waits_until_the_listener_has_nearly_heard_what_there_is():
    one = reading()
    one.add("Let me check that for you", now=0.0)
    taken(one)
    one.rest(unheard_s=3.0, now=0.5)
    assert not one.ready
    assert one.rest_at() == 3.0, "when half a second of the three is left"
    one.rest(unheard_s=2.0, now=3.0)
    assert one.rest_at() == 4.5, "the listener paused"
    one.rest(unheard_s=IDLE_S, now=4.5)
    assert taken(one) == ["Let me check that for"]


def test_what_must_not_be_cut_is_not_looked_at_again_before_more_comes():
    one = reading()
    one.add("3.", now=0.0)
    taken(one)
    one.rest(unheard_s=0.0, now=0.5)
    assert not one.ready and one.rest_at() is None
    one.add("14 it is.", now=7.0)
    assert not taken(one)
    one.rest(unheard_s=0.0, now=one.rest_at())
    assert taken(one) == ["3.14 it is."]


def test_the_end_of_the_text_waits_for_nothing():
    one = reading()
    one.add("It is 3.", now=0.0)
    one.end()
    assert one.rest_at() is None
    assert taken(one) == ["It is 3."]
    assert one.over


def test_without_a_time_a_text_that_stands_still_is_waited_for():
    one = reading(idle_s=0)
    one.add("Done.", now=0.0)
    assert taken(one) == [] and one.rest_at() is None


def test_empty_text_is_no_news():
    one = reading()
    one.add("", now=0.0)
    assert one.rest_at() is None
    one.add("Done.", now=1.0)
    one.add("", now=1.4)
    assert taken(one) == []
    assert one.rest_at() == 1.0 + IDLE_S


def test_a_book_is_cut_as_it_is_spoken():
    one = reading()
    one.add("word " * 40_000, now=0.0)
    one.end()
    assert one.cut() and one.ready and not one.over
    silent = reading()
    silent.add("… " * CUT_CHARS * 3, now=0.0)
    silent.end()
    turns = 0
    while not silent.cut():
        turns += 1
    assert turns == 6 and silent.over, "twice the characters of three turns, and nothing to say"


def test_what_is_dropped_is_gone():
    one = reading()
    one.add("One. Two. Three.", now=0.0)
    assert one.cut() and one.ready
    one.drop()
    assert not one.ready and one.rest_at() is None


@pytest.mark.parametrize("cut", [False, True])
def test_characters_are_counted_whole_and_half_of_one_is_asked_again(cut):
    one = reading()
    one.add("A \U0001f600 \ud83d", now=0.0)
    one.add("\ude00!", now=0.0)
    assert one.settle() == len("A _ _!")
    one.add(" Tail\ud83d", now=0.0)
    if cut:
        while not one.cut():
            pass
        one.take()
        one.cut()  # the half is with the clauser now
    assert one.settle() == len("A _ _! Tail")
    one.add("\U0001f600 end.", now=0.0)
    one.end()
    while not one.over:
        if one.cut() and one.ready:
            last = one.take()
    assert (one.settle(), last.end) == (len("A _ _! Tail_ end."),) * 2
    assert "\ud83d" not in last.text and "\U0001f600" in last.text


def test_a_flush_takes_what_came_before_it_and_not_what_comes_after():
    one = reading(idle_s=0)
    one.add("One", now=0.0)
    one.flush()
    one.add(" two", now=0.0)
    assert taken(one) == ["One"]
    one.end()
    assert taken(one) == ["two"] and one.over


def test_a_flush_of_nothing_gives_nothing():
    one = reading(idle_s=0)
    one.flush()
    one.add(" ", now=0.0)
    one.flush()
    assert taken(one) == [] and not one.over


def test_half_a_surrogate_pair_before_a_flush_is_forgotten_by_settle_wherever_it_lies():
    for cut in (False, True):
        one = reading(idle_s=0)
        one.add("a \ud840", now=0.0)
        one.flush()
        if cut:
            assert taken(one) == ["a"]
        assert one.settle() == 2
        one.add("\U00020000", now=0.0)
        one.end()
        assert taken(one) == (["\U00020000"] if cut else ["a", "\U00020000"])
