"""
Where the listener is by now: reports of what was played, carried on between them.

It must not know what is sent; whoever asks bounds the answer by that.
"""

from __future__ import annotations

from ..units import seconds_to_ticks, ticks_to_seconds

EAGER_S = 0.5
"""Seconds of speech that a listener may have played before time allows it: more than that, and it
plays as fast as it can (it writes a file). Clocks and the first report differ by less."""


class PlayHead:
    """Positions are ticks, times are seconds; `now` never goes back."""

    def __init__(self) -> None:
        self.played = 0
        """What was reported."""
        self.eager = False
        """The listener plays faster than time passes."""
        self.paused = False
        """The listener has paused."""
        self._first_sent_at: float | None = None
        self._from, self._at = 0, 0.0
        """What is taken to have been heard at that time: what was reported, or a guess when it paused."""
        self._moves = False

    def sent(self, now: float) -> None:
        """Speech went out: from now on it may be heard."""
        if self._first_sent_at is None:
            self._first_sent_at = self._at = now
            self._moves = True

    def report(self, played: int, buffer_ms: float, now: float, delay_s: float) -> None:
        """
        The listener tells.

        Args:
            played: what it had rendered, already brought into bounds.
            buffer_ms: what it holds beyond that.
            delay_s: how long the report was on its way.
        """
        if self._first_sent_at is None:
            return
        ahead_s = ticks_to_seconds(played) - (now - self._first_sent_at)
        self.eager = self.eager or ahead_s > EAGER_S
        if played > self.played or self.played:
            self._at, self._moves = now - delay_s, buffer_ms > 0
            self._from = max(self.played, played)
        self.played = max(self.played, played)

    def pause(self, now: float) -> None:
        """The clock of the listener stands; where, is a guess: it may have starved. `played` stays."""
        self._from, self._at, self.paused = self.at(now), now, True

    def resume(self, now: float) -> None:
        """It goes on."""
        self._at, self.paused = now, False

    def at(self, now: float) -> int:
        """The pts that is heard at `now`, as far as one can tell."""
        if not self._moves or self.paused or self.eager:
            return self._from
        return self._from + seconds_to_ticks(max(0.0, now - self._at))


class EngineMeter:
    """Whether the engine is at work, and how long it takes for a second of speech."""

    def __init__(self) -> None:
        self.making = False
        """It is at work on a clause."""
        self._began = self._busy_s = self._speech_s = 0.0

    def begin(self, now: float) -> None:
        """A clause is begun."""
        self.making, self._began = True, now

    def made(self, seconds: float, now: float) -> None:
        """A chunk of so much speech came."""
        if self.making:
            self._busy_s += now - self._began
            self._began = now
            self._speech_s += seconds

    def end(self) -> None:
        """The clause is complete."""
        self.making = False

    @property
    def real_time_factor(self) -> float:
        """Seconds of work for a second of speech; 0 before the first chunk."""
        return self._busy_s / self._speech_s if self._speech_s else 0.0
