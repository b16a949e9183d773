"""
Errors of the wire as the exceptions they were: the code names the class.

The table is read off `errors.py`, so that a class added there needs no word here.
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import errors
from ..wire.messages import Error


def _classes(root: type[errors.AbrError]) -> Iterator[type[errors.AbrError]]:
    for cls in root.__subclasses__():
        yield cls
        yield from _classes(cls)


CLASSES = {cls.code: cls for cls in _classes(errors.AbrError) if "code" in vars(cls)}
"""Every error class by its own wire code."""

_ROOTS: dict[str, type[errors.AbrError]] = {
    errors.CONNECTION: errors.ConnectionFault,
    errors.STREAM: errors.StreamError,
    errors.NOTHING: errors.Notice,
}


def from_wire(message: Error) -> errors.AbrError:
    """
    The exception that an `Error` message stands for.

    Returns:
        An instance of the class of `message.code` with its sentence, `retry_after` and
        `detail`. A code that a newer server brought gives the root class of the message's
        scope, and `detail["code"]` keeps it.
    """
    cls = CLASSES.get(message.code)
    fault = (cls or _ROOTS.get(message.scope, errors.StreamError))(
        message.message, retry_after=message.retry_after
    )
    fault.detail = dict(message.detail) if cls else {**message.detail, "code": message.code}
    return fault
