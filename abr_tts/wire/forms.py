"""
The form of every control message: its name on the wire, its fields in order, their bounds.

The same table checks what comes in and what goes out. `protocol/schema.json` says the same
for other languages; a test holds the two to each other.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import Any

from ..units import FRAME_TICKS
from . import messages as m
from .checks import (
    SAFE,
    Check,
    array,
    boolean,
    free,
    integer,
    mapping,
    number,
    one_of,
    pair,
    speech,
    stream_ref,
    string,
    uuid,
)

LAST_TICK = 2**32 - 1
"""The last media position of a stream: 24.8 hours."""
PREROLL_MOST = 3
"""Pre-roll frames of a track at most: 60 ms; the splice needs 2."""

HANDLE = integer(1, 255)
TRACK = integer(0, 65_535)
TICK = integer(0, LAST_TICK)
FRAME_TICK = integer(0, LAST_TICK - LAST_TICK % FRAME_TICKS, FRAME_TICKS)
RATE = integer(8_000, 192_000)
CHANNELS = integer(1, 2)
NAME = string(1, 64)
OPTIONAL_NAME = string(0, 64)
LABEL = string(0, 200)
VOICE = string(1, 200)
LANGUAGE = string(1, 35)
SPEED = number(0.25, 4)
CODECS = array(string(1, 32), 1, 16)
SECONDS = number(0, 86_400)


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its attribute, its name on the wire, its check, and the default if it may be absent."""

    attribute: str
    name: str
    check: Check
    required: bool
    default: Any


@dataclass(frozen=True, slots=True)
class Form:
    """One control message: its name on the wire, its record, its fields in order, who sends it."""

    name: str
    record: type[Any]
    fields: tuple[Field, ...]
    sides: frozenset[str]


_RENAMED = {"source": "from", "target": "to"}
"""Attributes that bear another name on the wire (`from` is a keyword in Python)."""


def _form(sides: str, record: type[Any], **checks: Check) -> Form:
    """A form from a record: order and defaults are the record's own."""
    made = []
    for item in dataclasses.fields(record):
        default: Any = item.default
        if item.default_factory is not dataclasses.MISSING:
            default = item.default_factory()
        required = default is dataclasses.MISSING
        check = checks.pop(item.name)
        made.append(Field(item.name, _RENAMED.get(item.name, item.name), check, required, default))
    assert not checks, f"{record.__name__} has no {', '.join(checks)}"
    name = re.sub("(?<!^)([A-Z])", r"_\1", record.__name__).lower()
    return Form(name, record, tuple(made), frozenset(sides.split()))


_LIST = (
    _form(
        "client", m.Hello,
        versions=array(integer(0, 65_535), 1, 16), level=integer(0, 2), codecs=CODECS, client=LABEL,
    ),
    _form(
        "client", m.StreamStart,
        stream_id=uuid, text=speech, open=boolean, voice=VOICE, language=LANGUAGE,
        speed=SPEED, rung=NAME, policy=NAME, mode=string(1, 32), formats=CODECS, instruct=string(1, 500),
    ),
    _form("client", m.Text, stream=stream_ref, text=speech),
    _form("client", m.TextEnd, stream=stream_ref),
    _form(
        "client", m.Attach,
        stream_id=uuid, token=string(1, 200), tracks=array(pair(TRACK, integer(-2_880, LAST_TICK)), 0, 64),
        played=TICK,
    ),
    _form(
        "client", m.AudioStart,
        stream_id=uuid, codec=string(1, 32), sample_rate=RATE, channels=CHANNELS, purpose=string(1, 32),
        consent=boolean, voice=VOICE, text=string(0, 2_000), language=LANGUAGE,
        speed=SPEED, rung=NAME, policy=NAME, mode=string(1, 32), formats=CODECS,
    ),
    _form("client", m.Cancel, stream=stream_ref),
    _form("client", m.Pause, stream=stream_ref),
    _form("client", m.Resume, stream=stream_ref),
    _form("client server", m.Ping, value=integer(0, SAFE), padding=string(0, 4_096)),
    _form("client server", m.Pong, value=integer(0, SAFE)),
    _form(
        "server", m.Welcome,
        version=integer(0, 65_535), session=OPTIONAL_NAME, server=LABEL, ping_ms=integer(1, 3_600_000),
        hint_ms=integer(1, 60_000), limits=mapping(integer(0, SAFE), 64),
    ),
    _form(
        "server", m.StreamStarted,
        stream=HANDLE, stream_id=uuid, token=string(0, 200), voice=LABEL, sample_rate=RATE,
        channels=CHANNELS, codec=string(1, 32), rung=NAME, chars=integer(0, LAST_TICK),
    ),
    _form(
        "server", m.Track,
        stream=HANDLE, track=TRACK, rank=integer(0, 1), rung=NAME, codec=string(1, 32), sample_rate=RATE,
        channels=CHANNELS, start=FRAME_TICK, preroll=integer(0, PREROLL_MOST), duration=integer(1, 3),
    ),
    _form(
        "server", m.Switch,
        stream=HANDLE, track=TRACK, source=OPTIONAL_NAME, target=NAME, at=FRAME_TICK,
        length=integer(0, 48_000), reason=string(0, 500),
    ),
    _form("server", m.Mark, stream=HANDLE, pts=TICK, begin=integer(0, LAST_TICK), end=integer(0, LAST_TICK)),
    _form(
        "server", m.StreamEnd,
        stream=HANDLE, length=integer(0, SAFE), sample_rate=RATE, channels=CHANNELS, codec=string(0, 32),
        reason=string(1, 32), chars=integer(0, LAST_TICK),
    ),
    _form("server", m.FlowControl, rate=number(0, 1e6), retry_after=SECONDS, stream=HANDLE),
    _form("server", m.GoingAway, deadline_ms=integer(0, 86_400_000), reason=LABEL),
    _form(
        "server", m.Error,
        code=NAME, message=string(0, 1_000), scope=one_of("connection", "stream", "nothing"), stream=HANDLE,
        stream_id=uuid, retry_after=SECONDS, detail=mapping(free, 64),
    ),
)  # fmt: skip

BY_NAME = {form.name: form for form in _LIST}
BY_RECORD = {form.record: form for form in _LIST}
