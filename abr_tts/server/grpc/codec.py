"""
Records to protocol buffers and back: the codec of a `wire.connection.Connection` whose bytes are gRPC's.

The messages mirror the wire's records name by name, so one loop over `wire.forms` serves all of them but
sound and reports, which are the hot path. Bounds are those of the forms, and so are the errors. It stands on
the server's side: it reads what a client sends and writes what a server does. Pure functions, no state.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.message import DecodeError, EncodeError

from ...errors import AbrError, BadField, BadMessage, MessageTooBig, UnknownType
from ...wire import messages as m
from ...wire.checks import stream_ref
from ...wire.codec import Side, checked, read_control
from ...wire.compact import HINT, UPLINK, audio_values, read_hint, read_uplink
from ...wire.forms import BY_NAME, BY_RECORD, Field
from ...wire.limits import DEFAULT, Limits
from .schema import message

_IN, _OUT, _AUDIO = message("ClientMessage"), message("ServerMessage"), message("Audio")

MEASURES = ("rtt_ms", "goodput_kbps", "jitter_ms")
"""Of a hint, those that may be not known, in the order of its array."""

UNKNOWN = -1
"""What stands for "not known" in a hint's measures."""


def encode(record: m.Message) -> bytes:
    """
    The bytes of a record, as a ServerMessage.

    Raises:
        BadField: a value that the peer would refuse.
    """
    if type(record) is m.Audio:
        audio_values(record)  # checks
        sound = _AUDIO(stream=record.stream, track=record.track, pts=record.pts, packets=record.packets)
        data: bytes = _OUT(audio=sound).SerializeToString()
        return data
    form = BY_RECORD[type(record)]
    made = _OUT()
    body = getattr(made, form.name)
    body.SetInParent()
    for field in form.fields:
        value = getattr(record, field.attribute)
        if value is not None:
            _put(body, field.attribute, checked(form, field, value))
    try:
        data = made.SerializeToString()
    except (EncodeError, ValueError) as error:
        raise BadField(f"{form.name} cannot be written: {error}", type=form.name) from None
    return data


def _put(body: Any, name: str, value: Any) -> None:
    if isinstance(value, dict):  # of limits (a map) and detail (a Struct)
        getattr(body, name).update(value)
    else:
        setattr(body, name, value)


def decode(data: bytes, side: Side, limits: Limits = DEFAULT) -> m.Message:
    """
    The record of a ClientMessage.

    Args:
        data: one message of the call.
        side: "client", for nobody else is read here.
        limits: `message_bytes` and `values` bind here.

    Raises:
        MessageTooBig: longer than the limit; not looked at.
        BadMessage: no ClientMessage, or one with more repeated values than `limits.values`.
        UnknownType: it holds none of the messages that are known here.
        BadField: a field is missing or out of its bounds.
    """
    assert side == "client", side
    if len(data) > limits.message_bytes:
        raise MessageTooBig(
            f"a message of more than {limits.message_bytes} bytes", limit=limits.message_bytes
        )
    kind, body = _parsed(data)
    if kind == "bit_rate_hint":
        _few(body.highest, limits)
        return read_hint(_hint_values(body))
    if kind == "uplink_audio":
        _few(body.packets, limits)
        return read_uplink([UPLINK, body.stream, body.pts, *body.packets])
    form = BY_NAME[kind]
    return read_control(form, {field.name: _value(body, field, limits) for field in form.fields})


def _parsed(data: bytes) -> tuple[str, Any]:
    """The name of the message within, and itself."""
    try:
        made = _IN.FromString(data)
    except DecodeError:
        raise BadMessage("a message is one ClientMessage of abr_tts.proto") from None
    kind = made.WhichOneof("message")
    if kind is None:
        raise UnknownType("a client sends no message without any of its types")
    return kind, getattr(made, kind)


def _few(values: Any, limits: Limits) -> None:
    """Refuse what would take long to look at: a MiB holds half a million empty values."""
    if len(values) > limits.values:
        raise BadMessage(f"a message has at most {limits.values} values")


def _value(body: Any, field: Field, limits: Limits) -> Any:
    """A field's value as msgpack would have had it; None where it is absent."""
    if field.attribute == "stream":
        which = body.WhichOneof("ref")
        return getattr(body, which) if which else None
    described = body.DESCRIPTOR.fields_by_name[field.attribute]
    if described.has_presence and not body.HasField(field.attribute):
        return None
    value = getattr(body, field.attribute)
    if isinstance(value, (bool, int, float, str)):
        return value
    _few(value, limits)
    if described.message_type is not None:
        return [(one.track, one.pts) for one in value]
    return list(value) or None


def _hint_values(body: Any) -> list[Any]:
    """The array of a report, which `read_hint` brings into its bounds."""
    measures = [getattr(body, name) if body.HasField(name) else UNKNOWN for name in MEASURES]
    return [
        HINT, body.stream, body.received, body.played, body.buffer_ms,
        [[one.track, one.pts] for one in body.highest],
        *measures, body.loss, body.stalls, body.stall_ms, body.hidden, body.save_data,
    ]  # fmt: skip


def stream_of(data: bytes, limits: Limits = DEFAULT) -> m.StreamRef | None:
    """The stream that a refused message was meant for, if it names one."""
    try:
        _, body = _parsed(data)
        names = body.DESCRIPTOR.fields_by_name
        if "ref" in body.DESCRIPTOR.oneofs_by_name:
            which = body.WhichOneof("ref") or "stream"
        else:
            which = "stream_id" if "stream_id" in names else "stream"
        return stream_ref(getattr(body, which, None))
    except (AbrError, ValueError):
        return None
