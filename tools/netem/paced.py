"""
A server in a process of its own, whose engine says a talk at the pace of its plan.

The tools start it, not people: `paced.py SETTINGS FOLDER`, a JSON object of settings and a folder
with `talk.json` and `voice.npy`. It prints `{"url": …}`; each line on its standard input is answered
by one with what it has noted: for each utterance when the engine's first samples were there. It ends
with its standard input, whatever ends the program behind that.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import deque
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from talk import Clause, Talk

from abr_tts.engine.base import Samples, Sink, Voice
from abr_tts.errors import AbrError, ConfigError, MissingDependency
from abr_tts.server.app import Server
from abr_tts.server.config import load


class Paced:
    """
    Stands for a pool's `say`: the plan's chunks at the plan's time, on the event loop.

    Args:
        talk: what will be asked for, clause by clause; anything else is a KeyError or an IndexError.
    """

    def __init__(self, talk: Talk) -> None:
        self._voice = talk.voice
        self._due: dict[str, deque[tuple[int, int, Clause]]] = {}
        """Text → utterance, its first sample there, and the clause, of all that have this text."""
        self.firsts: dict[int, float] = {}
        """Utterance → when its first samples were there, on the loop's clock."""
        for index, planned in enumerate(talk.utterances):
            begin = 0
            for clause in planned.clauses:
                self._due.setdefault(clause.text, deque()).append((index, begin, clause))
                begin += clause.samples

    def say(
        self, text: str, voice: Voice, language: str | None, speed: float, sink: Sink, **more: object
    ) -> Saying:
        """As `Pool.say`."""
        utterance, begin, clause = self._due[text].popleft()
        saying, loop = Saying(), asyncio.get_running_loop()
        now, last = loop.time(), len(clause.chunks) - 1
        for index, (delay, size) in enumerate(clause.chunks):
            samples = np.take(self._voice, range(begin, begin + size), mode="wrap")
            hand_out = partial(self._hand_out, utterance, samples, sink, index == last)
            saying.timers.append(loop.call_at(now + delay, hand_out))
            begin += size
        return saying

    def _hand_out(self, utterance: int, samples: Samples, sink: Sink, last: bool) -> None:
        self.firsts.setdefault(utterance, asyncio.get_running_loop().time())
        sink.pcm(samples)
        if last:
            sink.end()


class Saying:
    """A request that can be cancelled."""

    given_at: float | None = None
    """Of `engine.face.Asked`: nobody is told."""

    def __init__(self) -> None:
        self.timers: list[asyncio.TimerHandle] = []

    def cancel(self) -> None:
        """No more of it."""
        for timer in self.timers:
            timer.cancel()


async def main(settings: dict[str, Any], folder: Path) -> None:
    """Serve until standard input ends."""
    talk = Talk.from_json(json.loads((folder / "talk.json").read_text()), np.load(folder / "voice.npy"))
    engine = {"engine.kind": "tone", "engine.workers": 1, "engine.options": {"rate": talk.rate}}
    server = Server(load(None, {}, {**settings, **engine}))
    paced = Paced(talk)
    server.pool.say = paced.say  # type: ignore[method-assign, assignment]
    await server.start()
    try:
        print(json.dumps({"url": server.url}), flush=True)
        loop = asyncio.get_running_loop()
        while await loop.run_in_executor(None, sys.stdin.readline):
            print(json.dumps({"firsts": paced.firsts}), flush=True)
    finally:
        await server.stop()


if __name__ == "__main__":
    try:
        asyncio.run(main(json.loads(sys.argv[1]), Path(sys.argv[2])))
    except (AbrError, ConfigError, MissingDependency) as error:
        raise SystemExit(f"the server does not start: {error}") from None
