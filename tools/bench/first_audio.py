"""
First sound: what the server adds to its engine's first chunk.

For each request two spans are taken on one clock: the engine's, from `Pool.say` to its first
samples, and the listener's, from its `stream_start` to its first audio message. *Added* is
their difference, request by request: it holds the request's way in and the listener's own work.
*In server* is from the engine's first samples to the first audio in the kernel. First one
listener at a time, then 50 connections (`--streams`) that listen at real time and start staggered.

It takes about 2 minutes.

    pip install '.[espeak]'
    python tools/bench/first_audio.py --json
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics

from common import ServerProcess, show, spread
from listener import Heard, Listener

TEXT = "This is request number {}, and the quick brown fox jumps over the lazy dog"
WARM_UP = 5


async def one_by_one(url: str, requests: int, rung: str) -> list[Heard]:
    """Requests on one connection, each after the end of the last."""
    async with Listener(url, paced=False) as listener:
        for n in range(WARM_UP):
            await listener.speak(f"Warm up {n}", rung)
        return [await listener.speak(TEXT.format(n), rung) for n in range(requests)]


async def staggered(url: str, streams: int, each: int, rung: str, seed: int) -> list[Heard]:
    """`streams` connections, each with `each` utterances heard at real time, starts spread."""
    rng = random.Random(seed)

    async def one(number: int) -> list[Heard]:
        async with Listener(url, paced=True) as listener:
            await asyncio.sleep(rng.random() * 5)
            return [await listener.speak(TEXT.format(number * 1000 + n), rung) for n in range(each)]

    return [heard for some in await asyncio.gather(*map(one, range(streams))) for heard in some]


def spans(heard: list[Heard], stamps: list[dict]) -> tuple[list[float], list[float], list[float]]:
    """Milliseconds per request: the engine's, the listener's, what was added."""
    engine = {_key(s["text"]): (s["first"] - s["asked"]) * 1000 for s in stamps if s["first"]}
    engines, delivered = [], []
    for one in heard:
        if one.error or one.first_audio is None:
            raise SystemExit(f"a request was not answered: {one.error}")
        engines.append(engine[_key(one.text)])
        delivered.append((one.first_audio - one.asked) * 1000)
    return engines, delivered, [d - e for d, e in zip(delivered, engines, strict=True)]


def _key(text: str) -> str:
    """What a request and its first clause have in common: the words before the comma."""
    return text.split(",")[0]


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--requests", type=int, default=200, help="one at a time")
    parser.add_argument("--streams", type=int, default=50, help="at once")
    parser.add_argument("--each", type=int, default=6, help="utterances of each of the streams")
    parser.add_argument("--rung", default="opus24")
    parser.add_argument("--engine", default="espeak")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with ServerProcess({"engine.kind": args.engine}) as server:
        alone = asyncio.run(one_by_one(server.url, args.requests, args.rung))
        inside = server.ask("added")
        crowd = asyncio.run(staggered(server.url, args.streams, args.each, args.rung, args.seed))
        stamps = server.ask("stamps")
        inside_crowd = server.ask("added")[len(inside) :]
    engines, delivered, added = spans(alone, stamps)
    show(
        {
            "engine_ms": round(statistics.median(engines), 2),
            "delivered_ms": round(statistics.median(delivered), 2),
            "added_ms": spread(added),
            f"added_ms_{args.streams}_streams": spread(spans(crowd, stamps)[2]),
            "in_server_ms": spread([value * 1000 for value in inside[WARM_UP:]]),
            f"in_server_ms_{args.streams}_streams": spread([value * 1000 for value in inside_crowd]),
            "rung": args.rung,
            "streams": args.streams,
            "requests": len(alone) + len(crowd),
        },
        args.json,
    )


if __name__ == "__main__":
    main()
