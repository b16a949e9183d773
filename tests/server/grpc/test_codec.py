"""The proto mirrors the wire: every record, every field, every bound; and its compiled form is the file's."""

import dataclasses
import runpy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abr_tts.errors import BadField, BadMessage, MessageTooBig, UnknownType
from abr_tts.wire import messages as m
from abr_tts.wire.forms import BY_NAME
from abr_tts.wire.limits import Limits

from ...wire.records import CLIENT, SERVER
from .outsider import PROTO, descriptor_pb2, json_format, pb

codec = pytest.importorskip("abr_tts.server.grpc.codec")
schema = pytest.importorskip("abr_tts.server.grpc.schema")

COMPACT = {"audio": m.Audio, "uplink_audio": m.UplinkAudio, "bit_rate_hint": m.BitRateHint}
STREAM_ID = "0f0f0f0f-0000-4000-8000-000000000001"
BOTH = {"client": pb.ClientMessage, "server": pb.ServerMessage}


def record_of(name: str) -> type:
    return COMPACT.get(name) or BY_NAME[name].record


def kind_of(record: m.Message) -> str:
    by_record = {form.record: name for name, form in BY_NAME.items()} | {v: k for k, v in COMPACT.items()}
    return by_record[type(record)]


def as_client_message(record: m.Message) -> pb.ClientMessage:
    """What an outsider writes for a record: absent where it is None or means "not known"."""
    made = pb.ClientMessage()
    body = getattr(made, kind_of(record))
    body.SetInParent()
    for field in dataclasses.fields(record):
        name, value = field.name, getattr(record, field.name)
        if value is None or name == "clamped" or (name in codec.MEASURES and value == -1):
            continue
        if name == "stream" and isinstance(value, str):
            body.stream_id = value
        elif name in ("tracks", "highest"):
            for track, pts in value:
                getattr(body, name).add(track=track, pts=pts)
        elif isinstance(value, tuple):
            getattr(body, name).extend(value)
        else:
            setattr(body, name, value)
    return made


def sayable(record: m.Message) -> bool:
    """Halves of surrogate pairs cannot be said in a proto."""
    return not any("\ud800" <= char <= "\udfff" for char in getattr(record, "text", ""))


def told(made: pb.ServerMessage) -> m.Message:
    """The record of what an outsider reads."""
    name = made.WhichOneof("message")
    body = getattr(made, name)
    values = {}
    for field in dataclasses.fields(record_of(name)):
        described = body.DESCRIPTOR.fields_by_name[field.name]
        if described.has_presence and not body.HasField(field.name):
            continue
        value = getattr(body, field.name)
        if field.name == "limits":
            value = dict(value)
        elif field.name == "detail":
            value = json_format.MessageToDict(value)
        values[field.name] = tuple(value) if field.name == "packets" else value
    return record_of(name)(**values)


def test_every_message_and_every_field_of_the_wire_is_in_the_proto_and_nothing_else():
    for side, whole in BOTH.items():
        compact = {"audio"} if side == "server" else {"uplink_audio", "bit_rate_hint"}
        wire = {name for name, form in BY_NAME.items() if side in form.sides} | compact
        assert {field.name for field in whole.DESCRIPTOR.fields} == wire
        for name in wire:
            message = whole.DESCRIPTOR.fields_by_name[name].message_type
            ours = {field.name for field in dataclasses.fields(record_of(name))} - {"clamped"}
            refs = {"stream_id"} if "ref" in message.oneofs_by_name else set()
            assert set(message.fields_by_name) == ours | refs, name


def test_the_compiled_form_is_that_of_the_file():
    made = runpy.run_path(str(PROTO.parents[1] / "tools" / "grpc_schema.py"))["compiled"]()
    fresh = {file.name: file for file in descriptor_pb2.FileDescriptorSet.FromString(made).file}
    loaded = descriptor_pb2.FileDescriptorProto()
    schema.POOL.FindFileContainingSymbol(schema.SERVICE).CopyToProto(loaded)
    assert loaded == fresh[PROTO.name], "run tools/grpc_schema.py"


@settings(deadline=None)
@given(st.one_of(CLIENT).filter(sayable))
def test_what_an_outsider_writes_is_read_as_the_record(record):
    assert codec.decode(as_client_message(record).SerializeToString(), "client") == record


@settings(deadline=None)
@given(st.one_of(SERVER))
def test_what_is_written_is_read_by_an_outsider(record):
    got = told(pb.ServerMessage.FromString(codec.encode(record)))
    if isinstance(record, m.Error):
        assert got.detail == listed(record.detail)
        got, record = (dataclasses.replace(one, detail={}) for one in (got, record))
    assert got == record


def listed(value):
    """As JSON has it, without tuples."""
    if isinstance(value, dict):
        return {key: listed(one) for key, one in value.items()}
    return [listed(one) for one in value] if isinstance(value, list | tuple) else value


def test_absent_fields_mean_what_the_specification_says():
    def read(**message):
        return codec.decode(pb.ClientMessage(**message).SerializeToString(), "client")

    assert read(hello={}) == m.Hello()
    assert read(stream_start={"stream_id": STREAM_ID}) == m.StreamStart(STREAM_ID)
    assert read(bit_rate_hint={"stream": 1}) == m.BitRateHint(1, 0, 0, 0)
    start = {"stream_id": STREAM_ID, "codec": "opus", "sample_rate": 48_000}
    assert read(audio_start=start) == m.AudioStart(STREAM_ID, "opus", 48_000)


@pytest.mark.parametrize(
    ("good", "bad", "field"),
    [
        ({"hello": {"level": 2}}, {"hello": {"level": 3}}, "level"),
        ({"hello": {"codecs": ["x"] * 16}}, {"hello": {"codecs": ["x"] * 17}}, "codecs"),
        ({"text": {"stream": 255}}, {"text": {"stream": 256}}, "stream"),
        ({"text": {"stream": 1}}, {"text": {"text": "whose?"}}, "stream"),
        ({"cancel": {"stream_id": STREAM_ID}}, {"cancel": {"stream_id": "me"}}, "stream"),
        ({"ping": {"value": 2**53 - 1}}, {"ping": {"value": 2**53}}, "value"),
        (
            {"stream_start": {"stream_id": STREAM_ID, "speed": 4.0}},
            {"stream_start": {"stream_id": STREAM_ID, "speed": 4.01}},
            "speed",
        ),
        (
            {"attach": {"stream_id": STREAM_ID, "token": "t", "tracks": [{"pts": -2880}] * 64}},
            {"attach": {"stream_id": STREAM_ID, "token": "t", "tracks": [{"pts": -2880}] * 65}},
            "tracks",
        ),
        (
            {"uplink_audio": {"stream": 1, "pts": 960, "packets": [b"x"] * 11}},
            {"uplink_audio": {"stream": 1, "pts": 960, "packets": [b"x"] * 12}},
            "packets",
        ),
    ],
)
def test_a_field_at_its_bound_is_taken_and_one_past_it_refused_by_name(good, bad, field):
    codec.decode(pb.ClientMessage(**good).SerializeToString(), "client")
    with pytest.raises(BadField) as caught:
        codec.decode(pb.ClientMessage(**bad).SerializeToString(), "client")
    assert caught.value.detail["field"] == field


def test_numbers_of_a_report_out_of_their_bounds_are_brought_into_them_and_counted():
    hint = {"stream": 1, "received": -5, "played": 2**40, "buffer_ms": 1, "rtt_ms": float("nan"), "loss": 3.0}
    read = codec.decode(pb.ClientMessage(bit_rate_hint=hint).SerializeToString(), "client")
    assert (read.received, read.played, read.rtt_ms, read.loss, read.clamped) == (0, 2**32 - 1, -1.0, 1.0, 4)


def test_what_is_too_long_or_has_too_many_values_or_is_nothing_is_refused():
    data = pb.ClientMessage(text={"stream": 1, "text": "x" * 100}).SerializeToString()
    assert codec.decode(data, "client", Limits(message_bytes=len(data)))
    with pytest.raises(MessageTooBig):
        codec.decode(data, "client", Limits(message_bytes=len(data) - 1))
    for message in (
        {"bit_rate_hint": {"stream": 1, "highest": [{}] * 21}},
        {"hello": {"versions": [1] * 21}},
        {"uplink_audio": {"packets": [b""] * 21}},
    ):
        with pytest.raises(BadMessage, match="at most 20 values"):
            codec.decode(pb.ClientMessage(**message).SerializeToString(), "client", Limits(values=20))
    with pytest.raises(BadMessage, match="one ClientMessage"):
        codec.decode(b"\x0a\xff", "client")
    with pytest.raises(UnknownType):
        codec.decode(b"", "client")


def test_a_string_that_is_no_utf_8_is_refused():
    data = (
        pb.ClientMessage(text={"stream": 1, "text": "xyz"})
        .SerializeToString()
        .replace(b"xyz", b"\xff\xfe\xfd")
    )
    with pytest.raises(BadMessage):
        codec.decode(data, "client")


def test_a_refused_message_says_whose_it_was():
    for message, ref in (
        ({"text": {"stream": 7}}, 7),
        ({"cancel": {"stream_id": STREAM_ID}}, STREAM_ID),
        ({"stream_start": {"stream_id": STREAM_ID, "speed": 99.0}}, STREAM_ID),
        ({"bit_rate_hint": {"stream": 3}}, 3),
        ({"hello": {"level": 9}}, None),
        ({"text": {}}, None),
    ):
        assert codec.stream_of(pb.ClientMessage(**message).SerializeToString()) == ref
    assert codec.stream_of(b"\xff") is None
