"""A driver for the stream core in virtual time: engine, codec threads, socket and listener."""

import random
from collections import deque

import numpy as np

from abr_tts.stream.core import StreamCore
from abr_tts.stream.outputs import Credit, Drained, Encode, Notice, Transmit
from abr_tts.units import FRAME_TICKS
from abr_tts.wire.messages import Audio, BitRateHint


class Driver:
    """
    Plays all the parties of one stream, one step at a time, in an order that `rng` chooses.

    Each party has a queue of things it could do next; a step does one of them and drains the
    core, as its law asks.
    """

    MESSAGE_HEAD = 8

    def __init__(self, core: StreamCore, clauses: list[list[np.ndarray]], rng: random.Random) -> None:
        self.core, self.rng = core, rng
        self.now = 0.0
        self.clauses = deque(clauses)
        self.speaking: deque[np.ndarray] | None = None
        self.text_ended = False
        self.jobs: list = []
        self.socket: deque = deque()
        self.on_the_way: deque = deque()
        self.messages: list = []
        self.events: list = []
        self.received = self.played = self.credits = 0
        self.most_outstanding = self.most_held = 0
        self.drain()

    def drain(self) -> None:
        while (output := self.core.poll()) is not None:
            if isinstance(output, Encode):
                assert not self.jobs, "two jobs at once"
                self.jobs.append(output.job)
            elif isinstance(output, Transmit):
                self.socket.append(output.message)
            elif isinstance(output, Credit):
                self.credits += output.clauses
            elif isinstance(output, Notice):
                self.events.append(output.event)
        self.most_held = max(self.most_held, self.core.held_samples)
        self.most_outstanding = max(self.most_outstanding, self.core.outstanding)

    # ---- what each party can do

    def engine(self) -> bool:
        if self.speaking is None:
            if not self.credits or not self.clauses:
                return self.end_text()
            self.credits -= 1
            self.speaking = deque(self.clauses.popleft())
            self.core.mark(0, 1, self.now)
        elif self.speaking:
            self.core.push_pcm(self.speaking.popleft(), self.now)
        else:
            self.speaking = None
            self.core.end_clause(self.now)
        return True

    def end_text(self) -> bool:
        if self.clauses or self.text_ended:
            return False
        self.text_ended = True
        self.core.end_pcm(self.now)
        return True

    def codec(self) -> bool:
        if not self.jobs:
            return False
        job = self.jobs.pop()
        self.core.encoded(job, job.run(), self.now)
        return True

    def write(self) -> bool:
        if not self.socket:
            return False
        message = self.socket.popleft()
        size = self.MESSAGE_HEAD
        if isinstance(message, Audio):
            size += sum(map(len, message.packets))
        self.messages.append(message)
        self.on_the_way.append((size, message))
        self.core.sent(size, self.now)
        return True

    def network(self) -> bool:
        if not self.on_the_way:
            return False
        size, message = self.on_the_way.popleft()
        self.received += size
        if isinstance(message, Audio):
            self.played = max(self.played, message.pts + len(message.packets) * FRAME_TICKS)
        return False  # nothing was told to the core

    def hint(self) -> bool:
        self.core.report(
            BitRateHint(stream=1, received=self.received, played=max(0, self.played), buffer_ms=0), self.now
        )
        return True

    def step(self, parties: tuple[str, ...] = ("engine", "codec", "write", "network", "hint")) -> None:
        self.now += self.rng.random() * 0.01
        if getattr(self, self.rng.choice(parties))():
            self.drain()

    def run(self, steps: int = 100_000, **kwargs) -> None:
        for _ in range(steps):
            if self.events and isinstance(self.events[-1], Drained):
                return
            self.step(**kwargs)
        raise AssertionError(f"not drained after {steps} steps; {self.events}")


def cut(pcm: np.ndarray, rng: random.Random, longest: int) -> list[np.ndarray]:
    """`pcm` in chunks of 0 to `longest` samples."""
    chunks, at = [], 0
    while at < len(pcm):
        size = rng.randrange(longest + 1)
        chunks.append(pcm[at : at + size])
        at += size
    return chunks
