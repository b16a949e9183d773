"""
Records to bytes and back: strict in, canonical out. Pure functions, no state.

One message is one msgpack value: a control message is a map with `type`, a compact one an
array that begins with its kind. One record has one encoding: keys in the record's order,
the shortest integers, nothing that equals its default.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

import msgpack

from ..errors import AbrError, BadField, BadMessage, MessageTooBig, UnknownType
from . import compact
from .checks import shortest, stream_ref
from .forms import BY_NAME, BY_RECORD, Field, Form
from .limits import DEFAULT, Limits
from .messages import Audio, BitRateHint, Message, StreamRef, UplinkAudio
from .unpack import skim, unpack

Side: TypeAlias = Literal["client", "server"]


class Codec(Protocol):
    """What turns records into the bytes of a transport and back: this module, or another door's own."""

    def encode(self, message: Message) -> bytes:
        """The bytes of a record. Raises BadField."""

    def decode(self, data: bytes, side: Side, limits: Limits = DEFAULT) -> Message:
        """The record of what `side` sent. Raises as the function of this name below."""

    def stream_of(self, data: bytes, limits: Limits = DEFAULT) -> StreamRef | None:
        """The stream that a refused message was meant for, if it names one."""


_pack = msgpack.Packer(unicode_errors="surrogatepass").pack
"""One packer for all: it packs exact built-in types only, so nothing runs between its bytes."""

_COMPACT_IN: dict[tuple[int, str], Any] = {
    (compact.AUDIO, "server"): compact.read_audio,
    (compact.HINT, "client"): compact.read_hint,
    (compact.UPLINK, "client"): compact.read_uplink,
}
_COMPACT_OUT: dict[type[Any], Any] = {
    Audio: compact.audio_values,
    BitRateHint: compact.hint_values,
    UplinkAudio: compact.uplink_values,
}


def encode(message: Message) -> bytes:
    """
    The canonical bytes of a record.

    Raises:
        BadField: a value that the peer would refuse; nothing is clamped or cut here.
    """
    values = _COMPACT_OUT.get(type(message))
    packed: bytes = _pack(values(message) if values else _control_values(message))
    return packed


def _control_values(message: Message) -> dict[str, Any]:
    form = BY_RECORD[type(message)]
    body: dict[str, Any] = {"type": form.name}
    for field in form.fields:
        value = getattr(message, field.attribute)
        if field.required or value != field.default:
            value = checked(form, field, value)
            body[field.name] = shortest(value) if type(value) is float else value
    return body


def decode(data: bytes, side: Side, limits: Limits = DEFAULT) -> Message:
    """
    The record of `data`, which `side` sent.

    Args:
        data: one WebSocket message.
        side: `client` or `server`: each may send its own types only.
        limits: `message_bytes`, `nesting` and `values` bind here.

    Raises:
        MessageTooBig: longer than the limit; not looked at.
        BadMessage: not one msgpack value of the protocol's form.
        UnknownType: well formed, but of a type or kind that `side` does not send.
        BadField: a field is missing, of the wrong type, or out of its bounds.
    """
    most = limits.message_bytes
    if len(data) > most:
        raise MessageTooBig(f"a message of more than {most} bytes", limit=most)
    value = unpack(data, limits)
    if type(value) is list:
        return _read_compact(data, value, side, limits)
    if type(value) is not dict:
        raise BadMessage("a message is a map or an array")
    name = value.get("type")
    if type(name) is not str:
        raise BadMessage("a control message needs a type, a string")
    form = BY_NAME.get(name)
    if form is None or side not in form.sides:
        raise UnknownType(f"a {side} sends no {name[:64]!a}", type=ascii(name[:64])[1:-1])
    return read_control(form, value)


def _read_compact(data: bytes, values: list[Any], side: Side, limits: Limits) -> Message:
    if not values or type(values[0]) is not int:
        raise BadMessage("a compact message begins with its kind, an integer")
    read = _COMPACT_IN.get((values[0], side))
    if read is None:
        raise UnknownType(f"a {side} sends no compact message of kind {values[0]}", type=values[0])
    if len(values) > compact.HINT_ELEMENTS:
        skim(data, limits)  # elements of a later version, which no check of ours looks at
    message: Message = read(values)
    return message


def read_control(form: Form, body: dict[str, Any]) -> Message:
    """The record of a control message's fields; None stands for an absent one. Raises BadField."""
    made: dict[str, Any] = {}
    for field in form.fields:
        value = body.get(field.name)
        if value is not None:
            made[field.attribute] = checked(form, field, value)
        elif field.required:
            raise BadField(f"{form.name}.{field.name} is missing", type=form.name, field=field.name)
    message: Message = form.record(**made)
    return message


def checked(form: Form, field: Field, value: Any) -> Any:
    """A field's value as it is meant. Raises BadField with the names of the message and of the field."""
    try:
        return field.check(value)
    except ValueError as error:
        raise BadField(f"{form.name}.{field.name} {error}", type=form.name, field=field.name) from None


def stream_of(data: bytes, limits: Limits = DEFAULT) -> StreamRef | None:
    """The stream that a refused message was meant for, if it names one: for the answer, off the hot path."""
    try:
        value = unpack(data, limits)
        if type(value) is dict:
            return stream_ref(value.get("stream", value.get("stream_id")))
        return stream_ref(value[1])
    except (AbrError, ValueError, TypeError, IndexError):
        return None


def audio_size(message: Audio) -> int:
    """Bytes of `encode(message)`, without encoding: the head (6 to 12) and 2 or 3 beside each packet."""
    size = 2 + _int_bytes(message.stream) + _int_bytes(message.track) + _int_bytes(message.pts)
    for packet in message.packets:
        size += len(packet) + (2 if len(packet) < 256 else 3)
    return size


def _int_bytes(value: int) -> int:
    """Bytes of the shortest msgpack integer."""
    if value < 0:
        return 1 if value >= -32 else 2 if value >= -128 else 3 if value >= -32_768 else 5
    return 1 if value < 128 else 2 if value < 256 else 3 if value < 65_536 else 5
