"""
The talk between a pool and its workers: records, and frames of msgpack around them.

A frame is a little-endian u32, the length of what follows, and one msgpack array
`[kind, field, …]`. Pure: bytes in, records out. Runs under Python 3.10.
"""

from __future__ import annotations

import dataclasses
import struct
from dataclasses import dataclass, field
from typing import Any, Union

import msgpack

MAX_FRAME = 1 << 20
"""
Longest frame in bytes. A clause is a few hundred characters, a `Pcm` 32 kB, a `Ready` with 140
voices 15 kB; anything beyond is not one of ours. Chosen here.
"""

_HEAD = struct.Struct("<I")


class IpcError(Exception):
    """The other side does not speak this protocol; the worker is of no more use."""


@dataclass(frozen=True)
class Load:
    """Parent: make this engine ready. Answered by `Ready`, or a fatal `Fault` of id 0."""

    kind: str
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Say:
    """Parent: speak. Answered by any number of `Pcm`, then one `End` or `Fault`."""

    id: int
    text: str
    voice: str
    language: str | None
    speed: float


@dataclass(frozen=True)
class Cancel:
    """Parent: no more of this request; `End` still comes. Unknown ids are ignored."""

    id: int


@dataclass(frozen=True)
class Ping:
    """Parent: are you there? Answered while the engine computes, too."""

    value: int


@dataclass(frozen=True)
class Drain:
    """Parent: finish the request at hand and exit."""


@dataclass(frozen=True)
class Ready:
    """Child: loaded. `voices` and `abilities` are `base.Voice` and `base.Abilities` as plain data."""

    rate: int
    voices: tuple[tuple[str, tuple[str, ...], int, str], ...]
    abilities: dict[str, Any]


@dataclass(frozen=True)
class Pcm:
    """Child: the next PCM16 bytes, little-endian."""

    id: int
    data: bytes


@dataclass(frozen=True)
class End:
    """Child: the request is over, spoken or cancelled; `bad` samples were not finite."""

    id: int
    samples: int
    bad: int


@dataclass(frozen=True)
class Fault:
    """Child: the request (0: loading) failed. After a `fatal` one the process exits."""

    id: int
    code: str
    message: str
    fatal: bool


@dataclass(frozen=True)
class Pong:
    """Child: the answer to `Ping`."""

    value: int


@dataclass(frozen=True)
class Log:
    """Child: a line for the log; `level` as in `logging`."""

    level: int
    message: str


Record = Union[Load, Say, Cancel, Ping, Drain, Ready, Pcm, End, Fault, Pong, Log]

_KINDS: tuple[type[Any], ...] = (Load, Say, Cancel, Ping, Drain, Ready, Pcm, End, Fault, Pong, Log)
_NUMBER = {kind: number for number, kind in enumerate(_KINDS)}
_FIELDS = {kind: tuple(f.name for f in dataclasses.fields(kind)) for kind in _KINDS}


def encode(record: Record) -> bytes:
    """One frame."""
    kind = type(record)
    values = [getattr(record, name) for name in _FIELDS[kind]]
    body: bytes = msgpack.packb([_NUMBER[kind], *values], use_bin_type=True, unicode_errors="surrogatepass")
    return _HEAD.pack(len(body)) + body


class Frames:
    """Cuts a byte stream back into records, however it was chopped up on the way."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> list[Record]:
        """
        The records that `data` completes.

        Raises:
            IpcError: too long, not msgpack, or not one of our records.
        """
        data = self._held + data if self._held else data
        view = memoryview(data)
        records: list[Record] = []
        at = 0
        while len(data) - at >= _HEAD.size:
            (size,) = _HEAD.unpack_from(data, at)
            if size > MAX_FRAME:
                raise IpcError(f"a frame of {size} bytes; the limit is {MAX_FRAME}")
            stop = at + _HEAD.size + size
            if stop > len(data):
                break
            records.append(_decode(view[at + _HEAD.size : stop]))
            at = stop
        self._held = data[at:]
        return records


def _decode(body: memoryview) -> Record:
    try:
        kind, *values = msgpack.unpackb(body, use_list=False, unicode_errors="surrogatepass")
        record: Record = _KINDS[kind](*values)
    except (ValueError, TypeError, IndexError, msgpack.UnpackException) as error:
        raise IpcError(f"not a record: {error}") from None
    return record
