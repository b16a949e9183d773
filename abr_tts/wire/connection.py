"""
One connection without I/O, from either side: bytes and time in, events and bytes out.

It keeps the rules that need no knowledge of speech: who speaks first, which stream a message
belongs to and whether it may still come, limits, heartbeats, and how a fault is told. It
opens no socket and reads no clock.

    conn.receive(data, now)                # never raises for bad input: it becomes a Failed event
    for event in conn.events_received():   # taken once; the list is then empty
        ...
    for data in conn.data_to_send():       # always, even after receive: answers may wait
        ...
    if conn.closed: ...                    # write what is left, then close with close_code
    timer = conn.get_timer()               # arm it; conn.handle_timer(now) when it is due
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .. import errors as e
from . import codec as msgpack
from . import messages as m
from .codec import Codec
from .faults import error_message
from .limits import DEFAULT, Limits
from .pulse import Bucket, Pulse
from .streams import ASKS, CANCELLED, COMPLETE, GONE, OPEN, STARTS, AskMessage, StartMessage, Streams

Role: TypeAlias = Literal["client", "server"]

VERSIONS = (1,)
"""Versions of the protocol that this code speaks."""

_OF_STREAM = (m.Audio, m.Track, m.Switch, m.Mark, m.StreamEnd)
"""What a server says about a stream that has started."""


@dataclass(frozen=True, slots=True)
class Received:
    """A message that is in order. `stream_id` is the UUID of the stream it is about, if any."""

    message: m.Message
    stream_id: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """
    A fault. `scope` says what ended: the stream `stream_id`, the connection, or nothing.

    It may differ from `error.scope`: a second start of a living stream ends nothing, and a bad
    field of a message that is about no stream ends the connection.
    """

    error: e.AbrError
    stream_id: str | None
    scope: str


Event: TypeAlias = Received | Failed


class Connection:
    """
    One side of one WebSocket.

    Args:
        role: which side this is.
        now: seconds on any monotonic clock, as everywhere below.
        limits: what is taken, sent and waited for.
        session: the server's name for this connection, told in `welcome`.
        server: the server's software, told in `welcome`.
        codec: what its bytes are; msgpack if None.
    """

    def __init__(
        self, role: Role, now: float, limits: Limits = DEFAULT, *, session: str = "", server: str = "",
        codec: Codec | None = None,
    ) -> None:  # fmt: skip
        self.role: Role = role
        self.limits, self._codec = limits, codec or msgpack
        self.closed = False
        self.close_code: int | None = None
        self.close_reason = ""
        self.peer: m.Hello | m.Welcome | None = None
        """What the other side said first; None until it did."""
        self._server = role == "server"
        self.session, self._name = session, server
        ours = (limits.streams, limits.text_chars) if self._server else (255, None)
        self._streams = Streams(*ours)
        awaited = "hello" if self._server else "welcome"
        self._pulse = Pulse(limits, now, pings=not self._server, awaited=awaited)
        self._bucket = Bucket(limits, now) if self._server else None
        self._said_hello = False
        self._events: list[Event] = []
        self._out: list[bytes] = []

    @property
    def rtt_ms(self) -> float | None:
        """The last round trip seen: of `hello` to `welcome` (client), then of pings; None before."""
        return self._pulse.rtt_ms

    @property
    def active_streams(self) -> int:
        """Streams that count against the limit: those whose `stream_end` has not passed."""
        return self._streams.active

    def message_room(self, now: float) -> float:
        """Share of the messages that the peer may send at once that is left, 0 to 1; 1 for a client."""
        return 1.0 if self._bucket is None else self._bucket.room(now)

    # ---- in ---------------------------------------------------------------------------------

    def receive(self, data: bytes | str, now: float) -> None:
        """One WebSocket message came. Never raises for what the peer did. Then take events and data."""
        if self.closed:
            return
        self._pulse.heard(now)
        try:
            if self._bucket is not None:
                self._bucket.take(now)
            if isinstance(data, str):
                raise e.BadMessage("messages are binary, not text")
            message = self._codec.decode(data, "client" if self._server else "server", self.limits)
        except e.AbrError as error:
            self._refuse(error, data)
        else:
            self._take(message)

    def events_received(self) -> list[Event]:
        """What happened since the last call."""
        events, self._events = self._events, []
        return events

    def data_to_send(self) -> list[bytes]:
        """Messages to write, in order, since the last call."""
        out, self._out = self._out, []
        return out

    # ---- out --------------------------------------------------------------------------------

    def send(self, message: m.Message) -> int:
        """
        Queue a message, and note what it does to its stream.

        Messages about a stream that is gone, and all after the close, are dropped: they crossed.

        Returns:
            Bytes queued; 0 when dropped.

        Raises:
            BadField, MessageTooBig: the peer would refuse it.
            WrongState: (client) not greeted yet, or twice.
            StreamError: (client) what the server would answer, see `Streams.start` and `ask`.
        """
        if self.closed:
            return 0
        data = self._codec.encode(message)
        if len(data) > self.limits.message_bytes:
            raise e.MessageTooBig(f"a message of {len(data)} bytes", limit=self.limits.message_bytes)
        wanted = self._tells(message) if self._server else self._asks(message)
        if not wanted:
            return 0
        self._out.append(data)
        return len(data)

    def start_stream(self, stream_id: str, *, more_text: bool | None = None, chars: int = 0) -> int:
        """
        The server accepts a stream: its handle. Then send `StreamStarted`.

        Args:
            stream_id: of the `stream_start`, `attach` or `audio_start` received.
            more_text: after an attach, whether the stream still takes text.
            chars: after an attach, code points of text that it had before.

        Raises:
            UnknownStream: it was cancelled, or failed, in the meantime.
        """
        stream = self._streams.allot(stream_id)
        if more_text is not None:
            stream.state = OPEN if more_text else COMPLETE
            stream.chars, stream.worded = chars, chars > 0
        assert stream.handle is not None
        return stream.handle

    def release(self, stream_id: str) -> None:
        """The listener has played a stream to its end: its handle is free, what still comes is ignored."""
        stream = self._streams.get(stream_id)
        if stream is not None:
            self._streams.drop(stream)

    def fail(self, error: e.AbrError, stream_id: str | None = None) -> None:
        """
        Tell the peer of a fault (a server) and end what its scope says (either side). No event.

        Args:
            error: from the tree of `abr_tts.errors`.
            stream_id: the stream that it is about; `RateLimited` then ends that alone.
        """
        if not self.closed:
            of_one = isinstance(error, e.RateLimited) and stream_id is not None
            self._fault(error, stream_id, e.STREAM if of_one else error.scope)

    def ping(self, now: float) -> None:
        """Send a ping now, to measure the round trip; also when none is due."""
        if not self.closed and self.peer is not None:
            self._out.append(self._codec.encode(m.Ping(self._pulse.ping(now))))

    def probe(self, padding: int) -> tuple[int, int]:
        """
        Send a ping with `padding` bytes more (a server); `Received` tells of its pong.

        Nobody is given up for not answering it.

        Returns:
            (its value, payload bytes); (0, 0) where nothing can be sent.
        """
        if self.closed or self.peer is None:
            return 0, 0
        ping = m.Ping(self._pulse.probe(), "0" * padding)
        data = self._codec.encode(ping)
        self._out.append(data)
        return ping.value, len(data)

    def close(self, code: int = 1000, reason: str = "") -> None:
        """The connection is over; write what `data_to_send` still gives, then close with this code."""
        if not self.closed:
            self.closed, self.close_code = True, code
            # RFC 6455 section 5.5.1: a close frame holds 125 bytes, two of them the code.
            self.close_reason = reason.encode("utf-8", "replace")[:123].decode("utf-8", "ignore")

    # ---- time -------------------------------------------------------------------------------

    def get_timer(self) -> float | None:
        """When `handle_timer` is to be called at the latest; None when closed."""
        return None if self.closed else min(self._pulse.deadline, self._pulse.ping_due)

    def handle_timer(self, now: float) -> None:
        """Time passed: a heartbeat may be due, or the peer may be gone."""
        if self.closed:
            return
        if now >= self._pulse.deadline:
            self._fail(self._pulse.fault())
        elif now >= self._pulse.ping_due:
            self.ping(now)

    # ---- what the peer said -----------------------------------------------------------------

    def _take(self, message: m.Message) -> None:
        kind = type(message)
        if self.peer is None or kind is m.Hello or kind is m.Welcome:
            self._greet(message)
        elif isinstance(message, m.Ping):
            self._out.append(self._codec.encode(m.Pong(message.value)))
        elif isinstance(message, m.Pong):
            if self._pulse.pong(message.value):
                self._events.append(Received(message))
        elif isinstance(message, STARTS):
            self._take_start(message)
        elif isinstance(message, ASKS):
            self._take_ask(message)
        else:
            self._take_told(message)

    def _greet(self, message: m.Message) -> None:
        """The first message, or one that may only be the first."""
        if isinstance(message, m.Hello) and self.peer is None:
            common = set(message.versions) & set(VERSIONS)
            if not common:
                self._fail(e.UnsupportedVersion("this server speaks version 1", versions=list(VERSIONS)))
                return
            self.peer = message
            self._pulse.greeted(self.limits.ping_s)
            limits, ping_ms = self.limits.public(), round(self.limits.ping_s * 1000)
            welcome = m.Welcome(
                max(common), self.session, self._name, ping_ms, self.limits.hint_ms, limits
            )  # fmt: skip
            self._out.append(self._codec.encode(welcome))
            self._events.append(Received(message))
        elif isinstance(message, m.Welcome) and self.peer is None and self._said_hello:
            if message.version not in VERSIONS:
                self._fail(e.UnsupportedVersion(f"the server chose version {message.version}"))
                return
            self.peer = message
            self._pulse.greeted(message.ping_ms / 1000)
            self._events.append(Received(message))
        elif isinstance(message, m.Error):
            self._take_error(message)
        else:
            when = "before" if self.peer is None else "after"
            self._fail(e.WrongState(f"{type(message).__name__} {when} the greeting"))

    def _take_start(self, message: StartMessage) -> None:
        """The server is asked for a stream. A second start with the id of a living one ends nothing."""
        try:
            self._streams.start(message)
        except e.DuplicateStream as error:
            self._fail(error, scope=e.NOTHING, ref=message.stream_id)
        except e.StreamError as error:
            self._fail(error, message.stream_id)
        else:
            self._events.append(Received(message, message.stream_id))

    def _take_ask(self, message: AskMessage) -> None:
        """The server is asked something of a stream."""
        try:
            stream = self._streams.ask(message)
        except e.AbrError as error:
            named = self._streams.get(message.stream)
            self._fail(error, named.stream_id if named else None, ref=message.stream)
            return
        if stream is not None:
            self._events.append(Received(message, stream.stream_id))
            if stream.state == GONE or (stream.state == CANCELLED and stream.handle is None):
                self._streams.drop(stream)

    def _take_told(self, message: m.Message) -> None:
        """The client is told something."""
        if isinstance(message, _OF_STREAM):
            stream = self._streams.get(message.stream)
            if stream is None:
                if not self._streams.was(message.stream):
                    self._fail(e.UnknownStream(f"no stream {message.stream} here", stream=message.stream))
                return
            ended = isinstance(message, m.StreamEnd)
            if ended or stream.state != CANCELLED:
                self._events.append(Received(message, stream.stream_id))
            if isinstance(message, m.StreamEnd):
                self._streams.end(stream, moved=message.reason == m.MOVED)
        elif isinstance(message, m.StreamStarted):
            if self._streams.bind(message.stream_id, message.stream):
                self._events.append(Received(message, message.stream_id))
        elif isinstance(message, m.Error):
            self._take_error(message)
        else:
            named = self._streams.get(message.stream) if isinstance(message, m.FlowControl) else None
            self._events.append(Received(message, named.stream_id if named else None))

    def _take_error(self, error: m.Error) -> None:
        stream = self._streams.get(error.stream_id) or self._streams.get(error.stream)
        self._events.append(Received(error, stream.stream_id if stream else error.stream_id))
        if error.scope == e.CONNECTION:
            self.close(1000, error.code)
        elif error.scope == e.STREAM and stream is not None:
            self._streams.drop(stream)

    # ---- what we say ------------------------------------------------------------------------

    def _tells(self, message: m.Message) -> bool:
        """The server says something. False: it is about a stream that nobody waits for."""
        if not isinstance(message, (*_OF_STREAM, m.StreamStarted)):
            return True
        stream = self._streams.get(message.stream)
        if stream is None:
            return False
        if isinstance(message, m.StreamEnd):
            self._streams.end(stream, moved=message.reason == m.MOVED)
        return stream.state != CANCELLED

    def _asks(self, message: m.Message) -> bool:
        """The client says something. False: it changes nothing, or is about a stream that is over."""
        if isinstance(message, m.Hello) == self._said_hello:
            raise e.WrongState("hello was said" if self._said_hello else "say hello first")
        self._said_hello = True
        if isinstance(message, STARTS):
            stream = self._streams.start(message)
            if isinstance(message, m.Attach):
                stream.state, stream.worded = OPEN, True
        elif isinstance(message, ASKS):
            try:
                return self._streams.ask(message) is not None
            except e.UnknownStream:
                return False
        return True

    # ---- faults -----------------------------------------------------------------------------

    def _refuse(self, error: e.AbrError, data: bytes | str) -> None:
        """What was received could not be read."""
        if self.peer is None and error.scope == e.NOTHING:
            error = e.WrongState(f"the first message must be {'hello' if self._server else 'welcome'}")
        if error.scope != e.STREAM or isinstance(data, str):
            self._fail(error)
            return
        ref = self._codec.stream_of(data, self.limits)
        if ref is None or self.peer is None:
            self._fail(error, scope=e.CONNECTION)
            return
        stream = self._streams.get(ref)
        self._fail(error, stream.stream_id if stream else None, ref=ref)

    def _fail(
        self,
        error: e.AbrError,
        stream_id: str | None = None,
        *,
        scope: str | None = None,
        ref: m.StreamRef | None = None,
    ) -> None:
        """A fault that this connection found: an event, and all that `_fault` does."""
        scope = scope or error.scope
        self._events.append(Failed(error, stream_id, scope))
        self._fault(error, stream_id, scope, ref)

    def _fault(
        self, error: e.AbrError, stream_id: str | None, scope: str, ref: m.StreamRef | None = None
    ) -> None:
        """Tell the peer (a server does), and end what the scope says."""
        stream = self._streams.get(stream_id)
        if self._server:
            handle = stream.handle if stream else ref if isinstance(ref, int) else None
            named = stream_id or (ref if isinstance(ref, str) else None)
            self._out.append(self._codec.encode(error_message(error, scope, handle, named)))
        if scope == e.STREAM and stream is not None:
            self._streams.drop(stream)
        elif scope == e.CONNECTION:
            self.close(error.close if error.scope == e.CONNECTION else e.ConnectionFault.close, error.message)
