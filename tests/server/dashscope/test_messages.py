"""What a run-task may say: each bound, what is refused in words, and what has no effect."""

import json

import pytest

from abr_tts.errors import AbrError, Internal
from abr_tts.server.dashscope import messages as m
from abr_tts.server.dashscope.asked import Asked
from abr_tts.server.dashscope.codec import Unreadable, read, write
from abr_tts.server.dashscope.events import Begin
from abr_tts.server.dashscope.faults import CODES, code_of

from .client import TASK, Driven, go_on, run


def asked(**parameters) -> Asked:
    """What a run-task with these parameters is taken for."""
    driven = Driven(voices={"longxiaochun": "tone"}).send(run(**parameters))
    assert driven.told == [], driven.told
    assert isinstance(driven.events[0], Begin)
    return driven.events[0].asked


def refusal(**parameters) -> str:
    """The words with which one is refused."""
    code, words = Driven().send(run(**parameters)).failure
    assert code == "InvalidParameter"
    return words


@pytest.mark.parametrize(
    ("name", "within", "beyond"),
    [
        ("volume", (0, 50, 100), (-1, 101, 50.5, "50", True)),
        ("rate", (0.5, 1, 2, 2.0), (0.49, 2.01, "1")),
        ("sample_rate", (0, 8000, 16000, 22050, 24000, 44100, 48000), (7999, 11025, 96000, "16000")),
        ("format", ("Default", "pcm", "wav", "mp3", "opus"), ("aac", "PCM", 1)),
        ("bit_rate", (0, 6, 32, 510), (-1, 511, "32")),
        ("seed", (0, 65535), (-1, 65536)),
        ("instruction", ("", "a" * 500), ("a" * 501, 5)),
        ("language_hints", ([], ["zh"], ["zh", "en"]), ("zh", [""], ["a" * 36])),
        ("voice", ("tone", "v" * 200), ("", "v" * 201, 7)),
        ("enable_ssml", (False, True), ("yes", 1)),
    ],
)
def test_a_parameter_is_taken_within_its_bounds_and_refused_beyond(name, within, beyond):
    for value in within:
        asked(**{name: value})
    for value in beyond:
        assert name in refusal(**{name: value}), value


def test_a_refusal_names_the_place_and_what_may_stand_there():
    assert refusal(volume=101) == "Expected `int` <= 100 - at `$.payload.parameters.volume`"
    assert refusal(sample_rate=11025).endswith("one of 0, 8000, 16000, 22050, 24000, 44100, 48000")


def test_nothing_but_a_voice_is_needed_and_it_is_mp3_at_22050():
    bare = asked(
        **dict.fromkeys(("volume", "text_type", "sample_rate", "rate", "format", "pitch", "seed", "type"))
    )
    assert bare == Asked(TASK, "tone", None, 1.0, None, "mp3", 22050, 32, 1.0, False, "")


def test_the_sdk_s_default_format_is_mp3_at_22050():
    found = asked(format="Default", sample_rate=0)
    assert (found.format, found.sample_rate) == ("mp3", 22050)


def test_each_parameter_means_what_it_says():
    found = asked(format="opus", sample_rate=48000, bit_rate=16, volume=75, rate=1.5, instruction="Whisper.",
                  language_hints=["zh", "en"], voice="longxiaochun", text="Hello.")  # fmt: skip
    assert found == Asked(TASK, "tone", "zh", 1.5, "Whisper.", "opus", 48000, 16, 1.5, False, "Hello.")


@pytest.mark.parametrize(("volume", "gain"), [(0, 0.0), (50, 1.0), (100, 2.0)])
def test_volume_50_is_as_it_is(volume, gain):
    assert asked(volume=volume).gain == gain


@pytest.mark.parametrize(
    "parameters",
    [
        {"pitch": 1.01},
        {"text_type": "SSML"},
        {"word_timestamp_enabled": True},
        {"phoneme_timestamp_enabled": True},
        {"enable_markdown_filter": True},
        {"hot_fix": {"replace": [{"a": "b"}]}},
        {"hot_fix": {"pronunciation": [{"a": "b"}]}},
    ],
)
def test_what_no_engine_can_do_is_refused_in_words(parameters):
    driven = Driven().send(run(**parameters))
    assert driven.names == ["task-failed"] and driven.events[0].error.code == "unsupported"
    (name,) = parameters
    assert name.removeprefix("phoneme_").removeprefix("word_") in driven.failure[1]


def test_what_changes_nothing_that_is_heard_is_let_pass():
    asked(pitch=1, hot_fix={}, enable_markdown_filter=False, seed=7, type=3, something_new={"a": 1})


@pytest.mark.parametrize(
    "text", ["<speak>Hi</speak>", "  \n<SPEAK rate='2'>Hi</speak>", "<?xml version='1.0'?>"]
)
def test_text_that_is_ssml_is_refused_where_it_would_be_read_as_such(text):
    assert Driven().running(enable_ssml=True).send(go_on(text)).failure == (
        "InvalidParameter",
        "enable_ssml: this server reads no SSML; send plain text without <speak>",
    )
    assert Driven().running(enable_ssml=False).send(go_on(text)).names == ["task-started"]


def test_ssml_is_seen_though_it_comes_in_pieces():
    driven = Driven().running(enable_ssml=True).send(go_on("<spe"), go_on("ak>"))
    assert driven.names[-1] == "task-failed"


@pytest.mark.parametrize("text", ["Hello.", "1 < 2 <speaker>", "a <speak>"])
def test_plain_text_passes_although_the_sdk_says_that_it_may_be_ssml(text):
    assert Driven().running(enable_ssml=True).send(go_on(text)).names == ["task-started"]


# What is no message


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01", "", "{", "[]", "null", "1", '"x"', "[" * 100_000, "1" * 5_000, '{"header":1}',
        '{"header":{}}', '{"header":{"action":"stop-task","task_id":"x"}}',
        '{"header":{"action":["run-task"]}}', '{"header":{"action":"run-task","task_id":"x"}}',
        '{"header":{"action":"continue-task","task_id":""}}',
        '{"header":{"action":"finish-task","task_id":"a b"}}',
        '{"header":{"action":"finish-task","task_id":5}}',
        '{"header":{"action":"finish-task","task_id":"x"},"payload":{"input":{"directive":"stop"}}}',
        run().replace('"rate": 1.0', '"rate": NaN'), run().replace('"rate": 1.0', '"rate": 1e999'),
        run().replace("duplex", "out"), run().replace('"tts"', '"asr"'),
        run().replace('"cosyvoice-v3"', '""'),
    ],
)  # fmt: skip
def test_what_is_no_message_fails_and_ends_the_connection(data):
    driven = Driven().send(data)
    assert driven.failure[0] == "InvalidParameter" and driven.machine.close_code is not None


def test_an_unreadable_message_names_its_task_as_far_as_it_says():
    with pytest.raises(Unreadable) as caught:
        read('{"header":{"action":"run-task","task_id":"' + "x" * 500 + '"}}')
    assert caught.value.task_id == "x" * 128


def test_half_a_surrogate_pair_passes_and_is_told_back():
    driven = Driven().running().send(go_on("a\ud83d"), go_on("\ude00b"))
    driven.machine.sentence(0, 3)
    driven.take()
    assert driven.told[-1]["payload"]["output"]["original_text"] == "a\U0001f600b"


def test_what_cannot_be_written_in_utf_8_can_be_told():
    told = write(m.TaskFailed(m.FailedHeader("x", "InvalidParameter", "no voice \ud800")))
    assert json.loads(told)["header"]["error_message"] == "no voice \ud800"


# Errors


def subclasses(kind):
    for one in kind.__subclasses__():
        yield one
        yield from subclasses(one)


@pytest.mark.parametrize("kind", sorted(set(subclasses(AbrError)), key=lambda kind: kind.__name__))
def test_every_error_has_a_code_that_clients_know(kind):
    known = {code for _, code in CODES} | {"InternalError", "InvalidParameter"}
    assert code_of(kind("words")) in known


def test_a_fault_of_our_own_is_never_called_the_client_s():
    assert code_of(Internal("x")) == "InternalError"
