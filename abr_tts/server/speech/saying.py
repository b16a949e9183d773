"""
One utterance's words on their way to the engine: when its turn comes, in which voice, one clause at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ...engine.base import Samples, Sink, Voice
from ...engine.face import Asked
from ...wire.messages import StreamStart
from .surroundings import Services


class Saying:
    """
    Args:
        request: what was asked for.
        voice: of the first clause; its sample rate is the whole stream's.
        services: what all share.
        sink: takes what the engine says.
        warn: is told of scripts that cannot be pronounced, once of each.
        wait: is told of place and seconds while it is not its turn.
        lead_s: tells seconds of speech that were made and not heard yet.
        patient: nobody listens before all is there; its turn comes clause by clause, after everybody's.
    """

    def __init__(
        self,
        request: StreamStart,
        voice: Voice,
        services: Services,
        sink: Sink,
        warn: Callable[[str], None],
        wait: Callable[[int, float], None],
        lead_s: Callable[[], float],
        *,
        patient: bool = False,
    ) -> None:
        self.patient = patient
        self._request, self._voice, self._services = request, voice, services
        self._sink, self._warn, self._wait, self._lead_s = sink, warn, wait, lead_s
        self._loop = asyncio.get_running_loop()
        self._ticket: Asked | None = None
        self._warned: set[str] = set()
        self._paused = False
        self.begun = False
        """Something was given to the engine."""

    @property
    def busy(self) -> bool:
        """A clause is with the engine."""
        return self._ticket is not None

    @property
    def lead_s(self) -> float:
        """Seconds of speech that were made and not heard yet (`turns.Speaker`)."""
        return self._lead_s()

    def in_turn(self, begin: Callable[[], None]) -> None:
        """There are words to say: `begin` now, or when its turn comes."""
        turns, now = self._services.turns, self._loop.time()
        if self.patient:
            turns.take_after(self, begin, self._wait, now, begun=self.begun)
        else:
            turns.take(self, begin, self._wait, now, begun=self.begun)

    def rest(self) -> None:
        """There are none for now, or no more of them: the turn is another's."""
        self._services.turns.rest(self, self._loop.time())

    def pause(self) -> None:
        """There are some, and the listener has enough to hear for now."""
        if not self._paused:
            self._services.metrics.hit("max_ahead_s")
        self._paused, turns = True, self._services.turns
        (turns.rest if self.patient else turns.idle)(self, self._loop.time())

    def say(self, text: str) -> None:
        """
        A clause, in its turn.

        Raises:
            AbrError: the engine does not take it.
        """
        request, first = self._request, not self.begun
        self.begun, self._paused = True, False
        voice = self._voice_for(text)
        sink = self._services.metrics.engine.timed(self._sink, first, voice.sample_rate, self._loop)
        hurry = not self.patient and (first or self._services.turns.needy(self))
        self._ticket = sink.asked = self._services.pool.say(
            text, voice, request.language, request.speed, sink, first=hurry, instruct=request.instruct
        )

    def convert(self, audio: Samples) -> None:
        """
        A clip to be said in the stream's voice, in its turn.

        Raises:
            AbrError: the engine does not take it.
        """
        self.begun = True
        sink = self._services.metrics.engine.timed(self._sink, True, self._voice.sample_rate, self._loop)
        self._ticket = sink.asked = self._services.pool.convert(audio, self._voice, self._request.speed, sink)

    def over(self) -> None:
        """The clause is spoken, or failed."""
        self._ticket = None

    def stop(self) -> None:
        """No more of it: the engine stops within a chunk."""
        ticket, self._ticket = self._ticket, None
        if ticket:
            ticket.cancel()
        self.rest()

    def _voice_for(self, text: str) -> Voice:
        """The named voice, else the one for the clause's script; never another sample rate."""
        voice, pool = self._voice, self._services.pool
        if self._request.voice is None:
            chosen = pool.choose(None, self._request.language, text)
            voice = chosen if chosen.sample_rate == voice.sample_rate else voice
        names = pool.unspeakable(text, voice)
        if names and names not in self._warned:
            self._warned.add(names)
            self._warn(names)
        return voice
