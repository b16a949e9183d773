"""
Whose turn it is to be spoken: streams that have begun go on, new ones wait until the engine has room.

Two things must hold for a new stream to begin. An engine that makes speech r times as fast as it sounds
keeps r streams for each worker going, and no more. And a worker must be free of streams that could run dry: a
clause cannot be broken off, so a stream is safe only when its listener holds as much as the others' clauses
may take before its own next one. Until then it is served before those that are safe. Later words of a stream
that has begun never wait here. How fast the engine is, is measured; until it has spoken, a worker carries one
stream.

Speech that comes whole (`easing`) is patient: nobody listens before all of it is there. It begins after
everybody else, is never served before others, and asks for its turn at every clause, so that whoever comes
meanwhile waits for one clause of it at most. Once it has waited for long, it waits no longer than others.

It knows neither text nor sockets. Time is an argument.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

FORGET_S = 60.0
"""Seconds of sound after which half of what was measured of the engine is forgotten: some ten clauses."""

CLAUSE_FADES = 0.95
"""What is left of the longest clause's time with each clause that comes after it: some twenty count."""

SHORT_S = 0.2
"""Wait for the engine below which no stream is in danger: players hold so much before they begin."""

IDLE_S = 20.0
"""
Seconds without a word after which a listener who has enough to hear does not count as one who listens: the
longest clause sounds for 14 s (200 characters), so whoever hears on asks for the next by then.
"""

TELL_AFTER_S = 0.3
"""Seconds of waiting before it is told: what is shorter, people take for immediate."""

TELL_AGAIN_S = 5.0
"""
Seconds after which a new place is told although it is more than half of the last one told; then twice as
many, and so on. So one that begins at place p and waits w seconds is told log2(p) + log2(w / 5) + 2 times at
most: of 64 that are served within five seconds nobody is told more than seven times. A guess.
"""

PATIENCE_S = 30.0
"""
Seconds after which a stream that comes whole has its turn as if it were heard as it is made, lest others that
come for ever keep it waiting for ever. As long as what is held of it at most (`stream.max_ahead_s`). A guess.
"""

FIRST_TURN_S = 1.0
"""Seconds that a turn is taken to last before one was measured. A guess."""

TURN_WEIGHT = 0.2
"""Weight of the newest turn in their mean: the last ten or so count."""


class Speaker(Protocol):
    """A stream that has words to say."""

    patient: bool
    """Nobody listens before all of it is there."""

    @property
    def lead_s(self) -> float:
        """Seconds of speech that were made and not heard yet."""


@dataclass(slots=True)
class _Waiting:
    """A stream that waits: what begins it, and what is told of its place."""

    begin: Callable[[], None]
    tell: Callable[[int, float], None]
    since: float
    told: int = 0
    told_at: float = 0.0
    patience_s: float = TELL_AGAIN_S

    def due(self, place: int, now: float) -> bool:
        """Whether its place is worth telling."""
        if not self.told:
            return now - self.since >= TELL_AFTER_S
        if place <= self.told // 2:
            return True
        return place < self.told and now - self.told_at >= self.patience_s

    def note(self, place: int, now: float) -> None:
        """It is told."""
        if self.told and place > self.told // 2:
            self.patience_s *= 2
        self.told, self.told_at = place, now


class Speed:
    """How long the engine takes for a second of sound."""

    def __init__(self) -> None:
        self._took_s = self._sound_s = 0.0
        self.clause_s = 0.0
        """Seconds of a worker that a clause may take: the longest of late."""

    @property
    def factor(self) -> float | None:
        """Seconds of a worker for a second of sound; None: it has not spoken yet."""
        return self._took_s / self._sound_s if self._sound_s else None

    def add(self, took_s: float, sound_s: float) -> None:
        """A clause of so much sound took so long."""
        self.clause_s = max(took_s, self.clause_s * CLAUSE_FADES)
        keep = 0.5 ** (sound_s / FORGET_S)
        self._took_s = self._took_s * keep + took_s
        self._sound_s = self._sound_s * keep + sound_s


class Turns:
    """
    Args:
        share: of the engine that streams may take together; above 1 they may stall, and none waits lest
            another does.
        most: streams that wait.
        workers: clauses that the engine processes which are ready speak at once.
        speed: of the engine.
        most_patient: streams that wait to come whole.
        short: whether power is so short that these do not begin.
    """

    def __init__(
        self,
        share: float,
        most: int,
        workers: Callable[[], int],
        speed: Speed,
        most_patient: int = 0,
        short: Callable[[], bool] = lambda: False,
    ) -> None:
        self._share, self._most, self._workers = share, most, workers
        self._most_patient, self._short = most_patient, short
        self.speed = speed
        self._speaking: dict[Speaker, float] = {}
        self._idle: dict[Speaker, float] = {}
        self._waiting: OrderedDict[Speaker, _Waiting] = OrderedDict()
        self._patient: OrderedDict[Speaker, _Waiting] = OrderedDict()
        self._patient_since: dict[Speaker, float] = {}
        self._turn_s = FIRST_TURN_S

    @property
    def room(self) -> float:
        """Streams that the engine keeps going at once; at least one for each worker."""
        workers, factor = self._workers(), self.speed.factor
        if factor is None:
            return workers * max(1.0, self._share)
        return max(workers, workers * self._share / factor) if factor > 0 else float("inf")

    @property
    def speaking(self) -> int:
        """Streams that have words to say and may."""
        return len(self._speaking)

    @property
    def waiting(self) -> int:
        """Streams that have words to say and wait."""
        return len(self._waiting)

    @property
    def patient(self) -> int:
        """Streams that come whole and wait."""
        return len(self._patient)

    @property
    def full(self) -> bool:
        """Whether one more stream would be one too many, even to wait."""
        return self.waiting >= self._most and not self._has_room

    @property
    def full_of_patient(self) -> bool:
        """The same of streams that come whole."""
        return self.patient >= self._most_patient

    def wait_s(self, place: int) -> float:
        """Seconds that the stream at a place of the queue, 1 the first, is going to wait; an estimate."""
        room = self.room
        return 0.0 if room == float("inf") else place * self._turn_s / max(1.0, room)

    def take(
        self,
        stream: Speaker,
        begin: Callable[[], None],
        tell: Callable[[int, float], None],
        now: float,
        *,
        begun: bool,
    ) -> None:
        """
        A stream has words to say: `begin` is called now, or when its turn comes.

        Args:
            stream: whose; one that speaks already goes on.
            begin: gives the words to the engine.
            tell: is told place and seconds while it waits, and again when its place has halved.
            now: seconds on any monotonic clock, as everywhere.
            begun: it has spoken before: it does not wait.
        """
        self._idle.pop(stream, None)
        if begun or stream in self._speaking:
            self._speaking.setdefault(stream, now)
            begin()
        elif stream in self._waiting:
            return
        elif self._has_room and not self._waiting:
            self._speaking[stream] = now
            begin()
        else:
            self._waiting[stream] = _Waiting(begin, tell, now)

    def take_after(
        self,
        stream: Speaker,
        begin: Callable[[], None],
        tell: Callable[[int, float], None],
        now: float,
        *,
        begun: bool,
    ) -> None:
        """
        The same for a clause of a patient stream, its one before is over; which has begun goes before those
        that have not.
        """
        if stream in self._patient:
            return
        self._speaking.pop(stream, None)
        self._patient_since.setdefault(stream, now)
        self._patient[stream] = _Waiting(begin, tell, now, told=1 if begun else 0)
        self._patient.move_to_end(stream, last=not begun)
        self.look(now)

    def rest(self, stream: Speaker, now: float) -> None:
        """A stream has no words to say for now, or is over: the next one's turn."""
        self._idle.pop(stream, None)
        self._patient_since.pop(stream, None)
        since = self._speaking.pop(stream, None)
        if since is not None and not stream.patient:
            self._turn_s += TURN_WEIGHT * (now - since - self._turn_s)
        waited = self._waiting.pop(stream, None) or self._patient.pop(stream, None)
        if waited is None and since is None:
            return
        self.look(now)

    def idle(self, stream: Speaker, now: float) -> None:
        """A stream has words to say and no need to: its listener has enough for now."""
        if stream in self._speaking:
            self._idle.setdefault(stream, now)

    def look(self, now: float) -> None:
        """Begin those for whom there is room by now; tell the others where they stand."""
        for stream in [one for one, since in self._idle.items() if now - since >= IDLE_S]:
            del self._idle[stream], self._speaking[stream]
        while self._has_room and (queue := self._next_queue(now)):
            stream, waiting = queue.popitem(last=False)
            self._speaking[stream] = now
            waiting.begin()
        self._tell(now)

    def _next_queue(self, now: float) -> OrderedDict[Speaker, _Waiting]:
        """Whose turn it is; empty: nobody's."""
        if not self._patient or self._short():
            return self._waiting
        patient_for_s = now - self._patient_since[next(iter(self._patient))]
        return self._waiting if self._waiting and patient_for_s < PATIENCE_S else self._patient

    def needy(self, stream: Speaker) -> bool:
        """Whether a stream could run dry before its turn comes, and so goes before those that are safe."""
        wait_s = self._longest_wait_s
        return not stream.patient and self._share <= 1 and wait_s >= SHORT_S and stream.lead_s < wait_s

    @property
    def _longest_wait_s(self) -> float:
        """Seconds until a worker takes up a clause, if every stream has just asked for one."""
        return (len(self._speaking) + 1) / max(1, self._workers()) * self.speed.clause_s

    @property
    def _has_room(self) -> bool:
        if len(self._speaking) + 1 > self.room:
            return False
        return sum(map(self.needy, self._speaking)) < max(1, self._workers())

    def _tell(self, now: float) -> None:
        for place, waiting in enumerate([*self._waiting.values(), *self._patient.values()], 1):
            if waiting.due(place, now):
                waiting.note(place, now)
                waiting.tell(place, self.wait_s(place))
