"""
A server in a process of its own, for `barge_in`: it tells when its engine became free.

Its arguments are a JSON object of settings and how it stops: `at_once`, as it is shipped, or
`clause_end`, which is what a server does that looks for a cancel between two clauses: the clause at
hand is made and sent to its end. That one takes `text_end` for the cancel, since the protocol would
let nothing out after a real one. Each line of standard input is answered with
`{"free": when the engine became free last, "handed": when audio last went into the kernel}`, once
the engine is free.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from abr_tts.server.app import Server
from abr_tts.server.config import load
from abr_tts.server.sending.outbox import Entry
from abr_tts.server.session import Session
from abr_tts.server.speech.utterance import Utterance
from abr_tts.wire.messages import Audio


def stop_at_the_clauses_end() -> None:
    """From now on `text_end` drops what is not spoken yet, and stops nothing."""
    end_text = Utterance.end_text

    def end(utterance: Utterance) -> None:
        utterance._making._reading.drop()
        end_text(utterance)

    Utterance.end_text = end  # type: ignore[method-assign]


def note_audio() -> list[float]:
    """The times at which audio goes into the kernel; they go on growing."""
    written, times = Session._written, [0.0]

    def note(session: Session, entry: Entry, at: float) -> None:
        if isinstance(entry.message, Audio):
            times.append(at)
        written(session, entry, at)

    Session._written = note  # type: ignore[method-assign]
    return times


async def main(settings: dict[str, Any], how: str) -> None:
    """Serve until standard input ends."""
    if how == "clause_end":
        stop_at_the_clauses_end()
    server = Server(load(None, {}, settings))
    await server.start()
    pool: Any = server.pool
    worker_free, freed, news = pool.worker_free, [time.monotonic()], asyncio.Event()

    def free(*arguments: Any) -> None:
        freed.append(time.monotonic())
        worker_free(*arguments)
        news.set()

    pool.worker_free = free
    handed = note_audio()
    print(json.dumps({"url": server.url}), flush=True)
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        while pool.stats.busy:
            news.clear()
            await news.wait()
        print(json.dumps({"free": freed[-1], "handed": handed[-1]}), flush=True)
    await server.stop()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2]))
