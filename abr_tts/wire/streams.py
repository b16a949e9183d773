"""
The streams of one connection: what may still be asked of each, and which integer names it.

A table of states, the handles, and what is remembered of streams that are gone. The server
uses it on what it receives, the client on what it is about to send: the same rules. Knows
no media, sends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..errors import (
    BadAudio,
    DuplicateStream,
    EmptyText,
    TextAfterEnd,
    TextTooLong,
    TooManyStreams,
    UnknownStream,
)
from . import messages as m

OPEN, CLIP, COMPLETE, CANCELLED, DRAINING, GONE = "open", "clip", "complete", "cancelled", "draining", "gone"
"""More text may come; uplink sound may come; all is here; the client cancelled; `stream_end` has
passed and the listener plays on; over."""

MOVED = "moved"
"""As `DRAINING`, and the rest of the text is to be asked for at another server: what crosses is ignored."""

TEXT, TEXT_END, CANCEL, AUDIO, OTHER = "text", "text_end", "cancel", "audio", "other"
"""What a client says of a stream; AUDIO is uplink audio; OTHER is pause, resume and hint."""

PASS, IGNORE, LATE, STRAY = "pass", "ignore", "late", "stray"
"""Hand it on; it crossed a message of ours or changes nothing; text after the end of the text; sound
for a stream that takes none, or no more."""

NEXT = {  # state: {signal: (state, verdict)}
    OPEN: {
        TEXT: (OPEN, PASS),
        TEXT_END: (COMPLETE, PASS),
        CANCEL: (CANCELLED, PASS),
        AUDIO: (GONE, STRAY),
        OTHER: (OPEN, PASS),
    },
    CLIP: {
        TEXT: (GONE, LATE),
        TEXT_END: (COMPLETE, PASS),
        CANCEL: (CANCELLED, PASS),
        AUDIO: (CLIP, PASS),
        OTHER: (CLIP, PASS),
    },
    COMPLETE: {
        TEXT: (GONE, LATE),
        TEXT_END: (COMPLETE, IGNORE),
        CANCEL: (CANCELLED, PASS),
        AUDIO: (GONE, STRAY),
        OTHER: (COMPLETE, PASS),
    },
    CANCELLED: {
        TEXT: (CANCELLED, IGNORE),
        TEXT_END: (CANCELLED, IGNORE),
        CANCEL: (CANCELLED, IGNORE),
        AUDIO: (CANCELLED, IGNORE),
        OTHER: (CANCELLED, IGNORE),
    },
    DRAINING: {
        TEXT: (GONE, LATE),
        TEXT_END: (DRAINING, IGNORE),
        CANCEL: (GONE, PASS),
        AUDIO: (GONE, STRAY),
        OTHER: (DRAINING, PASS),
    },
    MOVED: {
        TEXT: (MOVED, IGNORE),
        TEXT_END: (MOVED, IGNORE),
        CANCEL: (GONE, PASS),
        AUDIO: (GONE, STRAY),
        OTHER: (MOVED, PASS),
    },
}

PLAYED_ON = frozenset({DRAINING, MOVED})
"""States of streams that merely sound on at their listener."""

HANDLES = 255
"""A handle is 1 to 255: one byte of msgpack up to 127, two beyond."""

REMEMBERED = 1_024
"""Ids of streams that are gone, kept to refuse a second use; a choice: 100 kB a connection at most."""

StartMessage: TypeAlias = m.StreamStart | m.Attach | m.AudioStart
AskMessage: TypeAlias = (
    m.Text | m.TextEnd | m.Cancel | m.Pause | m.Resume | m.BitRateHint | m.UplinkAudio
)  # fmt: skip
STARTS = (m.StreamStart, m.Attach, m.AudioStart)
ASKS = (m.Text, m.TextEnd, m.Cancel, m.Pause, m.Resume, m.BitRateHint, m.UplinkAudio)

_SIGNALS: dict[type[Any], str] = {
    m.Text: TEXT, m.TextEnd: TEXT_END, m.Cancel: CANCEL, m.UplinkAudio: AUDIO,
}  # fmt: skip


@dataclass(slots=True)
class Stream:
    """One stream as the connection sees it."""

    stream_id: str
    state: str
    handle: int | None = None
    chars: int = 0
    """Code points of text so far."""
    worded: bool = False
    """Some of it was more than white space, or it is sound that comes."""


class Streams:
    """
    The streams of a connection, by id and by handle.

    Args:
        most: streams at once, draining ones not counted.
        chars: code points of text that one stream may have; None where the peer decides.
    """

    def __init__(self, most: int, chars: int | None) -> None:
        self._most, self._chars = most, chars
        self._by_id: dict[str, Stream] = {}
        self._by_handle: dict[int, Stream] = {}
        self._gone: dict[str, None] = {}
        self._gone_handles: set[int] = set()
        self._last_handle = 0

    def __iter__(self) -> Iterator[Stream]:
        return iter(self._by_id.values())

    @property
    def active(self) -> int:
        """Streams that count against the limit: all but the draining ones."""
        return sum(stream.state not in PLAYED_ON for stream in self)

    def get(self, ref: m.StreamRef | None) -> Stream | None:
        """The stream with this handle or id, if it lives."""
        if type(ref) is int:
            return self._by_handle.get(ref)
        return self._by_id.get(ref) if type(ref) is str else None

    def was(self, ref: m.StreamRef) -> bool:
        """Whether this named a stream that is gone."""
        return ref in self._gone_handles if type(ref) is int else ref in self._gone

    def start(self, message: StartMessage) -> Stream:
        """
        A stream is asked for.

        Raises:
            DuplicateStream: the id is in use, or was used and this is no attach.
            TooManyStreams: one more than the limit.
            EmptyText: nothing but white space, and no more to come.
            TextTooLong: more than the limit.
        """
        stream_id, again = message.stream_id, type(message) is m.Attach
        if stream_id in self._by_id or (stream_id in self._gone and not again):
            state = "in" if stream_id in self._by_id else "no longer in"
            raise DuplicateStream(f"stream {stream_id} is {state} use; an id names one stream")
        if self.active >= self._most:
            raise TooManyStreams(f"more than {self._most} streams at once", limit=self._most)
        stream = Stream(stream_id, COMPLETE)
        if isinstance(message, m.AudioStart):
            stream.state, stream.worded = CLIP, True
        elif isinstance(message, m.StreamStart):
            stream.state = OPEN if message.open else COMPLETE
            self._add_text(stream, message.text)
            if not message.open and not stream.worded:
                raise EmptyText("there is no text to speak")
        self._gone.pop(stream_id, None)
        self._by_id[stream_id] = stream
        return stream

    def ask(self, message: AskMessage) -> Stream | None:
        """
        Something is asked of a stream: the stream, in its next state; None when it says nothing new.

        Raises:
            UnknownStream: there is none, and what was said is not merely late.
            TextAfterEnd, TextTooLong, EmptyText, BadAudio: the stream, unchanged, is to be ended by
                the caller.
        """
        signal = _SIGNALS.get(type(message), OTHER)
        stream = self.get(message.stream)
        if stream is None:
            if signal == TEXT or not self.was(message.stream):
                raise UnknownStream(f"no stream {message.stream} here", stream=message.stream)
            return None
        state, verdict = NEXT[stream.state][signal]
        if verdict == LATE:
            raise TextAfterEnd("text after the end of the text")
        if verdict == STRAY:
            raise BadAudio("sound for a stream that takes none, or no more")
        if verdict == IGNORE:
            return None
        if isinstance(message, m.Text):
            self._add_text(stream, message.text)
        elif signal == TEXT_END and not stream.worded:
            raise EmptyText("the text ended before there was any")
        stream.state = state
        if state == GONE:
            self.drop(stream)
        return stream

    def _add_text(self, stream: Stream, text: str) -> None:
        if self._chars is not None and stream.chars + len(text) > self._chars:
            raise TextTooLong(f"more than {self._chars} characters of text", limit=self._chars)
        stream.chars += len(text)
        stream.worded = stream.worded or (not text.isspace() and text != "")

    def allot(self, stream_id: str) -> Stream:
        """
        Give a stream its handle: the next of 1 to 255 that is free, round and round.

        Where all are taken, the oldest stream that merely drains gives up its own.

        Raises:
            UnknownStream: the stream is gone, or has been cancelled.
        """
        stream = self._by_id.get(stream_id)
        if stream is None or stream.state == CANCELLED:
            raise UnknownStream(f"stream {stream_id} is not waiting for its start")
        if stream.handle is None:
            self._bind(stream, self._free_handle())
        return stream

    def _free_handle(self) -> int:
        if len(self._by_handle) >= HANDLES:
            self.drop(next(stream for stream in self if stream.state in PLAYED_ON))
        handle = self._last_handle % HANDLES + 1
        while handle in self._by_handle:
            handle = handle % HANDLES + 1
        self._last_handle = handle
        return handle

    def bind(self, stream_id: str, handle: int) -> bool:
        """Take the handle that the server gave (client side). False: no stream of ours."""
        stream = self._by_id.get(stream_id)
        before = self._by_handle.get(handle)
        if before is not None and before is not stream:
            self.drop(before)
        if stream is not None:
            self._bind(stream, handle)
        return stream is not None

    def _bind(self, stream: Stream, handle: int) -> None:
        if stream.handle is not None and stream.handle != handle:  # a server that names it anew
            self._by_handle.pop(stream.handle, None)
            self._gone_handles.add(stream.handle)
        stream.handle = handle
        self._by_handle[handle] = stream
        self._gone_handles.discard(handle)

    def end(self, stream: Stream, *, moved: bool = False) -> None:
        """`stream_end` passed: the listener plays on, unless it was the listener who ended it."""
        if stream.state == CANCELLED:
            self.drop(stream)
        else:
            stream.state = MOVED if moved else DRAINING

    def drop(self, stream: Stream) -> None:
        """The stream is over. One that never had a handle was refused: its id may come again."""
        if self._by_id.get(stream.stream_id) is not stream:
            return
        cancelled, stream.state = stream.state == CANCELLED, GONE
        del self._by_id[stream.stream_id]
        if stream.handle is not None:
            self._by_handle.pop(stream.handle, None)
            self._gone_handles.add(stream.handle)
        if stream.handle is not None or cancelled:
            self._gone[stream.stream_id] = None
            if len(self._gone) > REMEMBERED:
                del self._gone[next(iter(self._gone))]
