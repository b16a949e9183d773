"""
Four times as many listeners as the engine can keep going: who is answered, who waits, who stalls.

Listeners come at random within a few seconds, each with a speech of several sentences, and play in real
time. Whoever is refused comes again after `retry_after`. The engine is a tone at a fraction of real time, in
chunks, as a neural engine streams. Beside it, in the same run, the same server without turns: every stream
begins at once and all share the engine.

*refused* counts answers, *first sound* runs from the request that was taken, *stalls* and *stalled* are the
listeners' own counts. Every listener is answered in the end, or the benchmark fails.

    python tools/bench/overload.py [--json] [--times 4] [--rtf 0.25]        (about 3 minutes)
"""

from __future__ import annotations

import argparse
import asyncio
import random
from dataclasses import dataclass
from typing import Any

from common import ServerProcess, show, spread

from abr_tts.client import Client
from abr_tts.errors import Busy

WORKERS, SHARE = 2, 0.8
COME_WITHIN_S = 4.0
TEXT = "The train leaves the city and the network goes with it, sentence by sentence, mile after mile. " * 3
"""Some 17 s."""

ARMS: dict[str, dict[str, Any]] = {
    "turns": {},
    "all at once": {"limits.engine_share": 100, "limits.waiting_clauses": 10_000},
}


@dataclass
class Heard:
    """What one listener met with."""

    refused: int = 0
    first_ms: float = 0.0
    sound_s: float = 0.0
    stalls: int = 0
    stalled_s: float = 0.0


async def listen(url: str, chance: random.Random) -> Heard:
    """Come, ask until taken, listen to the end."""
    heard = Heard()
    await asyncio.sleep(chance.uniform(0, COME_WITHIN_S))
    async with Client(url) as client:
        while True:
            speech = client.speak(TEXT, realtime=True)
            try:
                async for _ in speech:
                    pass
            except Busy as busy:
                assert busy.retry_after, "a refusal says when to come again"
                heard.refused += 1
                await asyncio.sleep(busy.retry_after * chance.uniform(1.0, 1.5))
                continue
            stats = speech.stats
            heard.first_ms, heard.sound_s = stats.first_sound_ms or 0.0, stats.seconds
            heard.stalls, heard.stalled_s = stats.stalls, stats.stall_ms / 1000
            return heard


async def arm(url: str, listeners: int, seed: int) -> list[Heard]:
    """All of them, at once."""
    chances = [random.Random(seed * 10_000 + number) for number in range(listeners)]
    return await asyncio.gather(*(listen(url, chance) for chance in chances))


def figures(heard: list[Heard], listeners: int) -> dict[str, Any]:
    """What is published of one arm."""
    sound_s, stalled_s = sum(one.sound_s for one in heard), sum(one.stalled_s for one in heard)
    return {
        "requests": listeners,
        "ok": sum(one.sound_s > 0 for one in heard),
        "refused": sum(one.refused for one in heard),
        "first_sound_ms": spread([one.first_ms for one in heard]),
        "stalls": sum(one.stalls for one in heard),
        "listeners_that_stalled": sum(one.stalls > 0 for one in heard),
        "stalled_pct": round(100 * stalled_s / (sound_s + stalled_s), 2),
    }


def run(times: float, rtf: float, seed: int) -> dict[str, Any]:
    """Every arm; by its name what is published of it."""
    listeners = round(times * WORKERS * SHARE / rtf)
    found: dict[str, Any] = {"rtf": rtf, "workers": WORKERS, "times": times}
    for name, more in ARMS.items():
        settings = {
            "engine.kind": "tone", "engine.workers": WORKERS, "limits.engine_share": SHARE,
            "engine.options": {"rtf": rtf, "rate": 24_000, "chunks": [4_800]},
        }  # fmt: skip
        with ServerProcess(settings | more) as server:
            found[name] = figures(asyncio.run(arm(server.url, listeners, seed)), listeners)
    return found


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--times", type=float, default=4.0, help="of what the engine carries")
    parser.add_argument("--rtf", type=float, default=0.25, help="seconds of a worker for a second of sound")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    show(run(arguments.times, arguments.rtf, arguments.seed), arguments.json)


if __name__ == "__main__":
    main()
