"""
One core's messages on their way to the listener: what the connection is still to write, what is kept until it
is heard, and what is told again, before anything new, when another connection takes over.

It must not know why something is sent, nor when; in which bytes it is coded is decided before.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from ..control.controller import BANK
from ..units import FRAME_TICKS
from ..wire.compact import PACKETS_MOST
from ..wire.messages import Audio, Mark, StreamEnd, Switch
from ..wire.messages import Track as TrackMessage
from .outputs import Output, Retained, Transmit, Transmitted
from .pacer import NOTHING, Cargo
from .retention import Again, Retention
from .setup import Attachment
from .track import EncodeJob


class Outgoing:
    """
    Positions are pts in ticks.

    Args:
        handle: the stream's number on its connection.
        outputs: of the core, for what the connection is to write.
    """

    def __init__(self, handle: int, outputs: deque[Output]) -> None:
        self._handle, self._outputs = handle, outputs
        self._end: StreamEnd | None = None
        self.kept = Retention()
        """What was not heard yet."""
        self.unsent: deque[Cargo] = deque()
        """What they carry that the connection was given to write, and has not written."""
        self.again: deque[Again | StreamEnd] = deque()
        """What is told again before anything new."""
        self.attached = True
        """There is a connection. Without one nothing is given out; it is told again, from what is kept."""

    @property
    def idle(self) -> bool:
        """Whether there is a connection, and it has written all."""
        return self.attached and not (self.unsent or self.again)

    def written(self) -> Cargo:
        """The connection has written the oldest one that it was given; what that carried."""
        return self.unsent.popleft()

    # ------------------------------------------------------------ what is told

    def mark(self, pts: int, begin: int, end: int) -> None:
        """The clause text[begin:end] starts at `pts`."""
        mark = Mark(self._handle, pts, begin, end)
        self.kept.mark(mark)
        self._transmit(mark)

    def announce(self, messages: list[TrackMessage | Switch]) -> None:
        """A track opens, or changes its rung, in these words."""
        self.kept.opened(messages)
        for message in messages:
            self._transmit(message)

    def audio(self, job: EncodeJob, packets: list[bytes]) -> None:
        """The packets of `job`, in one message unless it would be too long."""
        for first in range(0, len(packets), PACKETS_MOST):
            pts = job.pts + first * FRAME_TICKS
            held = Retained(job.track, pts, tuple(packets[first : first + PACKETS_MOST]))
            self.kept.add(job.rank, held)
            audio = Audio(self._handle, held.track, held.pts, held.packets)
            if self.again and job.rank == BANK:
                self.again.append(audio)
            else:
                self._transmit(audio, job.rank)

    def end(self, length: int, rate: int, codec: str, reason: str) -> None:
        """The end: so many samples at `rate`."""
        self._end = StreamEnd(self._handle, length, rate, 1, codec, reason)
        self._transmit(self._end)

    def drop(self) -> None:
        """None of it is wanted any more but what the connection was given already."""
        self.kept.clear()
        self.again.clear()

    def _transmit(self, message: Transmitted, rank: int = BANK) -> None:
        if not self.attached:
            return
        cargo = NOTHING
        if isinstance(message, Audio):
            cargo = Cargo(rank, ticks := len(message.packets) * FRAME_TICKS, message.pts + ticks)
        self.unsent.append(cargo)
        self._outputs.append(Transmit(message))

    # ------------------------------------------------------------ another connection

    def detach(self) -> None:
        """The connection is lost, and what it was to write."""
        self.attached = False
        self.unsent.clear()
        self.again.clear()

    def attach(self, to: Attachment, goes_on: tuple[int, int] | None) -> int:
        """
        Have ready for another connection what its listener lacks of the bank, in the same bytes.

        Args:
            goes_on: number of the bank's live track, and the pts of the next packet that it will make.

        Returns:
            The pts of the first packet that the listener lacks.

        Raises:
            ResumeLost: what it lacks is not held any more. Nothing has changed.
        """
        again = self.kept.again(to.handle, to.wanted, to.played, goes_on)
        self.kept.cut_upgrade()
        self._handle, self.attached = to.handle, True
        self.again.extend(again)
        if self._end is not None:
            self.again.append(replace(self._end, stream=to.handle))
        made = goes_on[1] if goes_on else 0
        return next((one.pts for one in again if isinstance(one, Audio)), made)

    def tell_again(self, full: bool) -> None:
        """
        Go on with what is told again: one message of audio at most, and the words around it.

        Args:
            full: as much is on the way as may be: no audio now.
        """
        while self.again:
            if isinstance(self.again[0], Audio) and (full or self.unsent):
                return
            self._transmit(self.again.popleft())
