"""
An engine for tests in virtual time: each text has its own noise, known beforehand, which comes at a pace.
"""

from collections import deque

import numpy as np

from abr_tts.engine.base import Abilities, Voice
from abr_tts.engine.voices import Catalogue
from abr_tts.errors import Busy, EngineLost

RATE = 22_050


def noise(text):
    """What the engine says for a text: int16, 1 500 samples a character."""
    return np.random.default_rng(list(text.encode())).integers(-9_000, 9_000, len(text) * 1_500, np.int16)


class Clause:
    """A request of the engine (`face.Asked`)."""

    def __init__(self, engine, text, voice, sink):
        self.engine, self.text, self.sink = engine, text, sink
        self.samples = noise(text)
        self.given_at, self.over, self.at = None, False, 0

    def cancel(self):
        self.over = True

    def go_on(self):
        """The next chunk, a quarter of a second of it."""
        chunk = self.samples[self.at : self.at + RATE // 4]
        self.at += len(chunk)
        self.sink.pcm(chunk)

    def finish(self, error=None):
        self.over = True
        self.sink.fault(error) if error else self.sink.end()


class Engine:
    """Noise instead of speech, one clause at a time, four times as fast as it sounds."""

    PACE = 0.25
    abilities = Abilities("noise")
    ready = 1

    def __init__(self, loop):
        self._loop, self._queue, self._current = loop, deque(), None
        self.said = []
        """Texts that were asked for, in order."""
        self.voices = (Voice("noise", ("en",), RATE),)
        catalogue = Catalogue(self.voices, self.abilities)
        self.choose, self.unspeakable = catalogue.choose, catalogue.unspeakable

    @property
    def waiting(self):
        return len([one for one in self._queue if not one.over])

    @property
    def busy(self):
        return self._current is not None and not self._current.over

    def say(self, text, voice, language, speed, sink, *, first=False, instruct=None):
        if self.waiting > 6:
            raise Busy("too many requests wait already", retry_after=1.0)
        self.said.append(text)
        clause = Clause(self, text, voice, sink)
        self._queue.append(clause)
        self._loop.call_soon(self._begin)
        return clause

    def _begin(self):
        while self._queue and not self.busy:
            self._current = self._queue.popleft()
            if not self._current.over:
                self._current.given_at = self._loop.time()
                self._loop.call_later(0.05, self._go_on, self._current)

    def _go_on(self, clause):
        if clause.over:
            self._begin()
        elif clause.at < len(clause.samples):
            clause.go_on()
            self._loop.call_later(0.25 * self.PACE, self._go_on, clause)
        else:
            clause.finish()
            self._begin()

    def fail(self):
        """The worker dies at what it speaks."""
        if self.busy:
            self._current.finish(EngineLost("the worker is gone"))
            self._loop.call_soon(self._begin)
