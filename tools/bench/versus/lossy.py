"""
Playing what comes in datagrams, which may be lost: which frame is heard when, and from what. Pure.

The rules are the house's for what it has in common with a stream: it starts with 200 ms in hand,
waits in silence where nothing at all is there, goes on with 200 ms in hand, and skips nothing that
may still come. A hole, behind which something is there, is filled at its time: from the copy in the
packet behind it, or by the decoder's guess.
"""

from __future__ import annotations

from dataclasses import dataclass

IN_HAND = 10
"""Frames of 20 ms that a start or a going on needs, holes among them: 200 ms."""

GIVE_UP = 50
"""Frames' time that is waited for the end of an utterance: after a second without it is lost."""

GUESSED = 3
"""Frames in a row that a decoder can make up (60 ms); the rest of a hole counts as a wait."""

HEARD, COPY, GUESS = "heard", "copy", "guess"


@dataclass(frozen=True, slots=True)
class Step:
    """
    A frame to put out.

    Args:
        kind: HEARD, COPY (decode the copy in `packet`) or GUESS (there is none).
        packet: what came.
    """

    kind: str
    packet: bytes | None = None


class LossyPlayout:
    """Packets of one utterance by their index from 0; `render` once every 20 ms."""

    def __init__(self) -> None:
        self._packets: dict[int, bytes] = {}
        self._next = 0
        self._highest = -1
        self._end: int | None = None
        self._waiting = True
        self._waited = 0
        self._guesses = 0
        self._in_wait = False
        self.started = False
        self.stalls = 0
        """Waits and long holes."""
        self.silent = 0
        """Frames' time of waits in mid-speech."""
        self.holes = 0
        """Frames put out that nobody can make up: what a hole is longer than GUESSED."""

    def arrive(self, index: int, packet: bytes) -> None:
        """A packet is there; for a frame that is past it comes in vain."""
        self._waited = 0
        self._highest = max(self._highest, index)
        if index >= self._next:
            self._packets[index] = packet

    def end(self, frames: int) -> None:
        """The utterance has so many frames."""
        self._end = frames

    @property
    def finished(self) -> bool:
        """Whether every frame was put out or given up."""
        return self._end is not None and self._next >= self._end

    @property
    def ready(self) -> bool:
        """Before the start: whether there is enough for it."""
        return self._may_go_on()

    def render(self) -> Step | None:
        """What sounds for the next 20 ms; None: nothing, and the frame is still to come."""
        if self.finished:
            return None
        if not self._may_go_on():
            self._note_silence()
            return None
        self.started, self._waiting, self._in_wait = True, False, False
        index, packet = self._next, self._packets.pop(self._next, None)
        self._next += 1
        if packet is not None:
            self._guesses = 0
            return Step(HEARD, packet)
        behind = self._packets.get(index + 1)
        if behind is not None:
            self._guesses = 0
            return Step(COPY, behind)
        self._note_guess()
        return Step(GUESS)

    def _may_go_on(self) -> bool:
        ahead = self._highest - self._next + 1
        if self._end is not None and self._waited >= GIVE_UP:
            return True
        if not self._waiting:
            self._waiting = ahead <= 0
            return not self._waiting
        return ahead >= IN_HAND or (self._end is not None and self._highest >= self._end - 1)

    def _note_silence(self) -> None:
        self._waited += 1
        if self.started:
            self.stalls += not self._in_wait
            self.silent += 1
            self._in_wait = True

    def _note_guess(self) -> None:
        self._guesses += 1
        if self._guesses > GUESSED:
            self.stalls += self._guesses == GUESSED + 1
            self.holes += 1
