"""
Load: 50 connections × 200 sentences of 20 characters, English and Mandarin by turns.

Unpaced, each listener asks for the next sentence as soon as it has the last one, which is as much as the
machine can do; paced, it listens at real time, the starts jittered, which is what 50 listeners are. First
sound is from the request to its first audio message, at the listener, whose own work is on the same cores;
`in_server_ms` is what of it lies between the engine's first samples and the kernel.

A server that is too busy refuses, and is asked again when it says, as every client does: `first_audio_ms`
counts from when it was asked for the first time, that wait included. `ok_at_once` are those that were not
refused, and `first_audio_of_taken_ms` counts from the asking that was taken: what a server does for those it
takes, beside how many it keeps waiting. The plain design refuses nobody, so of it both are the same.

The baseline is the plain design (`plain_speech`) under the same load by the same listeners, in the same
run. Peak memory is the server with its engines, shared pages counted once (PSS). `machine_ms` is how late
a process that only sleeps wakes meanwhile: the noise floor.

    pip install '.[espeak]'
    python tools/bench/load.py --json                    # unpaced: some 10 minutes on two cores
    python tools/bench/load.py --paced --json            # paced: an hour, --each 20 for six minutes
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import time
from dataclasses import dataclass
from typing import Any

import aiohttp
from common import ServerProcess, percentile, show, spread
from engine_host import Lateness
from listener import Heard, Listener
from usage import Usage

CHARS = 20
"""Of a sentence."""

ENGLISH = ("the", "a", "old", "new", "red", "sea", "sun", "map", "fish", "boat", "wind", "road", "bird",
           "tree", "late", "soon", "warm", "cold", "runs", "sees", "over", "into")  # fmt: skip
MANDARIN = "今天气很好我们一起去公园散步吧你看那边的花都开了风吹过来水面上有船孩子在唱歌时间还早慢慢走不急"

VOICES = {"en-us": ENGLISH, "cmn": MANDARIN}

PLAIN_RATE = 22_050
"""Samples a second of the plain design, 16 bits each."""

PATIENCE = 30
"""Times that a request is made before it counts as not answered."""

JITTER_S = 3.0
"""Within which paced listeners begin: a sentence of 20 Chinese characters lasts about so long, or longer."""


def sentence(rng: random.Random, voice: str) -> str:
    """Exactly 20 characters that end a sentence."""
    if voice == "cmn":
        return "".join(rng.choice(MANDARIN) for _ in range(CHARS - 1)) + "。"
    words = ""
    while len(words) < CHARS:
        words += rng.choice(ENGLISH) + " "
    return words[: CHARS - 1].strip().ljust(CHARS - 1, "s") + "."


def plans(args: argparse.Namespace) -> list[list[tuple[str, str]]]:
    """For each connection its (text, voice) by turns."""
    rng, voices = random.Random(args.seed), list(VOICES)
    return [
        [(sentence(rng, voices[(number + n) % 2]), voices[(number + n) % 2]) for n in range(args.each)]
        for number in range(args.connections)
    ]


@dataclass
class Answer:
    """Seconds to first sound, from when it was first asked for, and of audio; None: not answered."""

    first_s: float | None
    audio_s: float
    again: int = 0
    """Times that it was told to come back, and did."""
    taken_s: float | None = None
    """To first sound from when the asking that was taken was made; None: as `first_s`."""


async def ask_ours(
    url: str,
    plan: list[tuple[str, str]],
    start_s: float,
    args: argparse.Namespace,
    door: type[Listener] = Listener,
) -> list[Answer]:
    """One connection's sentences."""
    async with door(url, paced=args.paced) as listener:
        await asyncio.sleep(start_s)
        return [await _our_answer(listener, text, voice, args.rung) for text, voice in plan]


async def _our_answer(listener: Listener, text: str, voice: str, rung: str | None) -> Answer:
    """Asked again, as any client does, when the server is too busy and says when to come back."""
    asked = time.monotonic()
    for again in range(PATIENCE):  # noqa: B007 -- told afterwards
        heard = await listener.speak(text, rung, voice)
        if heard.error is None or heard.error.code != "busy":
            break
        await asyncio.sleep(heard.error.retry_after or 1.0)
    return _answer(heard, asked, again)


def _answer(heard: Heard, asked: float, again: int = 0) -> Answer:
    whole = heard.error is None and heard.ended is not None and heard.length > 0
    if not whole or not heard.first_audio:
        return Answer(None, heard.frames * 0.02, again)
    return Answer(heard.first_audio - asked, heard.frames * 0.02, again, heard.first_audio - heard.asked)


async def ask_plain(
    url: str, plan: list[tuple[str, str]], start_s: float, args: argparse.Namespace
) -> list[Answer]:
    """The same of the plain design."""
    async with aiohttp.ClientSession() as http, http.ws_connect(url, max_msg_size=0) as socket:
        await asyncio.sleep(start_s)
        return [await _plain_answer(socket, text, voice, args.paced) for text, voice in plan]


async def _plain_answer(socket: Any, text: str, voice: str, paced: bool) -> Answer:
    asked, first, size = time.monotonic(), None, 0
    await socket.send_str(json.dumps({"text": text, "voice": voice}))
    while data := await socket.receive_bytes():
        first = first or time.monotonic()
        size += len(data)
    audio_s = size / 2 / PLAIN_RATE
    if first is None:
        return Answer(None, 0.0)
    if paced:
        await asyncio.sleep(max(0.0, first + audio_s - time.monotonic()))
    return Answer(first - asked, audio_s)


def measure(ask: Any, server: ServerProcess, args: argparse.Namespace) -> dict[str, Any]:
    """One server under the whole load."""
    rng = random.Random(args.seed)

    async def crowd() -> list[list[Answer]]:
        starts = [rng.random() * JITTER_S if args.paced else 0.0 for _ in range(args.connections)]
        tasks = (ask(server.url, plan, at, args) for plan, at in zip(plans(args), starts, strict=True))
        return await asyncio.gather(*tasks)

    begun = time.monotonic()
    with Lateness() as late, Usage(server.ask("stats")["pid"]) as used:
        answers = [one for some in asyncio.run(crowd()) for one in some]
    firsts = [one.first_s * 1000 for one in answers if one.first_s is not None]
    audio_s = sum(one.audio_s for one in answers)
    return {
        "requests": len(answers),
        "ok": len(firsts),
        "ok_at_once": sum(one.first_s is not None and not one.again for one in answers),
        "asked_again": sum(one.again for one in answers),
        "first_audio_ms": _told(firsts),
        "first_audio_of_taken_ms": _told(
            [(one.taken_s or one.first_s) * 1000 for one in answers if one.first_s is not None]
        ),
        "peak_pss_mb": round(used.peak_pss_mb, 1),
        "cpu_s_per_audio_s": round(used.cpu_s / audio_s, 5),
        "audio_s": round(audio_s, 1),
        "seconds": round(time.monotonic() - begun, 1),
        "machine_ms": {
            name: round(percentile(late.ms, share), 2) for name, share in (("p50", 0.5), ("p99", 0.99))
        },
    }


def _told(values: list[float]) -> dict[str, float]:
    return {"mean": round(statistics.fmean(values), 2), **spread(values)}


def ours(args: argparse.Namespace) -> dict[str, Any]:
    """Our server."""
    with ServerProcess({"engine.kind": "espeak", "engine.workers": args.workers}) as server:
        server.ask("whole")
        result = measure(ask_ours, server, args)
        inside = [seconds * 1000 for seconds in server.ask("added")]
        return result | {"in_server_ms": spread(inside)}


def plain(args: argparse.Namespace) -> dict[str, Any]:
    """The plain design."""
    with ServerProcess({}, program="plain_speech.py") as server:
        return measure(ask_plain, server, args)


def ratios(one: dict[str, Any], other: dict[str, Any]) -> dict[str, float]:
    """Ours over the baseline, figure by figure: below 1 is better."""
    firsts = {
        f"first_audio_{name}": one["first_audio_ms"][name] / other["first_audio_ms"][name]
        for name in ("mean", "p50", "p99")
    }
    rest = {name: one[name] / other[name] for name in ("peak_pss_mb", "cpu_s_per_audio_s", "seconds")}
    return {name: round(value, 3) for name, value in (firsts | rest).items()}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--paced", action="store_true", help="listen at real time")
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--each", type=int, default=200, help="sentences of each connection")
    parser.add_argument("--rung", help="a fixed one; adaptive without")
    parser.add_argument("--workers", type=int, default=2, help="engines of ours")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    baseline = plain(args)
    result = ours(args)
    mode = "paced" if args.paced else "unpaced"
    told = {"mode": mode, "rung": args.rung or "adaptive", "baseline": baseline}
    show(result | told | {"ratio": ratios(result, baseline)}, args.json)


if __name__ == "__main__":
    main()
