"""
A listener interrupts: from the cancel to the last byte of the stream, and to a free engine.

A listener in real time cancels at a random moment of a speech of many sentences. *handed* is from
then until the server gave the last audio to its kernel, *silent* until the last audio arrived (0 if
none did), *late bytes* how much came, *free* until the engine could speak for somebody else. Beside
it, in the same run, a server that looks for a cancel between two clauses only: the one at hand is
made to its end, and what is made is sent.

Engines: espeak, which makes a clause in milliseconds, and a tone at 0.7 of real time in chunks of
0.2 s, as a neural engine streams. Links: loopback; 64 kbit/s and 20 ms each way, once through a
relay (a proxy's buffers, no root), once as packets on TUN (root). What is in the kernel when the
cancel comes must still go out there, and counts.

    pip install '.[espeak]'
    python tools/bench/barge_in.py [--json] [--times 20]        (about 8 minutes)
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from common import ServerProcess, show, spread
from listener import Heard, Listener

from abr_tts.demo.relay import Relay
from abr_tts.sim.scenario import steady
from abr_tts.wire.messages import Audio, Cancel, StreamEnd, StreamStart, StreamStarted, TextEnd

sys.path.insert(0, str(Path(__file__).parents[1] / "netem"))

SLOW_KBPS, DELAY_MS = 64.0, 20.0
LISTEN_S = (0.4, 3.0)
"""Seconds of listening before the cancel, drawn evenly."""

AFTER_S = 0.7
"""No audio for so long after the end of the stream: nothing more comes."""

SENTENCE = "The train leaves the city and the network goes with it, sentence by sentence, mile after mile. "
SENTENCES = 12
"""Some 6 s each: the speech lasts longer than anybody listens."""

ENGINES: dict[str, dict[str, Any]] = {
    "espeak": {"engine.kind": "espeak"},
    "tone": {"engine.kind": "tone", "engine.options": {"rtf": 0.7, "rate": 24_000, "chunks": [4_800]}},
}
LINKS = ("loopback", "relay_64", "tun_64")
STOPS = ("at_once", "clause_end")


@dataclass
class Barge:
    """One interruption; milliseconds from it."""

    handed_ms: float
    silent_ms: float
    late_bytes: int
    free_ms: float


async def interrupt(url: str, server: ServerProcess, stop: str, listen_s: float) -> Barge:
    """Listen, cancel, and see what still comes."""
    async with Listener(url) as listener:
        await listener.send(StreamStart(str(uuid.uuid4()), SENTENCE * SENTENCES, open=True))
        heard, stream = Heard("", time.monotonic()), 0
        while heard.first_audio is None or time.monotonic() < heard.first_audio + listen_s:
            message = await listener.next(heard, stream)
            if isinstance(message, StreamStarted):
                stream = message.stream
                listener.reporter.open(stream, time.monotonic())
            elif isinstance(message, Audio):
                listener.take(heard, message)
            await listener.report(heard, stream)
        before = heard.audio_bytes
        await listener.send(Cancel(stream) if stop == "at_once" else TextEnd(stream))
        at = time.monotonic()
        free = asyncio.get_running_loop().run_in_executor(None, server.ask, "free")
        await run_out(listener, heard, stream)
        await free
        answer = server.ask("free")  # once more: something may have been handed on since
        handed, freed = answer["handed"], answer["free"]
        silent = heard.arrivals[-1][0]
        times = [max(0.0, then - at) * 1000 for then in (handed, silent, freed)]
        return Barge(times[0], times[1], heard.audio_bytes - before, times[2])


async def run_out(listener: Listener, heard: Heard, stream: int) -> None:
    """Take what comes until the end of the stream, and a while longer."""
    ended_at: float | None = None
    while ended_at is None or time.monotonic() < ended_at + AFTER_S:
        message = await listener.next(heard, stream)
        if isinstance(message, StreamEnd):
            ended_at = time.monotonic()
        elif isinstance(message, Audio):
            listener.take(heard, message)
        await listener.report(heard, stream)


@contextlib.contextmanager
def served(link: str, engine: str, stop: str) -> Iterator[ServerProcess]:
    """A server, and this thread where its listener is."""
    settings = {**ENGINES[engine], "engine.workers": 1}
    program = "barge_in_server.py"
    if link != "tun_64":
        with ServerProcess(settings, stop, program=program) as server:
            yield server
        return
    from tun import TunLink

    with TunLink(steady(SLOW_KBPS, delay_ms=DELAY_MS)) as tun:
        settings["server.host"] = tun.address("server")
        with (
            ServerProcess(
                settings, stop, program=program, wrap=lambda command: tun.command("server", command)
            ) as server,
            tun.inside("client"),
        ):
            tun.start()
            yield server


@contextlib.asynccontextmanager
async def through(link: str, url: str) -> AsyncIterator[str]:
    """The address to connect to."""
    if link != "relay_64":
        yield url
        return
    place = urlsplit(url)
    relay = Relay(steady(SLOW_KBPS, delay_ms=DELAY_MS), place.hostname or "", place.port or 0)
    await relay.start()
    try:
        yield url.replace(f":{place.port}", f":{relay.port}")
    finally:
        await relay.stop()


async def many(link: str, server: ServerProcess, stop: str, times: int) -> list[Barge]:
    """Interruptions one after another, each on a connection of its own."""
    rng = random.Random(link + stop)
    async with through(link, server.url) as url:
        return [await interrupt(url, server, stop, rng.uniform(*LISTEN_S)) for _ in range(times)]


def run_arm(link: str, engine: str, stop: str, times: int) -> dict[str, Any]:
    """One arm, in this process."""
    with served(link, engine, stop) as server:
        found = asyncio.run(many(link, server, stop, times))
    return {
        "handed_ms": spread([one.handed_ms for one in found]),
        "silent_ms": spread([one.silent_ms for one in found]),
        "free_ms": spread([one.free_ms for one in found]),
        "late_bytes": spread([one.late_bytes for one in found]),
    }


def lacks(link: str) -> str | None:
    """Why this link cannot be had here."""
    if link != "tun_64":
        return None
    from tun import missing

    return missing()


def run_all(times: int) -> dict[str, Any]:
    """Each arm in a process of its own; those of a link at once, since they mostly wait."""
    results: dict[str, Any] = {}
    for link in LINKS:
        if reason := lacks(link):
            results[link] = f"not measured: {reason}"
            continue
        running = {
            f"{link} {engine} {stop}": subprocess.Popen(
                [sys.executable, __file__, "--times", str(times), "--arm", link, engine, stop],
                stdout=subprocess.PIPE, text=True,
            )
            for engine in ENGINES for stop in STOPS
        }  # fmt: skip
        for name, process in running.items():
            output, _ = process.communicate()
            if process.returncode:
                raise SystemExit(f"the arm {name} failed; what it said stands above")
            results[name] = json.loads(output)
    return results


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--times", type=int, default=20, help="interruptions in each arm")
    parser.add_argument("--arm", nargs=3, metavar=("LINK", "ENGINE", "STOP"), help="this one alone, as JSON")
    args = parser.parse_args()
    if args.arm:
        link, engine, stop = args.arm
        print(json.dumps(run_arm(link, engine, stop, args.times)))
    else:
        show(run_all(args.times), args.json)


if __name__ == "__main__":
    main()
