"""
The sound of one speech, which may come in parts from one server after another: heard one behind the other.

A `Player` each; here they look like one. A part that was cut short is complete in itself (protocol/SPEC.md,
Moving), so that the next begins at its very end. It must not know who sends, or why there is another part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..stream.live import Lateness
from ..stream.player import Player
from ..stream.reporter import Position
from ..units import FRAME_TICKS, samples_to_ticks, ticks_to_ms
from ..wire.messages import Message


@dataclass(slots=True)
class _Past:
    """What parts that were heard to their end have left: sums."""

    ticks: int = 0
    switches: int = 0
    stalls: int = 0
    stall_ms: int = 0
    late: Lateness = field(default_factory=Lateness)
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, player: Player) -> None:
        self.ticks += player.played
        self.switches += player.switches
        self.stalls += player.stalls
        self.stall_ms += player.stall_ms
        self.late = self.late.plus(player.lateness)
        self.seconds = _sum(self.seconds, player.seconds_played)


class Parts:
    """
    Args:
        first: the player of the first part.
        another: makes the player of a further part, which is to have this rate; None: there is none.
    """

    def __init__(self, first: Player, another: Callable[[int | None], Player] | None = None) -> None:
        self._players, self._another = [first], another
        self._past = _Past()
        self._waited = _Past()
        """Stalls between two parts."""
        self._waits = False
        self._rendered = self._rendered_before = 0
        self.begins = 0
        """Ticks before the part that is received now."""

    # ------------------------------------------------------------ arrivals

    @property
    def receiving(self) -> Player:
        """The player of the part that is received."""
        return self._players[-1]

    @property
    def can_grow(self) -> bool:
        """Whether there may be another part."""
        return self._another is not None

    def on_message(self, message: Message) -> None:
        """As of `Player`, of the part that is received."""
        self.receiving.on_message(message)

    def grow(self, ticks: int) -> None:
        """The part that was received is so long; what comes now is the next."""
        assert self._another is not None, "`can_grow` tells"
        player = self._another(self.receiving.out_rate)
        if self.playing.paused:
            player.pause()
        self.begins += ticks
        self._players.append(player)

    @property
    def position(self) -> Position:
        """What a report on the part that is received says."""
        player = self.receiving
        return Position(
            played=player.played,
            buffer_ms=player.buffer_ms,
            stalls=player.stalls,
            stall_ms=player.stall_ms,
            highest=player.highest,
            complete=player.finished,
            loss=player.lateness.loss,
        )

    # ------------------------------------------------------------ sound

    @property
    def playing(self) -> Player:
        """The player of the part that is heard."""
        while len(self._players) > 1 and self._players[0].finished:
            self._past.add(self._players.pop(0))
            self._rendered_before = self._rendered
        return self._players[0]

    def render(self) -> npt.NDArray[np.int16] | None:
        """As of `Player`."""
        player = self.playing
        frame = player.render()
        if frame is not None:
            self._rendered += samples_to_ticks(len(frame), player.out_rate or 1)
            self._waits = False
        elif self._past.ticks and not (player.started or player.paused or player.finished):
            self._waited.stalls += not self._waits
            self._waited.stall_ms += int(ticks_to_ms(FRAME_TICKS))
            self._waits = True
        return frame

    def pause(self) -> None:
        """As of `Player`."""
        for player in self._players:
            player.pause()

    def resume(self) -> None:
        """As of `Player`."""
        for player in self._players:
            player.resume()

    # ------------------------------------------------------------ what may be seen

    @property
    def can_render(self) -> bool:
        """As of `Player`."""
        return self.playing.can_render

    @property
    def started(self) -> bool:
        """As of `Player`, of the whole."""
        return self._past.ticks > 0 or self.playing.started

    @property
    def finished(self) -> bool:
        """As of `Player`, of the whole."""
        return self.playing.finished and len(self._players) == 1

    @property
    def paused(self) -> bool:
        """As of `Player`."""
        return self.playing.paused

    @property
    def played(self) -> int:
        """Ticks of the whole."""
        return self.playing.played + self._past.ticks

    @property
    def buffer_ms(self) -> int:
        """As of `Player`, over all parts."""
        return sum(player.buffer_ms for player in (self.playing, *self._players[1:]))

    @property
    def rung_played(self) -> str | None:
        """As of `Player`."""
        return self.playing.rung_played or next(reversed(self._past.seconds), None)

    @property
    def seconds_played(self) -> dict[str, float]:
        """As of `Player`."""
        return _sum(self._past.seconds, self.playing.seconds_played)

    @property
    def switches(self) -> int:
        """As of `Player`."""
        return self._past.switches + self.playing.switches

    @property
    def stalls(self) -> int:
        """As of `Player`, and waits between two parts."""
        return self._past.stalls + self._waited.stalls + self.playing.stalls

    @property
    def stall_ms(self) -> int:
        """As of `Player`, and waits between two parts."""
        return self._past.stall_ms + self._waited.stall_ms + self.playing.stall_ms

    @property
    def lateness(self) -> Lateness:
        """As of `Player`."""
        return self._past.late.plus(self.playing.lateness)

    def media_at(self, ticks: int) -> int:
        """As of `Player`; of the parts before this one as if all of it had been given as it was sent."""
        here = ticks - self._rendered_before
        return self._past.ticks + (self.playing.media_at(here) if here >= 0 else here)


def _sum(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    return {rung: one.get(rung, 0.0) + other.get(rung, 0.0) for rung in {**one, **other}}
