"""The table of a stream's states, cell by cell, and what a connection remembers of streams."""

import pytest

from abr_tts.errors import (
    BadAudio,
    DuplicateStream,
    EmptyText,
    TextAfterEnd,
    TextTooLong,
    TooManyStreams,
    UnknownStream,
)
from abr_tts.wire import messages as m
from abr_tts.wire.streams import NEXT, REMEMBERED, Streams

U = "00000000-0000-4000-8000-000000000001"


def number(n):
    return f"00000000-0000-4000-8000-{n:012}"


def running(state, *, most=16):
    """Streams with one in `state`, its handle 1, some text said."""
    streams = Streams(most, 100)
    text = m.StreamStart(U, "Hello", open=state == "open")
    stream = streams.start(m.AudioStart(U, "opus", 48_000) if state == "clip" else text)
    streams.allot(U)
    if state == "cancelled":
        streams.ask(m.Cancel(1))
    elif state in ("draining", "moved"):
        streams.end(stream, moved=state == "moved")
    assert stream.state == state
    return streams, stream


SAID = {
    "text": m.Text(1, "more"),
    "text_end": m.TextEnd(1),
    "cancel": m.Cancel(1),
    "pause": m.Pause(1),
    "resume": m.Resume(1),
    "hint": m.BitRateHint(1, 0, 0, 0),
    "uplink": m.UplinkAudio(1, 0, (b"a",)),
}
QUIET = ("pause", "resume", "hint")
CELLS = {  # (state, what is said): the state after, or the error; None where it says nothing new
    ("open", "text"): "open",
    ("open", "text_end"): "complete",
    ("open", "cancel"): "cancelled",
    ("open", "uplink"): BadAudio,
    **{("open", said): "open" for said in QUIET},
    ("clip", "text"): TextAfterEnd,
    ("clip", "text_end"): "complete",
    ("clip", "cancel"): "cancelled",
    ("clip", "uplink"): "clip",
    **{("clip", said): "clip" for said in QUIET},
    ("complete", "text"): TextAfterEnd,
    ("complete", "text_end"): None,
    ("complete", "cancel"): "cancelled",
    ("complete", "uplink"): BadAudio,
    **{("complete", said): "complete" for said in QUIET},
    **{("cancelled", said): None for said in SAID},
    ("draining", "text"): TextAfterEnd,
    ("draining", "text_end"): None,
    ("draining", "cancel"): "gone",
    ("draining", "uplink"): BadAudio,
    **{("draining", said): "draining" for said in QUIET},
    ("moved", "text"): None,
    ("moved", "text_end"): None,
    ("moved", "cancel"): "gone",
    ("moved", "uplink"): BadAudio,
    **{("moved", said): "moved" for said in QUIET},
}


def test_every_cell_of_the_table_is_walked():
    assert {state for state, _ in CELLS} == set(NEXT)
    assert len(CELLS) == len(NEXT) * len(SAID)


@pytest.mark.parametrize(("state", "said"), CELLS, ids=" ".join)
def test_a_cell(state, said):
    streams, stream = running(state)
    after = CELLS[state, said]
    if isinstance(after, type):
        with pytest.raises(after):
            streams.ask(SAID[said])
        assert stream.state == state
    elif after is None:
        assert streams.ask(SAID[said]) is None
        assert stream.state == state
    else:
        assert streams.ask(SAID[said]) is stream
        assert stream.state == after


@pytest.mark.parametrize("said", SAID)
def test_a_stream_that_is_over_hears_nothing_and_only_lost_text_is_a_fault(said):
    streams, stream = running("complete")
    streams.drop(stream)
    if said == "text":
        with pytest.raises(UnknownStream):
            streams.ask(SAID[said])
    else:
        assert streams.ask(SAID[said]) is None


@pytest.mark.parametrize("said", SAID)
def test_a_stream_that_never_was_is_told_to_be_unknown(said):
    with pytest.raises(UnknownStream):
        Streams(16, 100).ask(SAID[said])


def test_text_past_the_limit_leaves_the_count_where_it_was():
    streams, stream = running("open")
    with pytest.raises(TextTooLong):
        streams.ask(m.Text(1, "a" * 96))
    assert streams.ask(m.Text(1, "a" * 95)) is stream


def test_a_refused_start_leaves_nothing_behind():
    streams = Streams(16, 10)
    for request, error in [(m.StreamStart(U, " "), EmptyText), (m.StreamStart(U, "a" * 11), TextTooLong)]:
        with pytest.raises(error):
            streams.start(request)
    assert streams.active == 0
    streams.start(m.StreamStart(U, "a" * 10))


def test_draining_streams_do_not_count_and_one_past_the_limit_is_refused():
    streams = Streams(2, 100)
    made = [streams.start(m.StreamStart(number(n), "Hi")) for n in (1, 2)]
    with pytest.raises(TooManyStreams) as caught:
        streams.start(m.StreamStart(number(3), "Hi"))
    assert caught.value.detail == {"limit": 2}
    streams.end(made[0])
    streams.start(m.StreamStart(number(3), "Hi"))


def test_handles_are_given_in_order_and_one_that_is_in_use_is_passed_over():
    streams = Streams(16, 100)
    streams.start(m.StreamStart(U, "Hi"))
    assert streams.allot(U).handle == 1
    given = []
    for n in range(2, 600):
        stream = streams.start(m.StreamStart(number(n), "Hi"))
        given.append(streams.allot(stream.stream_id).handle)
        streams.drop(stream)
    assert given == [handle for _ in range(3) for handle in range(2, 256)][: len(given)]


def test_255_streams_may_live_at_once():
    streams = Streams(255, 100)
    handles = [
        streams.allot(streams.start(m.StreamStart(number(n), "Hi")).stream_id).handle for n in range(255)
    ]
    assert sorted(handles) == list(range(1, 256))


def test_the_memory_of_used_ids_is_bounded():
    streams = Streams(16, 100)
    for n in range(REMEMBERED + 1):
        stream = streams.start(m.StreamStart(number(n), "Hi"))
        streams.allot(stream.stream_id)
        streams.drop(stream)
    streams.start(m.StreamStart(number(0), "Hi"))
    with pytest.raises(DuplicateStream):
        streams.start(m.StreamStart(number(1), "Hi"))


def test_dropping_a_stream_twice_forgets_no_other():
    streams, stream = running("complete")
    streams.drop(stream)
    again = streams.start(m.Attach(U, "t"))
    streams.drop(stream)
    assert streams.get(U) is again


def test_what_follows_a_cancel_of_speech_that_only_sounds_on_is_late_and_no_fault():
    streams, _ = running("draining")
    assert streams.ask(m.Cancel(1)).state == "gone"
    assert streams.ask(m.Cancel(1)) is None and streams.ask(m.Pause(U)) is None
    assert streams.get(1) is None


def test_a_stream_that_is_named_anew_is_no_longer_known_by_its_old_handle():
    streams, stream = running("complete")
    assert streams.bind(U, 2)
    assert streams.get(2) is stream and streams.get(1) is None and streams.was(1)
    streams.drop(stream)
    assert streams.get(1) is streams.get(2) is None
    assert streams.ask(m.Pause(1)) is None
