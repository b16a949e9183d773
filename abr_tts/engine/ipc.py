"""
The talk between a pool and its workers: records, and frames of msgpack around them.

A frame is a little-endian u32, the length of what follows, and one msgpack array
`[kind, field, …]`. Pure: bytes in, records out. Runs under Python 3.10.

Sound is not copied here, but for a frame that arrives in pieces, which are joined once: a worker sends
`pcm_head` and then the samples from where they lie; a `Pcm` that was read shows the bytes that were fed.
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
voices 15 kB, a `Convert` of 30 s 960 kB; anything beyond is not one of ours. Chosen here.
"""

_HEAD = struct.Struct("<I")

_PCM = struct.Struct(">BBBIBI")
"""A `Pcm` up to its bytes, as msgpack writes it when it saves no byte: an array of three (fixarray), the
number of its kind (fixint), the id (uint 32), the size of what follows (bin 32)."""


class IpcError(Exception):
    """The other side does not speak this protocol; the worker is of no more use."""


@dataclass(frozen=True)
class Load:
    """
    Parent: make this engine ready, to speak so many texts at once. Answered by `Ready`, or a fatal `Fault`
    of id 0.
    """

    kind: str
    options: dict[str, Any] = field(default_factory=dict)
    parallel: int = 1


@dataclass(frozen=True)
class Say:
    """Parent: speak. Answered by any number of `Pcm`, then one `End` or `Fault`."""

    id: int
    text: str
    voice: str
    language: str | None
    speed: float
    instruct: str | None = None


@dataclass(frozen=True)
class Convert:
    """Parent: say what is said in this PCM16 (little-endian, 16 kHz, at most 30 s). Answered as `Say`."""

    id: int
    audio: bytes
    voice: str
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
    """Parent: finish the requests at hand and exit."""


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
    data: bytes | memoryview


@dataclass(frozen=True)
class End:
    """Child: the request is over, spoken or cancelled; `bad` samples were not finite."""

    id: int
    samples: int
    bad: int


@dataclass(frozen=True)
class Fault:
    """Child: the request (0: loading) failed. After a `fatal` one the process exits, whatever else it did."""

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


@dataclass(frozen=True)
class Loading:
    """Child, before `Ready`: what is being done, and the share of all that is done, 0 to 1."""

    sentence: str
    share: float


Record = Union[Load, Say, Convert, Cancel, Ping, Drain, Ready, Pcm, End, Fault, Pong, Log, Loading]

_KINDS: tuple[type[Any], ...] = (
    *(Load, Say, Cancel, Ping, Drain, Ready, Pcm, End, Fault, Pong, Log),
    *(Convert, Loading),
)
_NUMBER = {kind: number for number, kind in enumerate(_KINDS)}
_PCM_MARKS = (0x93, _NUMBER[Pcm], 0xCE, 0xC6)
_FIELDS = {kind: tuple(f.name for f in dataclasses.fields(kind)) for kind in _KINDS}

_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "str": (str,),
    "bool": (bool,),
    "float": (int, float),
    "str | None": (str, type(None)),
    "bytes": (bytes,),
    "bytes | memoryview": (bytes,),
    "dict[str, Any]": (dict,),
    "tuple[tuple[str, tuple[str, ...], int, str], ...]": (tuple,),
}
"""A field's type as it is written above → what msgpack may have made of it."""

_FORMS = {kind: tuple(_TYPES[str(f.type)] for f in dataclasses.fields(kind)) for kind in _KINDS}


def pcm_head(request: int, size: int) -> bytes:
    """What stands before `size` bytes of sound in a frame."""
    return _HEAD.pack(_PCM.size + size) + _PCM.pack(0x93, _NUMBER[Pcm], 0xCE, request, 0xC6, size)


def encode(record: Record) -> bytes:
    """One frame."""
    kind = type(record)
    values = [getattr(record, name) for name in _FIELDS[kind]]
    body: bytes = msgpack.packb([_NUMBER[kind], *values], use_bin_type=True, unicode_errors="surrogatepass")
    return _HEAD.pack(len(body)) + body


class Frames:
    """Cuts a byte stream back into records, however it was chopped up on the way."""

    def __init__(self) -> None:
        self._held: list[bytes | memoryview] = []
        self._size = 0
        self._need = _HEAD.size

    def feed(self, data: bytes) -> list[Record]:
        """
        The records that `data` completes.

        Raises:
            IpcError: too long, not msgpack, or not one of our records.
        """
        if self._held:
            self._held.append(data)
            self._size += len(data)
            if self._size < self._need:
                return []
            data = b"".join(self._held)
        view = memoryview(data)
        records: list[Record] = []
        at, need = 0, _HEAD.size
        while len(data) - at >= _HEAD.size:
            (size,) = _HEAD.unpack_from(data, at)
            if size > MAX_FRAME:
                raise IpcError(f"a frame of {size} bytes; the limit is {MAX_FRAME}")
            need = _HEAD.size + size
            if len(data) - at < need:
                break
            records.append(_decode(view[at + _HEAD.size : at + need]))
            at, need = at + need, _HEAD.size
        self._held, self._size, self._need = [view[at:]] if at < len(data) else [], len(data) - at, need
        return records


def _decode(body: memoryview) -> Record:
    if len(body) >= _PCM.size:
        array, number, wide, request, binary, size = _PCM.unpack_from(body)
        if (array, number, wide, binary) == _PCM_MARKS and size == len(body) - _PCM.size:
            return Pcm(request, body[_PCM.size :])
    try:
        kind, *values = msgpack.unpackb(body, use_list=False, unicode_errors="surrogatepass")
        record: Record = _KINDS[kind](*values)
        if not all(map(isinstance, values, _FORMS[_KINDS[kind]])):
            raise TypeError(f"{_KINDS[kind].__name__} of other types")
    except (ValueError, TypeError, IndexError, msgpack.UnpackException) as error:
        raise IpcError(f"not a record: {error}") from None
    return record
