"""
The making of one utterance's speech: text in, clauses to the engine as there is room for them, and what the
engine says to the core.

It runs on the event loop. It must not know what is sent of the speech, how, or over which connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ...engine.base import Samples, Voice
from ...engine.text import Clauser
from ...errors import AbrError, Busy, EmptyText, EngineError
from ...stream.core import StreamCore
from ...units import ticks_to_seconds
from ...wire.messages import StreamStart
from .hoard import Hoard, Input
from .reading import Reading
from .saying import Saying
from .surroundings import Services


class Making:
    """
    Args:
        request: what was asked for; its text comes by `add_text`.
        voice: the first clause's; its sample rate is the whole stream's.
        services: what all share.
        core: of the utterance.
        feed: gives the core an input.
        sounds: is called once, when the engine's first samples come.
        failed: takes what is wrong with the text or the engine.
        warn: is told of scripts that cannot be pronounced, once of each.
        wait: is told of place and seconds while it is not its turn.
        patient: nobody listens before all is there (`saying`); it is kept back until then (`hoard`).
    """

    def __init__(
        self,
        request: StreamStart,
        voice: Voice,
        services: Services,
        core: StreamCore,
        *,
        feed: Callable[[Input], None],
        sounds: Callable[[], None],
        failed: Callable[[Exception], None],
        warn: Callable[[str], None],
        wait: Callable[[int, float], None],
        patient: bool = False,
    ) -> None:
        engine, stream = services.settings.engine, services.settings.stream
        self._core, self._rate, self._loop = core, voice.sample_rate, asyncio.get_running_loop()
        self._feed, self._sounds, self._failed = feed, sounds, failed
        self._sounded = self._ended = False
        self._reading = Reading(Clauser(engine.clause_chars, engine.first_clause_chars), engine.text_idle_s)
        self._saying = Saying(request, voice, services, self, warn, wait, self._unheard_s, patient=patient)
        self._hoard = Hoard(round(stream.max_ahead_s * voice.sample_rate) if patient else 0)
        self._credit = 0
        self._rest: asyncio.TimerHandle | None = None

    # ------------------------------------------------------------ the text

    def add_text(self, text: str) -> None:
        """More text; complete clauses go to the engine as it has room."""
        self._reading.add(text, self._loop.time())
        self._say_next()

    def flush(self) -> None:
        """What text there is is to be spoken now."""
        self._reading.flush()
        self._say_next()

    def end_text(self) -> None:
        """No more text comes."""
        self._reading.end()
        self._say_next()

    def leave(self) -> None:
        """Say what the engine has begun, and leave the rest of the text to another server."""
        if self._ended or not self._reading.leave():
            return
        if self._saying.begun:
            self._say_next()
        else:
            self._failed(Busy("the server is stopping; ask another one", retry_after=0.0))

    def text_so_far(self) -> tuple[bool, int]:
        """Whether text may still come, and characters of it that are here."""
        return not self._reading.ended, self._reading.settle()

    @property
    def left(self) -> bool:
        """Whether the rest of it is left to another server, from the `taken`th character on."""
        return self._reading.left

    @property
    def taken(self) -> int:
        """Characters of it up to the end of the clause that the engine was given last."""
        return self._reading.taken

    # ------------------------------------------------------------ room

    def credit(self, clauses: int) -> None:
        """So many clauses more may be made."""
        self._credit += clauses
        self._say_next()

    @property
    def held_samples(self) -> int:
        """Samples of speech that are kept back."""
        return self._hoard.samples

    def stop(self) -> None:
        """No more of it: the engine stops within a chunk."""
        self._reading.drop()
        self._ended = True
        self._saying.stop()
        if self._rest:
            self._rest.cancel()

    # ------------------------------------------------------------ what the engine says (Sink)

    def pcm(self, samples: Samples) -> None:
        """The next samples of the clause."""
        if not self._sounded:
            self._sounded = True
            self._sounds()
        self._pass_on(lambda now: self._core.push_pcm(samples, now), len(samples))

    def end(self) -> None:
        """The clause is spoken."""
        self._saying.over()
        if self._hoard.holds:
            self._credit += 1
        else:
            self._feed(self._core.end_clause)
        self._say_next()

    def fault(self, error: EngineError) -> None:
        """The engine failed at the clause."""
        self._saying.over()
        self._failed(error)

    # ------------------------------------------------------------ clauses

    def _say_next(self) -> None:
        """The next clause to the engine, if it may; the end of speech, if there is none."""
        if self._saying.busy or self._ended:
            return
        if not self._reading.cut():
            self._loop.call_soon(self._say_next)  # the loop gets a turn before the rest of a long text
        elif self._reading.ready and self._credit:
            self._saying.in_turn(self._say)
        elif self._reading.over:
            self._end_speech()
        else:
            (self._saying.pause if self._reading.ready else self._saying.rest)()
            self._arm_rest()

    def _say(self) -> None:
        """The next clause to the engine: it has room for one, and this is the stream's turn."""
        self._credit -= 1
        clause = self._reading.take()
        try:
            self._saying.say(clause.text)
        except AbrError as error:
            self._failed(error)
        else:  # the engine is at work already, and what it says comes in a later turn
            self._pass_on(lambda now: self._core.mark(clause.begin, clause.end, now))

    def _end_speech(self) -> None:
        self._ended = True
        self._saying.rest()
        if self._saying.begun:
            for held in (*self._hoard.release(), self._core.end_pcm):
                self._feed(held)
        else:
            self._failed(EmptyText("there is nothing to pronounce in the text"))

    def _pass_on(self, call: Input, samples: int = 0) -> None:
        """An input of the core, which may be kept back."""
        for one in self._hoard.pass_on(call, samples):
            self._feed(one)

    # ------------------------------------------------------------ a text that stands still

    def _arm_rest(self) -> None:
        """Look again when the text has stood still for a while and the engine is free."""
        due = self._reading.rest_at()
        if self._rest:
            self._rest.cancel()
        self._rest = None if due is None else self._loop.call_at(due, self._on_rest)

    def _on_rest(self) -> None:
        self._reading.rest(self._unheard_s(), self._loop.time())
        self._say_next()

    def _unheard_s(self) -> float:
        return self._core.produced / self._rate - ticks_to_seconds(self._core.played)
