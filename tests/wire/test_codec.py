"""Laws of the codec over generated records and bytes; single cases are in protocol/vectors/wire.json."""

import dataclasses

import msgpack
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from abr_tts.errors import AbrError, BadField, BadMessage, MessageTooBig, UnknownType
from abr_tts.wire import messages as m
from abr_tts.wire.codec import audio_size, decode, encode, stream_of
from abr_tts.wire.limits import Limits

from .records import CLIENT, SERVER, audio

U = "6f1c2b1e-9a4d-4c3b-8e57-0d2f3a4b5c6d"
sided = st.one_of(
    *[records.map(lambda record: ("client", record)) for records in CLIENT],
    *[records.map(lambda record: ("server", record)) for records in SERVER],
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=8)
    | st.binary(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=12,
)


@settings(max_examples=250, deadline=None)
@given(sided)
def test_every_record_comes_back_as_it_was(said):
    side, record = said
    assert decode(encode(record), side) == record


@settings(deadline=None)
@given(sided)
def test_equal_records_have_equal_bytes_whatever_the_order_of_their_maps(said):
    side, record = said
    if isinstance(record, m.Error):
        turned = dataclasses.replace(record, detail=dict(reversed(record.detail.items())))
        assert encode(turned) == encode(record)
    assert encode(decode(encode(record), side)) == encode(record)


@settings(max_examples=150, deadline=None)
@given(sided, st.data())
def test_changed_bytes_are_a_record_or_a_typed_error(said, data):
    side, record = said
    changed = bytearray(encode(record))
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(changed)))
    for mutant in (bytes(changed), bytes(changed[:cut]), bytes(changed[cut:])):
        try:
            assert dataclasses.is_dataclass(decode(mutant, side))
        except AbrError as error:
            assert type(error) in (BadField, BadMessage, UnknownType)
            assert stream_of(mutant) is None or isinstance(stream_of(mutant), int | str)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400), st.sampled_from(["client", "server"]))
def test_any_bytes_are_a_record_or_a_typed_error(data, side):
    try:
        decode(data, side)
    except AbrError as error:
        assert type(error) in (BadField, BadMessage, UnknownType)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([1, 2, 3]), st.lists(values, max_size=16), st.sampled_from(["client", "server"]))
def test_a_compact_message_of_any_values_is_a_record_or_a_typed_error(kind, rest, side):
    try:
        decode(msgpack.packb([kind, *rest]), side)
    except AbrError as error:
        assert type(error) in (BadField, BadMessage, UnknownType)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.floats() | st.integers(-(2**63), 2**64 - 1), min_size=3, max_size=3), st.data())
def test_a_hint_of_any_numbers_is_in_its_bounds_and_could_be_sent(counts, data):
    numbers = st.lists(st.floats() | st.integers(-(2**63), 2**64 - 1), min_size=6, max_size=6)
    pairs = st.lists(st.lists(st.floats() | st.integers(-(2**63), 2**64 - 1), min_size=2, max_size=2))
    raw = [2, 1, *counts, data.draw(pairs), *data.draw(numbers), True, False]
    hint = decode(msgpack.packb(raw), "client")
    clean = dataclasses.replace(hint, clamped=0)
    assert decode(encode(clean), "client") == clean


@settings(deadline=None)
@given(audio)
@example(m.Audio(255, 65_535, 4_294_967_040, (b"a" * 255,) * 11))
@example(m.Audio(255, 65_535, 4_294_967_040, (b"a" * 16_384,) * 11))
def test_the_head_of_audio_is_at_most_12_bytes_and_3_beside_each_packet(message):
    beside = len(encode(message)) - sum(map(len, message.packets))
    assert beside <= 12 + 3 * len(message.packets)
    assert audio_size(message) == len(encode(message))


@pytest.mark.parametrize(
    "record",
    [
        m.Text(0, "Hi"),
        m.Text("no uuid", "Hi"),
        m.Ping(2**53),
        m.Audio(1, 0, 1, (b"a",)),
        m.Audio(1, 0, 0, ()),
        m.Audio(1, 0, 0, (b"a",) * 12),
        m.Audio(1, 0, 0, (bytearray(b"a"),)),
        m.UplinkAudio(1, -960, (b"a",)),
        m.BitRateHint(1, -1, 0, 0),
        m.BitRateHint(1, 0, 0, 0, rtt_ms=float("nan")),
        m.BitRateHint(1, 0, 0, 0, loss=7.0),
        m.StreamStart(U, "Hi", voice="\ud83d"),
        m.Error("busy", "", "galaxy"),
        m.Error("busy", "", "stream", detail={"bytes": b""}),
        m.Welcome(1, "s", limits={"": 1}),
    ],
    ids=repr,
)
def test_a_record_that_the_peer_would_refuse_is_not_encoded(record):
    with pytest.raises(BadField):
        encode(record)


def test_a_message_at_the_limit_is_read_and_one_byte_more_is_not_even_looked_at():
    frame = len(encode(m.Text(1, "a" * 70_000))) - 70_000
    whole = encode(m.Text(1, "a" * (2**20 - frame)))
    assert len(whole) == 2**20
    assert decode(whole, "client") == m.Text(1, "a" * (2**20 - frame))
    with pytest.raises(MessageTooBig) as caught:
        decode(b"\xc1" + whole, "client")
    assert caught.value.detail == {"limit": 2**20}


def test_limits_of_the_caller_bind():
    with pytest.raises(MessageTooBig):
        decode(encode(m.Ping(7)), "client", Limits(message_bytes=10))
    with pytest.raises(BadMessage):
        decode(encode(m.Error("busy", "", "stream", detail={"a": [1]})), "server", Limits(nesting=2))
    with pytest.raises(BadMessage):
        decode(encode(m.Ping(7)), "client", Limits(values=3))


def test_a_megabyte_of_empty_arrays_is_refused_without_unfolding_it():
    empties = b"\x92\x02\xdd" + (2**20 - 100).to_bytes(4, "big") + b"\x90" * (2**20 - 100)
    with pytest.raises(BadMessage, match="values in one message"):
        decode(empties, "client")


def test_a_default_of_one_record_is_not_shared_with_another():
    first, second = (decode(encode(m.Error("busy", "", "stream")), "server") for _ in range(2))
    first.detail["limit"] = 1
    assert second.detail == {}


@pytest.mark.parametrize(
    ("value", "stream"),
    [
        ({"type": "stream_start", "stream_id": U.upper(), "speed": 9}, U),
        ({"type": "cancel", "stream": 3}, 3),
        ({"type": "cancel", "stream": 300}, None),
        ({"type": "ping", "value": -1}, None),
        ([2, 7, "x"], 7),
        ([2], None),
        ([2, [7]], None),
        (7, None),
        ("text", None),
    ],
)
def test_the_stream_of_a_refused_message_is_found_where_it_names_one(value, stream):
    assert stream_of(msgpack.packb(value)) == stream


def test_no_stream_is_found_in_garbage():
    assert stream_of(b"\xc1") is None
