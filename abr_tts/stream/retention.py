"""
What went out and was not heard yet: packets by rank, the words that opened their tracks, marks.

It is what a listener gets again who lost the connection, in the same bytes. It must not know what
is sent next, nor when.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import TypeAlias

from ..control.controller import BANK, UPGRADE
from ..errors import ResumeLost
from ..units import FRAME_TICKS
from ..wire.messages import Audio, Mark, Switch
from ..wire.messages import Track as TrackMessage
from .outputs import Retained

Again: TypeAlias = TrackMessage | Switch | Mark | Audio
"""What is told again after a reconnect."""


class Retention:
    """Positions are pts in ticks."""

    def __init__(self) -> None:
        self._packets: tuple[deque[Retained], deque[Retained]] = (deque(), deque())
        self._words: dict[int, list[TrackMessage | Switch]] = {}
        """Of each track of the bank that is not wholly heard: what opened it."""
        self._marks: deque[Mark] = deque()

    @property
    def packets(self) -> tuple[Retained, ...]:
        """Packets sent and not heard, by rank, oldest first."""
        return tuple(chain(*self._packets))

    def opened(self, messages: list[TrackMessage | Switch]) -> None:
        """A track of the bank was opened in these words; a retune alone is no opening."""
        if messages and isinstance(messages[0], TrackMessage) and messages[0].rank == BANK:
            self._words[messages[0].track] = messages

    def mark(self, mark: Mark) -> None:
        """A clause begins."""
        self._marks.append(mark)

    def add(self, rank: int, packets: Retained) -> None:
        """Packets are going out."""
        self._packets[rank].append(packets)

    def clear(self) -> None:
        """Nothing of it is wanted any more."""
        for packets in self._packets:
            packets.clear()
        self._words.clear()
        self._marks.clear()

    def forget(self, played: int, banked: int) -> None:
        """
        Free what the listener has played.

        Args:
            played: up to where it has heard.
            banked: up to where it is known to have the bank: of a track that goes on nothing may be
                left out, even if an upgrade was heard in its place.
        """
        bank, upgrade = self._packets
        while bank and bank[0].end <= min(played, banked):
            last = bank.popleft()
            if bank and bank[0].track != last.track:
                self._words.pop(last.track, None)
        while upgrade and upgrade[0].end <= played:
            upgrade.popleft()
        while len(self._marks) > 1 and self._marks[1].pts <= played:
            self._marks.popleft()  # the clause after it sounds already

    def again(
        self, handle: int, wanted: Mapping[int, int], played: int, goes_on: tuple[int, int] | None
    ) -> list[Again]:
        """
        What a listener lacks, in the words and bytes that were used before: the bank and marks.

        Upgrades are left out: beneath them is the bank, and the new link may not carry them.

        Args:
            handle: the stream's number on the new connection.
            wanted: track → pts of the next packet that the listener does not have.
            played: up to where it has heard: what it wants nothing of and ends there it has let go.
            goes_on: number of the bank's live track, and the pts of the next packet that it will make.

        Raises:
            ResumeLost: packets that it wants are not held any more, or it claims more than was sent.
        """
        messages: list[Again] = [replace(mark, stream=handle) for mark in self._marks]
        for number, words in self._words.items():
            packets = [one for one in self._packets[BANK] if one.track == number]
            live = goes_on is not None and number == goes_on[0]
            over = number not in wanted and bool(packets) and packets[-1].end <= played
            if not live and (over or not packets):
                continue
            opening = words[0]
            assert isinstance(opening, TrackMessage), "a track begins with its opening"
            begin = wanted.get(number, opening.start - opening.preroll * FRAME_TICKS)
            end = packets[-1].end if packets else goes_on[1] if goes_on else begin
            if not (packets[0].pts if packets else end) <= begin <= end:
                raise ResumeLost(f"track {number} is not held from {begin} on")
            messages += [replace(word, stream=handle) for word in words]
            messages += _missing(handle, packets, begin)
        return messages

    def cut_upgrade(self) -> None:
        """Upgrades that are on their way are lost, and are not sent again."""
        self._packets[UPGRADE].clear()


def _missing(handle: int, packets: list[Retained], begin: int) -> list[Audio]:
    """The packets from `begin` on, grouped as they were sent."""
    found = []
    for one in packets:
        skipped = max(0, -(-(begin - one.pts) // FRAME_TICKS))
        if skipped < len(one.packets):
            rest = one.packets[skipped:]
            found.append(Audio(handle, one.track, one.pts + skipped * FRAME_TICKS, rest))
    return found
