"""
Cost: what a delivered second of audio takes of the processor, and a connection and a stream of memory.

*Processor.* N listeners at real time, at a fixed rung; the server process alone is counted, not its engines,
over its whole work: taking PCM in, resampling, encoding, sending, reading reports. At Opus 24 it is held
against bare libopus in C, encoding the very same packets in this run. `streams_a_core` is one second over
that. *Memory.* Connections that have said hello and nothing else, plain and over TLS; and streams whose
listener has paused, so that all their speech is banked: resident memory (RSS) before and after, of a new
server. A stream may take 100 kB and 50 kB for each second that is banked (int16 at
22 050 Hz, Opus); 100 kB for each where PCM is kept as it was sent.

    pip install '.[espeak,test]'                       # and a C compiler
    python tools/bench/cost.py --json                  # 4 minutes
    python tools/bench/cost.py --part memory --json
"""

from __future__ import annotations

import argparse
import asyncio
import random
import ssl
from contextlib import AsyncExitStack
from typing import Any

import bare
import numpy as np
import usage
from certificate import certificate, check
from common import ServerProcess, percentile, show
from engine_host import Lateness
from listener import Heard, Listener

from abr_tts.engine.base import Line
from abr_tts.engine.espeak import Espeak

SENTENCE = "The quick brown fox jumps over the lazy dog, and then it rests for a while in the sun. "
"""6 s of espeak's."""

ENGINE_RATE = 22_050

STREAM_KB, BANKED_KB = 100.0, {"opus24": 50.0, "pcm22": 100.0}
"""What a stream may take, and more for each second that is banked."""

BANKING_AT_ONCE = 5
"""Streams that are made at the same time; the others are held. What is being made needs a coder besides."""

SPREAD_S = 4.0
"""Within which listeners begin."""

SETTINGS = {
    "engine.kind": "espeak", "limits.streams": 5000, "limits.connections": 20_000,
    "limits.waiting_clauses": 5000, "limits.idle_timeout_s": 3600, "limits.hello_timeout_s": 600,
    "limits.relief": False,  # its encoders would try less hard, and make other packets
}  # fmt: skip


class Holder(Listener):
    """A listener that plays nothing, so that all it has is banked."""

    def _played(self, heard: Heard) -> int:
        return 0

    async def bank(self, text: str, rung: str) -> float:
        """Seconds that it holds when the speech has ended."""
        self.speaking = asyncio.ensure_future(self.speak(text, rung))
        await self.ended.wait()
        return self.held_s

    async def __aenter__(self) -> Holder:
        self.ended, self.held_s = asyncio.Event(), 0.0
        await super().__aenter__()
        return self

    async def report(self, heard: Heard, stream: int) -> None:
        """As ever; and say that the end is there."""
        await super().report(heard, stream)
        if heard.ended is not None:
            self.held_s = heard.frames * 0.02
            self.ended.set()


async def speak(url: str, streams: int, sentences: int, rung: str, seed: int) -> list[Heard]:
    """As many listeners at real time."""
    rng = random.Random(seed)

    async def one(number: int) -> Heard:
        async with Listener(url, paced=True) as listener:
            await asyncio.sleep(rng.random() * SPREAD_S)
            return await listener.speak(SENTENCE * sentences, rung)

    return await asyncio.gather(*map(one, range(streams)))


def sent_s(server: ServerProcess) -> float:
    """Seconds of audio that the server has handed to the kernel."""
    return sum(server.ask("stats")["written_s"].values())


def processor(streams: int, rung: str, args: argparse.Namespace) -> dict[str, Any]:
    """Processor seconds of the server for a second of audio at `rung`."""
    with ServerProcess(SETTINGS) as server:
        asyncio.run(speak(server.url, min(8, streams), 1, rung, args.seed))  # warm
        pid, before_s = server.ask("stats")["pid"], sent_s(server)
        begun = usage.cpu_s([pid])
        with Lateness() as late:
            heard = asyncio.run(speak(server.url, streams, args.sentences, rung, args.seed))
        spent, audio_s = usage.cpu_s([pid]) - begun, sent_s(server) - before_s
    failed = sum(one.error is not None or one.length <= 0 for one in heard)
    if failed:
        raise SystemExit(f"{failed} of {streams} streams were not answered")
    return {
        "streams": streams,
        "audio_s": round(audio_s, 1),
        "cpu_ms_per_audio_s": round(spent / audio_s * 1000, 3),
        "streams_a_core": round(audio_s / spent, 1),
        "machine_ms_p99": round(percentile(late.ms, 0.99), 2),
    }


def opus(args: argparse.Namespace) -> dict[str, Any]:
    """Opus 24 against bare libopus, before and after, on the same words."""
    engine, pieces = Espeak(), []
    engine.load({})
    engine.say(Line(SENTENCE * 6, engine.voices[0].name), lambda chunk: pieces.append(bytes(chunk)) or True)
    pcm = np.frombuffer(b"".join(pieces), "<i2").astype(np.int16)
    frames, packets = bare.frames_of(pcm, ENGINE_RATE, "opus24")
    length_s = len(packets) * 0.02
    before = bare.cpu_s(frames, packets, 24) / length_s
    result = processor(args.streams, "opus24", args)
    after = bare.cpu_s(frames, packets, 24) / length_s
    bare_ms = (before + after) / 2 * 1000
    told = {
        "bare_ms_per_audio_s": round(bare_ms, 3),
        "bare_ms_before_and_after": [round(x * 1000, 3) for x in (before, after)],
    }
    return result | told | {"over_bare": round(result["cpu_ms_per_audio_s"] / bare_ms, 3)}


def pcm(args: argparse.Namespace) -> dict[str, Any]:
    """PCM at 22 050 Hz, messages of 100 ms."""
    return processor(args.pcm_streams, "pcm22", args)


# ------------------------------------------------------------ memory


async def _many(stack: AsyncExitStack, made: list[Any]) -> list[Any]:
    """Enter all of them, 50 at a time: a queue of new connections is bounded."""
    entered: list[Any] = []
    for at in range(0, len(made), 50):
        entered += await asyncio.gather(*map(stack.enter_async_context, made[at : at + 50]))
    return entered


def idle(count: int, settings: dict[str, str], context: ssl.SSLContext | None) -> float:
    """kB of a connection that has said hello."""
    with ServerProcess(SETTINGS | settings) as server:
        pid = server.ask("stats")["pid"]

        async def hold(stack: AsyncExitStack) -> None:
            await _many(stack, [Listener(server.url, ssl=context or True) for _ in range(count)])

        return asyncio.run(_fresh_kb(pid, hold)) / count


async def _fresh_kb(pid: int, hold: Any) -> float:
    """The first time, of a server that is new: what is let go is not given back and would hide the rest."""
    before = usage.rss_kb(pid)
    async with AsyncExitStack() as stack:
        await hold(stack)
        return usage.rss_kb(pid) - before


def banked(rung: str, args: argparse.Namespace) -> dict[str, Any]:
    """kB of a stream whose whole speech is held for a listener that has paused."""
    count = args.held_streams
    with ServerProcess(SETTINGS) as server:
        pid = server.ask("stats")["pid"]
        asyncio.run(speak(server.url, 4, 1, rung, args.seed))  # warm
        held: list[float] = []

        async def hold(stack: AsyncExitStack) -> None:
            holders = await _many(stack, [Holder(server.url) for _ in range(count)])
            for at in range(0, count, BANKING_AT_ONCE):
                some = holders[at : at + BANKING_AT_ONCE]
                held.extend(await asyncio.gather(*(one.bank(SENTENCE * 3, rung) for one in some)))
            for one in holders:
                stack.callback(one.speaking.cancel)

        kb = asyncio.run(_fresh_kb(pid, hold)) / count
    seconds = sum(held) / count
    return {
        "streams": count,
        "banked_s": round(seconds, 1),
        "kb_a_stream": round(kb, 1),
        "kb_allowed": round(STREAM_KB + BANKED_KB[rung] * seconds, 1),
    }


def memory(args: argparse.Namespace) -> dict[str, Any]:
    """Connections and streams."""
    check()
    with certificate() as (settings, context):
        return {
            "idle_kb_plain": round(idle(args.idle, {}, None), 1),
            "idle_kb_tls": round(idle(args.idle, settings, context), 1),
            "connections": args.idle,
            "opus24": banked("opus24", args),
            "pcm22": banked("pcm22", args),
        }


PARTS = {"opus": opus, "pcm": pcm, "memory": memory}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this; may be repeated")
    parser.add_argument("--streams", type=int, default=100, help="at Opus 24")
    parser.add_argument("--pcm-streams", type=int, default=100)
    parser.add_argument("--sentences", type=int, default=6, help="of 6 s, that each stream says")
    parser.add_argument("--idle", type=int, default=1000, help="connections")
    parser.add_argument("--held-streams", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    show({part: PARTS[part](args) for part in args.part or PARTS}, args.json)


if __name__ == "__main__":
    main()
