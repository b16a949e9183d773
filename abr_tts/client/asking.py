"""
What is said to the server for one speech: the request, its text as it comes, and both again after the
connection was lost.

Gives messages; it must not know how they are sent, nor what comes back but `stream_started`.
"""

from __future__ import annotations

import uuid
from dataclasses import replace

from ..wire import messages as m
from .heard import HeardText

PIECE_CHARS = 50_000
"""Longest text in one message: 200 kB in the widest script, far below the 1 MiB of a message.
More goes in pieces, so that the server's own limit answers and not that of a message."""


class Asking:
    """
    Args:
        request: what was asked first.
        text: of the speech; whoever adds to it adds here.
    """

    def __init__(self, request: m.StreamStart, text: HeardText) -> None:
        self._request, self._text = request, text
        self.stream_id = request.stream_id
        """The name of the stream; a new one when it must be asked for anew."""
        self.handle: int | None = None
        """Its number on the connection, once it has started there."""
        self._token = ""
        self.said = 0
        """Characters of the text that servers before this one have spoken."""
        self._ended = not request.open
        self._known = True
        """The server takes text: it was asked, and is not about to say how much it has."""

    @property
    def ref(self) -> int | str:
        """How messages name the stream."""
        return self.stream_id if self.handle is None else self.handle

    def add(self, piece: str) -> list[m.Message]:
        """More text."""
        self._text.add(piece)
        return [m.Text(self.ref, piece)] if self._known else []

    def end(self) -> list[m.Message]:
        """No more text comes."""
        self._ended = True
        return [m.TextEnd(self.ref)] if self._known else []

    def started(self, message: m.StreamStarted) -> list[m.Message]:
        """The server has begun, or goes on; then the text that it lacks is said."""
        self.handle, self._token = message.stream, message.token
        if self._known:
            return []
        self._known = True
        return self._behind(message.chars)

    def elsewhere(self, chars: int, voice: str | None = None) -> bool:
        """
        This server speaks `chars` more of the text and then stops; the rest is to be asked of another.

        Args:
            voice: that spoke, for where none was asked for: the rest alone might get another.

        Returns:
            Whether there is a rest, or may be.
        """
        self.said += chars
        self._token = ""
        if voice and self._request.voice is None:
            self._request = replace(self._request, voice=voice)
        return not self._ended or bool(self._text.text[self.said :].strip())

    def lost(self) -> None:
        """The connection is gone."""
        self.handle, self._known = None, False

    def again(self, wanted: tuple[tuple[int, int], ...], played: int) -> list[m.Message]:
        """
        What is said on another connection: to go on, or, where nothing had begun, to begin under a new
        name, since the server may have begun under the old one.

        Args:
            wanted: (track, pts of the next packet) of each track in play.
            played: ticks that were heard.
        """
        if self._token:
            return [m.Attach(self.stream_id, self._token, wanted, played)]
        self.stream_id, self._known = str(uuid.uuid4()), True
        start = replace(self._request, stream_id=self.stream_id)
        rest = self._text.text[self.said :]
        if self._ended and len(rest) <= PIECE_CHARS:
            return [replace(start, text=rest, open=False)]
        return [replace(start, text="", open=True), *self._behind(0)]

    def _behind(self, chars: int) -> list[m.Message]:
        rest = self._text.text[self.said + chars :]
        pieces = [rest[at : at + PIECE_CHARS] for at in range(0, len(rest), PIECE_CHARS)]
        messages: list[m.Message] = [m.Text(self.ref, piece) for piece in pieces]
        return [*messages, m.TextEnd(self.ref)] if self._ended else messages

    def unwanted(self) -> list[m.Message]:
        """What ends it on another connection, if a server holds it (SPEC.md, Reconnect and resume)."""
        attach = m.Attach(self.stream_id, self._token, (), 0)
        return [attach, m.Cancel(self.stream_id)] if self._token else []
