"""
Checks of single values, made from bounds: each takes what came and gives what is meant.

A check raises ValueError with the end of a sentence ("must be ..."); the codec adds the
message's and the field's name. Knows no message.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, TypeAlias

Check: TypeAlias = Callable[[Any], Any]

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")

SAFE = 2**53 - 1
"""The largest integer on the wire: the last one that JavaScript counts exactly."""


def shortest(value: float) -> float | int:
    """A float as it is written: as an integer where that says the same, which is shorter."""
    return int(value) if value.is_integer() and abs(value) <= SAFE else value


def integer(low: int, high: int, step: int = 1) -> Check:
    """An integer from `low` to `high`, a multiple of `step`; never a bool, never a float."""

    def check(value: Any) -> int:
        if type(value) is int and low <= value <= high and not value % step:
            return value
        multiple = f", a multiple of {step}" if step > 1 else ""
        raise ValueError(f"must be an integer from {low} to {high}{multiple}")

    return check


def number(low: float, high: float) -> Check:
    """An integer or a float from `low` to `high`, as float. NaN is in no range."""

    def check(value: Any) -> float:
        if type(value) in (int, float) and low <= value <= high:
            return float(value)
        raise ValueError(f"must be a number from {low:g} to {high:g}")

    return check


def string(low: int, high: int) -> Check:
    """A string of `low` to `high` code points, none of them a lone surrogate."""

    def check(value: Any) -> str:
        if type(value) is str and low <= len(value) <= high and not _SURROGATE.search(value):
            return value
        raise ValueError(f"must be a string of {low} to {high} characters")

    return check


def speech(value: Any) -> str:
    """Text to speak: any string; its length is the stream's affair, halves of a pair may be split."""
    if type(value) is str:
        return value
    raise ValueError("must be a string")


def boolean(value: Any) -> bool:
    """True or false."""
    if type(value) is bool:
        return value
    raise ValueError("must be true or false")


def uuid(value: Any) -> str:
    """A UUID in its 36 characters; case is folded to lower."""
    if type(value) is str and _UUID.fullmatch(value):
        return value.lower()
    raise ValueError("must be a UUID of 36 characters")


def stream_ref(value: Any) -> int | str:
    """A stream's handle, or its UUID."""
    if type(value) is int and 1 <= value <= 255:
        return value
    if type(value) is str and _UUID.fullmatch(value):
        return value.lower()
    raise ValueError("must be an integer from 1 to 255 or a UUID")


def one_of(*names: str) -> Check:
    """One of these strings."""

    def check(value: Any) -> str:
        if type(value) is str and value in names:
            return value
        raise ValueError(f"must be one of {', '.join(names)}")

    return check


def array(check_item: Check, low: int, high: int) -> Check:
    """An array of `low` to `high` values, as a tuple."""

    def check(value: Any) -> tuple[Any, ...]:
        if type(value) in (list, tuple) and low <= len(value) <= high:
            return tuple([check_item(item) for item in value])
        raise ValueError(f"must be an array of {low} to {high} values")

    return check


def pair(first: Check, second: Check) -> Check:
    """An array of exactly two values, as a tuple."""

    def check(value: Any) -> tuple[Any, Any]:
        if type(value) in (list, tuple) and len(value) == 2:
            return first(value[0]), second(value[1])
        raise ValueError("must be an array of two values")

    return check


def mapping(check_value: Check, most: int) -> Check:
    """A map of at most `most` names (1 to 64 characters), sorted by name so that it packs one way."""
    check_key = string(1, 64)

    def check(value: Any) -> dict[str, Any]:
        if type(value) is dict and len(value) <= most:
            return {check_key(key): check_value(value[key]) for key in sorted(value, key=str)}
        raise ValueError(f"must be a map of at most {most} names")

    return check


def free(value: Any, depth: int = 6) -> Any:
    """
    A value of no fixed form, as in `error.detail`: what JSON can say, nested at most `depth` deep.

    Six here and the message and `detail` around it are the eight that a decoder allows.
    """
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is int and abs(value) <= SAFE:
        return value
    if kind is float and math.isfinite(value):
        return shortest(value)
    if kind is str and not _SURROGATE.search(value):
        return value
    if depth and kind in (list, tuple):
        return [free(item, depth - 1) for item in value]
    if depth and kind is dict and all(type(key) is str for key in value):
        return {free(key): free(value[key], depth - 1) for key in sorted(value)}
    raise ValueError("must hold nothing but what JSON can say")
