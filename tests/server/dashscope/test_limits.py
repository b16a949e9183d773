"""Every limit of the DashScope door lets pass what it allows, and refuses one more."""

import json

import pytest

from abr_tts.server.config import load
from abr_tts.server.dashscope.characters import count
from abr_tts.server.dashscope.events import Limits, limits_of
from abr_tts.server.dashscope.machine import CLOSED, RUNNING
from abr_tts.server.load.hits import limit_of

from .client import Driven, finish, go_on, run


def refused_for(driven: Driven) -> str | None:
    """The label under which the refusal is counted."""
    assert driven.machine.state == CLOSED
    return limit_of(driven.events[-1].error)


@pytest.mark.parametrize("text", ["a" * 10, "好" * 5, "好bcdefgh\U00020000"[:8] + "i"])
def test_a_message_may_have_as_many_characters_as_are_allowed_and_not_one_more(text):
    most = count(text)
    assert Driven(continue_chars=most).running().send(go_on(text)).machine.state == RUNNING
    driven = Driven(continue_chars=most).running().send(go_on(text + "."))
    assert driven.failure == (
        "InvalidParameter",
        f"{most + 1} characters in one message; {most} are allowed",
    )
    assert refused_for(driven) == "continue_chars"


def test_a_task_may_have_as_many_characters_as_are_allowed_and_not_one_more():
    driven = Driven(task_chars=10).running().send(go_on("abcd"), go_on("好好好"))
    assert driven.machine.state == RUNNING
    driven.send(go_on("e"))
    assert driven.failure == ("InvalidParameter", "11 characters in one task; 10 are allowed")
    assert refused_for(driven) == "task_chars"


def test_the_text_of_a_run_task_counts_as_well_and_each_task_anew():
    driven = Driven(task_chars=4).running(text="abcd").send(finish(directive="cancel"))
    driven.send(run(text="efgh"))
    assert driven.machine.state == RUNNING
    assert refused_for(driven.send(go_on("i"))) == "task_chars"


def test_the_defaults_are_those_of_the_hosted_service():
    assert limits_of(load()) == Limits(
        continue_chars=20_000, task_chars=200_000, text_wait_s=23.0, idle_s=60.0, message_bytes=1_048_576,
        messages_per_s=500.0, message_burst=1000,
    )  # fmt: skip
    whole = "a" * 20_000
    driven = Driven().running().send(*[go_on(whole)] * 10)
    assert driven.machine.state == RUNNING
    assert refused_for(driven.send(go_on("a"))) == "task_chars"
    assert refused_for(Driven().running().send(go_on(whole + "a"))) == "continue_chars"


def test_what_is_set_for_all_doors_binds_this_one():
    settings = load(overrides={"limits.text_chars": 5_000, "dashscope.continue_chars": 10})
    assert (limits_of(settings).task_chars, limits_of(settings).continue_chars) == (5_000, 10)


def test_a_message_may_be_as_long_as_is_allowed_and_not_one_byte_longer():
    message = go_on("好" * 100)
    size = len(message.encode())
    assert Driven(message_bytes=max(size, len(run()))).running().send(message).machine.state == RUNNING
    raw = json.dumps(json.loads(message), ensure_ascii=False)  # three bytes a character
    driven = Driven(message_bytes=len(raw.encode())).running().send(raw)
    assert driven.machine.state == RUNNING
    driven.send(raw + " ")
    assert driven.failure[0] == "InvalidParameter" and driven.machine.close_code == 1009
    assert refused_for(driven) == "message_bytes"


def test_a_client_may_send_so_many_messages_at_once_and_so_many_a_second():
    driven = Driven(messages_per_s=2.0, message_burst=5).running().send(*[go_on("a")] * 4)
    assert driven.machine.state == RUNNING
    driven.send(go_on("a"), at=0.5)
    assert driven.machine.state == RUNNING
    driven.send(go_on("a"), at=0.9)
    assert driven.failure == ("Throttling.RateQuota", "more than 2 messages a second")
    assert refused_for(driven) == "messages_per_s"
