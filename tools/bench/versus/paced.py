"""
The engine that all arms share: sentences spoken beforehand, handed out as fast as a neural model
makes them (`sim.engine.NEURAL`: three times as fast as speech, in chunks of 0.4 s).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abr_tts.sim.engine import NEURAL

Int16 = NDArray[np.int16]


class Saying:
    """What `Paced.say` gives: it can be cancelled."""

    given_at: float | None = None
    """Of `engine.face.Asked`: nobody is told."""

    def __init__(self) -> None:
        self.timers: list[asyncio.TimerHandle] = []

    def cancel(self) -> None:
        """No more of it."""
        for timer in self.timers:
            timer.cancel()


class Paced:
    """
    Args:
        sounds: int16 at `rate` Hz by text; other texts are a KeyError.
    """

    def __init__(self, sounds: Mapping[str, Int16], rate: int) -> None:
        self._sounds, self.rate = sounds, rate
        self.firsts: list[tuple[str, float]] = []
        """(text, when its first samples were there on `time.monotonic()`), in order."""

    def plan(self, text: str) -> list[tuple[float, Int16]]:
        """(seconds after the request, samples) of each chunk of a clause."""
        sound, size = self._sounds[text], round(NEURAL.chunk_s * self.rate)
        pieces = [sound[at : at + size] for at in range(0, len(sound), size)]
        ends = np.cumsum([len(piece) for piece in pieces]) / self.rate
        return [
            (NEURAL.real_time_factor * float(end), piece) for end, piece in zip(ends, pieces, strict=True)
        ]

    def say(
        self, text: str, voice: Any, language: str | None, speed: float, sink: Any, **more: Any
    ) -> Saying:
        """As `Pool.say`, on the event loop."""
        saying, loop = Saying(), asyncio.get_running_loop()
        now, plan = loop.time(), self.plan(text)
        for index, (delay, piece) in enumerate(plan):
            last = index == len(plan) - 1
            saying.timers.append(loop.call_at(now + delay, self._hand_out, text, index, piece, sink, last))
        return saying

    def _hand_out(self, text: str, index: int, piece: Int16, sink: Any, last: bool) -> None:
        if index == 0:
            self._note(text)
        sink.pcm(piece)
        if last:
            sink.end()

    async def chunks(self, text: str) -> AsyncIterator[Int16]:
        """The same for a coroutine that takes them as they come."""
        began = time.monotonic()
        for index, (delay, piece) in enumerate(self.plan(text)):
            await asyncio.sleep(max(0.0, began + delay - time.monotonic()))
            if index == 0:
                self._note(text)
            yield piece

    def _note(self, text: str) -> None:
        self.firsts.append((text, time.monotonic()))
