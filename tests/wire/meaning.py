"""The JSON of the vector files, and records: each made from the other. Uses no table of the codec."""

import dataclasses
import re
from typing import Any

from abr_tts.wire import messages

RENAMED = {"from": "source", "to": "target"}
COMPACT = {"audio", "uplink_audio"}


def spelled(value: Any) -> Any:
    """A JSON value with every {"repeat": s, "times": n} and {"utf8_hex": h} written out."""
    if isinstance(value, dict) and value.keys() == {"repeat", "times"}:
        return value["repeat"] * value["times"]
    if isinstance(value, dict) and value.keys() == {"utf8_hex"}:
        return bytes.fromhex(value["utf8_hex"]).decode("utf-8", "surrogatepass")
    if isinstance(value, dict):
        return {key: spelled(item) for key, item in value.items()}
    return [spelled(item) for item in value] if isinstance(value, list) else value


def bytes_of(vector: dict[str, Any], key: str = "hex") -> bytes:
    """The bytes of a vector: `hex`, or `parts` with how often each comes."""
    if key in vector:
        return bytes.fromhex(vector[key])
    return b"".join(bytes.fromhex(part) * times for part, times in vector["parts"])


def class_of(name: str) -> type[Any]:
    """The record of a message type."""
    return getattr(messages, "".join(word.capitalize() for word in name.split("_")))


def name_of(record: Any) -> str:
    """The message type of a record."""
    return re.sub("(?<!^)([A-Z])", r"_\1", type(record).__name__).lower()


def frozen(value: Any) -> Any:
    """Arrays as tuples, as records hold them."""
    return tuple(frozen(item) for item in value) if isinstance(value, list) else value


def record_of(meaning: dict[str, Any]) -> Any:
    """The record that a vector's `message` means; fields left out have the record's defaults."""
    fields = {RENAMED.get(key, key): item for key, item in spelled(meaning).items()}
    name = fields.pop("type")
    if name in COMPACT:
        fields["packets"] = tuple(bytes.fromhex(packet) for packet in fields["packets"])
    made = {key: item if key == "detail" else frozen(item) for key, item in fields.items()}
    return class_of(name)(**made)


def meaning_of(record: Any) -> dict[str, Any]:
    """What a record means, as the vectors write it."""
    named = {value: key for key, value in RENAMED.items()}
    made: dict[str, Any] = {"type": name_of(record)}
    for item in dataclasses.fields(record):
        made[named.get(item.name, item.name)] = thawed(getattr(record, item.name))
    return made


def thawed(value: Any) -> Any:
    """Tuples as arrays, bytes as hex."""
    if isinstance(value, bytes):
        return value.hex()
    return [thawed(item) for item in value] if isinstance(value, tuple | list) else value
