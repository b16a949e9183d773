"""
The shelf: streams that have no connection, for as long and as many as the settings allow.

Counting only. It knows no clock and not what a stream is but its size in memory; what becomes of one
that must go is for others to see to.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, Protocol, TypeVar

from ..config import ResumeSettings

WINDOW, STREAMS, BYTES = "window", "streams", "bytes"
"""Which limit a stream had to go for, as metrics name it."""


class Sized(Protocol):
    """What may lie on the shelf."""

    @property
    def held_bytes(self) -> int:
        """Bytes of sound and packets that it holds; it may grow."""


T = TypeVar("T", bound=Sized)


class Shelf(Generic[T]):
    """
    Streams by id, the one that lost its connection first of all in front.

    Args:
        settings: how long, how many, how large all together.
    """

    def __init__(self, settings: ResumeSettings) -> None:
        self._settings = settings
        self._lying: OrderedDict[str, tuple[float, T]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._lying)

    def __contains__(self, stream_id: object) -> bool:
        return stream_id in self._lying

    @property
    def held_bytes(self) -> int:
        """Bytes that all of them hold."""
        return sum(stream.held_bytes for _, stream in self._lying.values())

    @property
    def due(self) -> float | None:
        """When the next one has lain for its time; None: the shelf is empty."""
        return next((until for until, _ in self._lying.values()), None)

    def put(self, stream_id: str, stream: T, now: float) -> None:
        """A stream has lost its connection. `sweep` next."""
        self._lying[stream_id] = now + self._settings.window_s, stream

    def take(self, stream_id: str) -> T | None:
        """It has a connection again, or is over; None: it does not lie here."""
        _, stream = self._lying.pop(stream_id, (0.0, None))
        return stream

    def sweep(self, now: float) -> list[tuple[T, str]]:
        """Take away what has lain too long or is too much, oldest first; with the limit that it was."""
        gone: list[tuple[T, str]] = []
        held = self.held_bytes
        while (why := self._too_much(now, held)) is not None:
            _, (_, stream) = self._lying.popitem(last=False)
            held -= stream.held_bytes
            gone.append((stream, why))
        return gone

    def _too_much(self, now: float, held: int) -> str | None:
        """The limit that the oldest one must go for."""
        due = self.due
        if due is None:
            return None
        if now >= due:
            return WINDOW
        if len(self._lying) > self._settings.streams:
            return STREAMS
        return BYTES if held > self._settings.held_bytes else None
