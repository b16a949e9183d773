"""
Bytes to plain values, strictly: one msgpack value and nothing a message never holds.

`skim` walks the headers alone, before anything is built, so that a hostile message costs
neither memory nor recursion. Knows msgpack; knows no message.
"""

from __future__ import annotations

from typing import Any

import msgpack

from ..errors import BadMessage
from .limits import Limits

_CONTAINER, _LONG, _EXT, _UNUSED = -1, -2, -3, -4

SMALL_BYTES = 256
"""Compact messages up to this size go unskimmed: their fields are all looked at one by one,
and so few bytes cannot unfold into much (56 bytes an empty list, so 14 kB)."""


def _sizes() -> tuple[int, ...]:
    """For each first byte: the length of its value, or what else it is (msgpack spec, "Formats")."""
    table = [1] * 256  # positive and negative fixint, nil, false, true
    for byte in range(0x80, 0xA0):
        table[byte] = _CONTAINER
    for byte in range(0xA0, 0xC0):
        table[byte] = 1 + (byte & 0x1F)
    table[0xC1] = _UNUSED
    for byte in (0xC4, 0xC5, 0xC6, 0xD9, 0xDA, 0xDB):
        table[byte] = _LONG
    for byte in (0xC7, 0xC8, 0xC9, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8):
        table[byte] = _EXT
    for byte in (0xDC, 0xDD, 0xDE, 0xDF):
        table[byte] = _CONTAINER
    for byte, length in {0xCA: 5, 0xCB: 9, 0xCC: 2, 0xCD: 3, 0xCE: 5, 0xCF: 9}.items():
        table[byte] = length
    for byte, length in {0xD0: 2, 0xD1: 3, 0xD2: 5, 0xD3: 9}.items():
        table[byte] = length
    return tuple(table)


_SIZES = _sizes()

_LENGTH_BYTES = {
    0xC4: 1, 0xC5: 2, 0xC6: 4,  # bin 8, 16, 32
    0xD9: 1, 0xDA: 2, 0xDB: 4,  # str
    0xDC: 2, 0xDD: 4,           # array 16, 32
    0xDE: 2, 0xDF: 4,           # map
}  # fmt: skip


def _long(data: bytes, pos: int) -> tuple[int, int]:
    """The length that stands after the first byte at `pos`, and the position behind it."""
    after = pos + 1 + _LENGTH_BYTES[data[pos]]
    if after > len(data):
        raise BadMessage("the message ends inside a value")
    return int.from_bytes(data[pos + 1 : after], "big"), after


def _open(data: bytes, pos: int) -> tuple[int, int]:
    """Values that the array or map at `pos` holds (a key counts as one), and where they begin."""
    byte = data[pos]
    if byte < 0x90:
        return 2 * (byte & 0x0F), pos + 1
    if byte < 0xA0:
        return byte & 0x0F, pos + 1
    count, after = _long(data, pos)
    return (2 * count if byte >= 0xDE else count), after


def skim(data: bytes, limits: Limits) -> None:
    """
    Check the form of `data` without building anything.

    Raises:
        BadMessage: not exactly one value, an extension type, too deep, or too many values.
    """
    end, pos, left = len(data), 0, 1
    budget = limits.values
    outer: list[int] = []
    while True:
        while not left:
            if not outer:
                if pos != end:
                    raise BadMessage("the message ends inside a value" if pos > end else _TRAILING)
                return
            left = outer.pop()
        if pos >= end:
            raise BadMessage("the message ends inside a value")
        left -= 1
        size = _SIZES[data[pos]]
        if size > 0:
            pos += size
        elif size == _LONG:
            length, pos = _long(data, pos)
            pos += length
        elif size == _CONTAINER:
            outer.append(left)
            left, pos = _open(data, pos)
            budget -= left
            _check_room(budget, len(outer), limits)
        else:
            raise BadMessage("extension types are not part of the protocol" if size == _EXT else _NEVER)


_TRAILING = "bytes follow the message's one value"
_NEVER = "byte 0xc1 begins no value"


def _check_room(budget: int, depth: int, limits: Limits) -> None:
    if budget < 0:
        raise BadMessage(f"more than {limits.values} values in one message", limit=limits.values)
    if depth > limits.nesting:
        raise BadMessage(f"nested deeper than {limits.nesting}", limit=limits.nesting)


def _unique(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    """A map of string keys, each once (a hook of msgpack, called for every map)."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise BadMessage("a map has the same key twice")
    for key in made:
        if type(key) is not str:
            raise BadMessage("a key of a map is not a string")
    return made


def unpack(data: bytes, limits: Limits) -> Any:
    """
    The value of `data`: dict, list, str, bytes, int, float, bool or None.

    Strings may hold lone surrogates (three bytes each): a pair may be split between two messages.

    Raises:
        BadMessage: see `skim`; also a key that is no string or stands twice, or bad UTF-8.
    """
    if len(data) > SMALL_BYTES or not data or data[0] & 0xF0 != 0x90:
        skim(data, limits)
    try:
        return msgpack.unpackb(data, object_pairs_hook=_unique, unicode_errors="surrogatepass")
    except (ValueError, TypeError) as error:  # TypeError: a list as a key cannot be hashed
        raise BadMessage(f"not a message: {error}") from None
