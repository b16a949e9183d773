"""The protocol of the DashScope door: what follows what, and how each thing ends."""

import pytest

from abr_tts.errors import EngineTimeout, UnknownVoice
from abr_tts.server.dashscope.events import Begin, EndText, Failed, Flush, Say, Stop
from abr_tts.server.dashscope.machine import (
    CANCEL,
    CLOSED,
    FINISH,
    FINISHING,
    IDLE,
    MORE,
    NEXT,
    RUN,
    RUNNING,
)

from .client import OTHER, TASK, Driven, finish, go_on, run

SAID = {RUN: run(OTHER), MORE: go_on("More."), FINISH: finish(), CANCEL: finish(directive="cancel")}


def reach(state: str) -> Driven:
    """A machine that came to this state with the task TASK."""
    driven = Driven().running()
    if state == FINISHING:
        driven.send(finish())
    elif state == IDLE:
        driven.send(finish(directive="cancel"))
    elif state == CLOSED:
        driven.send("no JSON")
    assert driven.machine.state == state
    return driven


@pytest.mark.parametrize("signal", SAID)
@pytest.mark.parametrize("state", NEXT)
def test_every_message_in_every_state_leads_where_the_table_says(state, signal):
    wanted, _ = NEXT[state][signal]
    assert reach(state).send(SAID[signal]).machine.state == wanted


def test_a_task_from_its_start_to_its_end():
    driven = Driven().send(run(text="One. "))
    assert [type(event) for event in driven.events] == [Begin, Say]
    assert driven.told == [], "nothing is told before it is known whether the task is taken"
    driven.machine.started()
    driven.send(go_on("Two."), finish())
    assert driven.events[2:] == [Say("Two."), EndText()]
    driven.machine.sentence(0, 4)
    driven.machine.audio(b"one")
    driven.machine.sentence(5, 9)
    driven.machine.audio(b"two")
    driven.machine.finish(1.0)
    driven.take()
    assert driven.names == ["task-started", *["result-generated"] * 6, "task-finished"]
    parts = [(told["payload"]["output"]["type"], told["payload"]["output"]["sentence"]["index"])
             for told in driven.told[1:-1]]  # fmt: skip
    assert parts == [
        ("sentence-begin", 0), ("sentence-synthesis", 0), ("sentence-end", 0),
        ("sentence-begin", 1), ("sentence-synthesis", 1), ("sentence-end", 1),
    ]  # fmt: skip
    assert [told["payload"]["output"].get("original_text") for told in driven.told[1:-1]] == [
        "One.", None, "One.", "Two.", None, "Two.",
    ]  # fmt: skip
    assert {told["header"]["task_id"] for told in driven.told} == {TASK}
    assert driven.told[-1]["payload"]["usage"] == {"characters": 9}


def test_audio_goes_with_its_event_and_only_with_it():
    driven = Driven().running()
    driven.machine.sentence(0, 0)
    driven.machine.audio(b"sound")
    driven.take()
    kinds = [told["payload"]["output"]["type"] for told in driven.told[1:]]
    assert list(zip(kinds, driven.audio[1:], strict=True)) == [
        ("sentence-begin", None),
        ("sentence-synthesis", b"sound"),
    ]


def test_usage_counts_what_was_spoken_with_han_characters_twice():
    driven = Driven().running().send(go_on("你好。Hi"), finish())
    driven.machine.sentence(0, 3)
    driven.machine.sentence(3, 5)
    driven.machine.finish(1.0)
    driven.take()
    usage = [told["payload"]["usage"]["characters"] for told in driven.told if "usage" in told["payload"]]
    assert usage == [5, 7, 7]


def test_one_connection_speaks_one_task_after_another():
    driven = Driven().running().send(go_on("One."), finish())
    driven.machine.finish(1.0)
    driven.send(run(OTHER))
    driven.machine.started()
    driven.take().send(go_on("Two.", OTHER), finish(OTHER))
    driven.machine.finish(2.0)
    driven.take()
    assert driven.names == ["task-started", "task-finished"] * 2
    assert driven.told[-1]["header"]["task_id"] == OTHER
    assert driven.told[-1]["payload"]["usage"] == {"characters": 4}


def test_the_same_id_may_be_used_again():
    driven = Driven().running().send(finish(directive="cancel"))
    driven.running()
    assert driven.names == ["task-started", "task-finished", "task-started"]


def test_a_cancel_stops_the_engine_before_it_is_answered():
    driven = Driven().running().send(go_on("A long story."))
    driven.events.clear()
    driven.send(finish(directive="cancel"))
    assert driven.events == [Stop("cancelled")]
    assert driven.names[-1] == "task-finished"
    assert driven.machine.close_code is None


def test_a_cancel_is_still_good_after_the_end_of_the_text():
    driven = Driven().running().send(go_on("A long story."), finish(), finish(directive="cancel"))
    assert driven.events[-1] == Stop("cancelled")
    assert driven.names == ["task-started", "task-finished"]


def test_a_new_task_ends_the_one_that_runs_without_a_word():
    driven = Driven().running().send(go_on("A long story."))
    driven.events.clear()
    driven.send(run(OTHER))
    assert [type(event) for event in driven.events] == [Stop, Begin]
    assert driven.events[0].reason == "aborted"
    driven.machine.started()
    driven.take()
    assert driven.names == ["task-started", "task-started"]
    assert driven.told[-1]["header"]["task_id"] == OTHER


def test_what_still_comes_for_an_aborted_task_is_passed_over():
    driven = Driven().running().send(run(OTHER))
    driven.machine.started()
    driven.take().events.clear()
    driven.send(go_on("Late.", TASK), finish(TASK), finish(TASK, directive="cancel"))
    assert driven.events == [] and driven.machine.state == RUNNING


def test_what_crosses_the_end_of_a_task_is_passed_over():
    driven = Driven().running().send(finish(directive="cancel"))
    told = len(driven.told)
    driven.send(go_on("Late."), finish(), finish(directive="cancel"))
    assert len(driven.told) == told and driven.machine.state == IDLE


@pytest.mark.parametrize("message", [go_on("x", OTHER), finish(OTHER), finish(OTHER, directive="cancel")])
def test_a_message_for_a_task_that_never_was_fails(message):
    driven = Driven().running().send(message)
    assert driven.failure == ("InvalidParameter", "no task of this id runs on this connection")
    assert driven.told[-1]["header"]["task_id"] == OTHER
    assert Stop("wrong_state") in driven.events and driven.machine.close_code == 1008


def test_text_after_the_end_of_the_text_fails():
    driven = Driven().running().send(go_on("One."), finish(), go_on("Two."))
    assert driven.failure == ("InvalidParameter", "text after the finish-task of its task")


def test_a_flush_is_handed_on_in_its_place():
    driven = Driven().running().send(go_on("One"), go_on(flush=True), go_on("two", flush=True))
    assert driven.events[1:] == [Say("One"), Flush(), Say("two"), Flush()]


def test_a_task_that_is_refused_fails_and_the_connection_ends():
    driven = Driven().send(run(voice="nobody"))
    driven.machine.fail(UnknownVoice("there is no voice nobody"))
    driven.take()
    assert driven.names == ["task-failed"]
    assert driven.failure == ("InvalidParameter", "there is no voice nobody")
    assert driven.machine.close_code == 1000
    assert driven.send(go_on("x")).names == ["task-failed"], "nothing is answered any more"


def test_a_fault_of_the_engine_has_a_code_of_its_own_and_is_counted():
    driven = Driven().running()
    error = EngineTimeout("the engine was silent")
    driven.machine.fail(error)
    driven.take()
    assert driven.failure == ("InternalError.Timeout", "the engine was silent")
    assert driven.events[-2:] == [Stop("engine_timeout"), Failed(error)]


# Time


def test_a_task_without_text_fails_when_its_time_is_over_and_not_before():
    driven = Driven(now=100.0, text_wait_s=23.0).running()
    assert driven.machine.get_timer() == 123.0
    driven.machine.handle_timer(122.999)
    assert driven.machine.state == RUNNING
    driven.due()
    assert driven.failure == ("CLIENT_ERROR", "request timeout after 23 seconds")
    assert driven.events[-1].error.detail["name"] == "text_wait_s"


@pytest.mark.parametrize("message", [go_on("More."), go_on(flush=True), go_on("")])
def test_each_continue_gives_a_task_as_much_time_again(message):
    driven = Driven(text_wait_s=23.0).running().send(message, at=20.0)
    assert driven.machine.get_timer() == 43.0


def test_a_task_whose_text_has_ended_waits_for_nothing():
    assert Driven().running().send(finish()).machine.get_timer() is None


def test_a_connection_without_a_task_is_closed_when_its_time_is_over_and_not_before():
    driven = Driven(now=5.0, idle_s=60.0)
    driven.machine.handle_timer(64.999)
    assert driven.machine.state == IDLE
    driven.due()
    assert (driven.now, driven.machine.state, driven.told) == (65.0, CLOSED, [])
    assert driven.events[-1].error.detail["name"] == "idle_s"


def test_the_time_without_a_task_begins_anew_with_the_end_of_each():
    driven = Driven(idle_s=60.0).running().send(go_on("One."), finish())
    driven.machine.finish(30.0)
    assert driven.machine.get_timer() == 90.0
    driven.send(run(OTHER), at=80.0)
    assert driven.machine.get_timer() == 80.0 + 23.0
    driven.send(finish(OTHER, directive="cancel"), at=81.0)
    assert driven.machine.get_timer() == 141.0


# The server stops


def test_a_server_that_drains_closes_idle_connections_at_once():
    driven = Driven()
    driven.machine.go_away()
    assert (driven.machine.close_code, driven.take().told) == (1012, [])


@pytest.mark.parametrize("how", ["end", "cancel"])
def test_a_server_that_drains_lets_a_task_end(how):
    driven = Driven().running()
    driven.machine.go_away()
    assert driven.machine.close_code is None
    if how == "end":
        driven.send(go_on("One."), finish())
        driven.machine.finish(1.0)
        driven.take()
    else:
        driven.send(finish(directive="cancel"))
    assert driven.names[-1] == "task-finished" and driven.machine.close_code == 1012


def test_a_server_that_stops_tells_the_task_that_it_has_failed():
    driven = Driven().running()
    driven.machine.shut()
    driven.take()
    assert driven.failure[0] == "ModelUnavailable" and driven.machine.close_code == 1012
