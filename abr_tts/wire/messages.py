"""
The messages of the wire as frozen records: one class a message, nothing else.

`protocol/SPEC.md` is the contract and `protocol/schema.json` holds every bound; the codec
turns records into bytes and back. Times are milliseconds, media positions (`pts`, `start`,
`at`, `length` of a fade) are ticks of 1/48 000 s. `StreamEnd.length` alone counts samples at
the engine's rate, because the true length of speech need not fall on a tick.

`stream` names a stream: the small integer of `stream_started`, or, from a client that has
not received that yet, the UUID of its `stream_start`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

StreamRef: TypeAlias = int | str


@dataclass(frozen=True, slots=True)
class Hello:
    """The client's first message: what it speaks and what it can decode."""

    versions: tuple[int, ...] = (1,)
    level: int = 1
    """Conformance: 0 one track, 1 overlapping tracks, 2 also resumes."""
    codecs: tuple[str, ...] = ("opus", "pcm16", "ulaw")
    client: str = ""


@dataclass(frozen=True, slots=True)
class StreamStart:
    """Ask for speech. With `open` more text follows in `text` messages."""

    stream_id: str
    text: str = ""
    open: bool = False
    voice: str | None = None
    language: str | None = None
    speed: float = 1.0
    rung: str | None = None
    policy: str | None = None
    mode: str = "stream"
    formats: tuple[str, ...] | None = None
    """Codecs for this stream alone, if fewer than `Hello.codecs`."""
    instruct: str | None = None
    """How to speak, in words, for engines that follow them."""


@dataclass(frozen=True, slots=True)
class Text:
    """More text of an open stream."""

    stream: StreamRef
    text: str


@dataclass(frozen=True, slots=True)
class TextEnd:
    """No more text comes."""

    stream: StreamRef


@dataclass(frozen=True, slots=True)
class Attach:
    """After a reconnect: go on with this stream from these positions."""

    stream_id: str
    token: str
    tracks: tuple[tuple[int, int], ...] = ()
    """(track, next pts wanted) for every track that the client holds or awaits."""
    played: int = 0


@dataclass(frozen=True, slots=True)
class AudioStart:
    """Uplink audio follows; `purpose` says what for (a reference clip, conversion)."""

    stream_id: str
    codec: str
    sample_rate: int
    channels: int = 1
    purpose: str = "reference"
    consent: bool = False
    voice: str | None = None
    text: str = ""
    """What is said in a reference clip, word for word."""
    language: str | None = None
    """Of a reference clip."""
    speed: float = 1.0
    """This and what follows: of the answer to a conversion, as in `StreamStart`."""
    rung: str | None = None
    policy: str | None = None
    mode: str = "stream"
    formats: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class UplinkAudio:
    """Compact: packets of uplink audio, 20 ms each."""

    stream: int
    pts: int
    packets: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop the stream: nothing more is sent, the engine stops."""

    stream: StreamRef


@dataclass(frozen=True, slots=True)
class Pause:
    """The listener paused. Upgrades stop, the bank goes on to its limit."""

    stream: StreamRef


@dataclass(frozen=True, slots=True)
class Resume:
    """The listener goes on."""

    stream: StreamRef


@dataclass(frozen=True, slots=True)
class BitRateHint:
    """
    Compact: the receiver report, every 100 to 500 ms while audio flows.

    `received` counts all WebSocket payload bytes of this connection; `highest` is the last
    pts held of each live track; `played` the pts up to which sound was rendered;
    `buffer_ms` what is contiguous from there at any rank; `stalls` and `stall_ms` are
    cumulative for the stream. -1 stands for "not known" in `rtt_ms`, `jitter_ms` and
    `goodput_kbps`.
    """

    stream: int
    received: int
    played: int
    buffer_ms: int
    rtt_ms: float = -1.0
    loss: float = 0.0
    jitter_ms: float = -1.0
    goodput_kbps: float = -1.0
    stalls: int = 0
    stall_ms: int = 0
    hidden: bool = False
    save_data: bool = False
    highest: tuple[tuple[int, int], ...] = ()
    clamped: int = 0
    """Fields that the codec had to bring into bounds; never on the wire."""


@dataclass(frozen=True, slots=True)
class Ping:
    """Either side; the peer answers with the same value at once. `padding` is carried and not looked at."""

    value: int
    padding: str | None = None


@dataclass(frozen=True, slots=True)
class Pong:
    """The answer to `Ping`."""

    value: int


@dataclass(frozen=True, slots=True)
class Welcome:
    """The server's answer to `Hello`."""

    version: int
    session: str
    server: str = ""
    ping_ms: int = 20_000
    """The client pings at least this often while it is otherwise silent."""
    hint_ms: int = 100
    """The shortest time between two hints of one stream."""
    limits: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StreamStarted:
    """The stream exists: its small integer, and what it starts with."""

    stream: int
    stream_id: str
    token: str
    voice: str
    sample_rate: int
    """The engine's rate, at which `StreamEnd.length` counts."""
    channels: int
    codec: str
    rung: str
    chars: int = 0
    """After an attach: code points of text that the server has; an open stream goes on from there."""


@dataclass(frozen=True, slots=True)
class Track:
    """A track opens: packets of `track` follow, from `start - 960·preroll` on, contiguous."""

    stream: int
    track: int
    rank: int
    rung: str
    codec: str
    sample_rate: int
    channels: int
    start: int
    preroll: int = 0
    duration: int = 1
    """Frames of 20 ms in one packet: 1, or 1 to 3 for level 0."""


@dataclass(frozen=True, slots=True)
class Audio:
    """Compact: consecutive packets of one track, the first at `pts` (below 0 in pre-roll)."""

    stream: int
    track: int
    pts: int
    packets: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Switch:
    """What is sent changed. `length` 0 is a retune inside a track, else a fade of that many ticks."""

    stream: int
    track: int
    source: str
    """Rung before (`from` on the wire)."""
    target: str
    """Rung after (`to` on the wire)."""
    at: int
    length: int
    reason: str


@dataclass(frozen=True, slots=True)
class Mark:
    """The clause text[begin:end] (offsets in Unicode code points) starts to sound at `pts`."""

    stream: int
    pts: int
    begin: int
    end: int


MOVED = "moved"
"""Reason of a `StreamEnd` whose server stops: the text that it did not speak is to be asked for elsewhere."""


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """Everything was sent; `length` samples at the engine's `sample_rate` are the whole."""

    stream: int
    length: int
    sample_rate: int
    channels: int
    codec: str
    """The codec of the track that was sent last."""
    reason: str = "done"
    """`done`, `cancelled`, or `moved`."""
    chars: int = 0
    """Of `moved`: code points of the stream's text that it spoke."""


@dataclass(frozen=True, slots=True)
class FlowControl:
    """Send less: at most `rate` requests a second, none before `retry_after` seconds."""

    rate: float
    retry_after: float = 0.0
    stream: int | None = None
    """The uplink stream meant, or the whole connection."""


@dataclass(frozen=True, slots=True)
class GoingAway:
    """The server drains: no new stream here; this connection closes within `deadline_ms`."""

    deadline_ms: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Error:
    """A fault in words and code; `scope` says what it ends."""

    code: str
    message: str
    scope: str
    stream: int | None = None
    stream_id: str | None = None
    retry_after: float | None = None
    detail: dict[str, Any] = field(default_factory=dict)


ClientMessage: TypeAlias = (
    Hello
    | StreamStart
    | Text
    | TextEnd
    | Attach
    | AudioStart
    | UplinkAudio
    | Cancel
    | Pause
    | Resume
    | BitRateHint
    | Ping
    | Pong
)
ServerMessage: TypeAlias = (
    Welcome
    | StreamStarted
    | Track
    | Audio
    | Switch
    | Mark
    | StreamEnd
    | FlowControl
    | GoingAway
    | Error
    | Ping
    | Pong
)
Message: TypeAlias = ClientMessage | ServerMessage
