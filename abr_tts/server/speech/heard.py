"""
What a listener has heard, rung by rung, as far as a server can know.

A report says how many bytes have arrived and up to which pts sound was played. So we know which
packets the listener held by then, and it plays, frame by frame, the highest rank that it holds
(protocol/SPEC.md, "The player"). Two things are left out: that a higher rank is taken up only
where 200 ms of it are held, and what arrived and what was played between two reports (up to half
a second), which is taken as if it had arrived first. Both are less than the length of a fade or
two around a switch. A lying client lies about itself.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from ...units import FRAME_TICKS


class _Span(NamedTuple):
    """Packets of one layer: the frames from `begin` to `end`, at `rung`."""

    begin: int
    end: int
    rung: str


class Heard:
    """Positions of media are ticks, positions of the connection are bytes sent in all."""

    def __init__(self) -> None:
        self._on_the_way: deque[tuple[int, int, _Span]] = deque()
        self._held: tuple[deque[_Span], deque[_Span]] = (deque(), deque())
        self._played = 0

    def sent(self, position: int, rank: int, pts: int, frames: int, rung: str) -> None:
        """A message with the frames from `pts` on went out; with it the connection has sent `position`."""
        self._on_the_way.append((position, rank, _Span(pts, pts + frames * FRAME_TICKS, rung)))

    def moved(self) -> None:
        """
        Another connection: byte counts begin anew.

        What was under way of the bank is taken as held: it has come, or is told again. What was under
        way above it is not: it is lost, or the listener did not say in time that it has it.
        """
        for _, rank, span in self._on_the_way:
            if rank == 0:
                self._held[rank].append(span)
        self._on_the_way.clear()

    def report(self, received: int, played: int) -> dict[str, int]:
        """
        What a report adds: ticks heard, by rung.

        Args:
            received: bytes of the connection that the listener has.
            played: pts up to which it has played.
        """
        while self._on_the_way and self._on_the_way[0][0] <= received:
            _, rank, span = self._on_the_way.popleft()
            self._held[rank].append(span)
        end = min(played, max((spans[-1].end for spans in self._held if spans), default=0))
        heard: dict[str, int] = {}
        while self._played < end:
            rung, until = self._rung_at(self._played, end)
            if rung is not None:
                heard[rung] = heard.get(rung, 0) + until - self._played
            self._played = until
            self._forget()
        return heard

    def _forget(self) -> None:
        for spans in self._held:
            while spans and spans[0].end <= self._played:
                spans.popleft()

    def _rung_at(self, pts: int, end: int) -> tuple[str | None, int]:
        """The rung played there, of the highest rank that has it, of its newest track; and up to where."""
        for spans in reversed(self._held):
            found = None
            for span in spans:
                if span.begin > pts:
                    end = min(end, span.begin)
                    break
                # A track that follows another one in its layer begins one frame before that one ends.
                if pts < span.end:
                    found, end = span.rung, min(end, span.end)
            if found is not None:
                return found, end
        return None, end
