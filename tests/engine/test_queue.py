"""First clauses overtake, in order, and nobody waits for ever."""

from hypothesis import given
from hypothesis import strategies as st

from abr_tts.engine.queue import OVERTAKING, Queue


def taken(queue):
    found = []
    while (request := queue.take()) is not None:
        found.append(request)
    return found


def filled(names):
    """A queue of one-letter requests: first clauses are in upper case."""
    queue = Queue()
    for name in names:
        queue.add(name, name.isupper())
    return queue


def test_first_clauses_overtake_and_each_kind_keeps_its_order():
    assert taken(filled("abAcB")) == ["A", "B", "a", "b", "c"]


def test_after_a_few_first_clauses_in_a_row_the_one_that_waits_longest_goes():
    assert "".join(taken(filled("abcABCDEFG"))) == "ABCaDEFbGc"


def test_first_clauses_that_overtook_nobody_do_not_count():
    queue = filled("ABCDE")
    assert [queue.take() for _ in range(4)] == list("ABCD")
    queue.add("a", False)
    queue.add("F", True)
    assert taken(queue) == ["E", "F", "a"]


def test_who_gives_up_waits_no_more_and_leaving_twice_is_harmless():
    queue = filled("aAb")
    for _ in range(2):
        queue.remove("A")
    assert len(queue) == 2 and taken(queue) == ["a", "b"]


def test_everybody_can_be_sent_home_and_the_queue_goes_on():
    queue = filled("aAbB")
    assert queue.clear() == ["A", "B", "a", "b"] and len(queue) == 0 and queue.take() is None
    queue.add("c", False)
    assert taken(queue) == ["c"]


@given(st.lists(st.sampled_from(["first", "later", "take", "take"]), max_size=80))
def test_no_request_is_overtaken_by_more_than_a_few_for_each_that_stood_before_it(acts):
    queue, arrived, went = Queue(), [], []
    for number, act in enumerate(acts):
        if act == "take":
            if (request := queue.take()) is not None:
                went.append(request)
        else:
            arrived.append((act, number))
            queue.add((act, number), act == "first")
    went += taken(queue)
    assert sorted(went) == sorted(arrived)
    for kind in ("first", "later"):
        assert [r for r in went if r[0] == kind] == [r for r in arrived if r[0] == kind]
    for place, request in enumerate(went):
        if request[0] == "later":
            overtakers = [r for r in went[:place] if r[0] == "first" and r[1] > request[1]]
            before = [r for r in arrived if r[0] == "later" and r[1] <= request[1]]
            assert len(overtakers) <= OVERTAKING * len(before)
