"""
The engine host: what lies between an engine's chunk and its listener, and what a dead worker costs.

*Added* to a chunk is the time from the engine handing it out, in its own process, to the listener,
in a third, having the first packet that the chunk completes; or, where what the engine made before is
still on its way by then, from that having arrived: the network's turn is not the engine host's time.
*Passed* is the same from the engine's hand whatever was before. Four parts:

`pipe`: the pool alone, 50 workers with the chunk plan of `replay`: from the engine to `Sink.pcm`.

`chunks`: a few listeners with a fixed rung, and the tone engine at RTF 0.3 in chunks of 0.4 s.

`replay`: the chunk plan of CosyVoice (1.8 s, 2 s, then 4 s of sound at once, RTF 0.3 to 0.9 by stream)
for 50 streams: at a fixed rung, adaptive, and the same texts adaptive from an engine that is done at
once. *Lowered* are switches to a rung of lower utility while a stream runs, by reason; the link is the
loopback, so that whatever lowers a rung for the link's sake is the engine's doing, or the machine's. The
reason `bank` is none of these: on a link that is known to be good the policy banks the first 0.6 s better
than usual, and then goes on as usual.

`kill`: 20 streams of espeak, one worker killed with -9 in mid-sentence, again and again.

`machine_ms` is how late a process that does nothing but sleep wakes meanwhile: the noise floor.

    pip install '.[espeak]'
    python tools/bench/engine_host.py --json            # 6 minutes
    python tools/bench/engine_host.py --part kill --json
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common import ServerProcess, percentile, show
from listener import Heard, Listener
from stamped import interpreter, read

from abr_tts.engine.pool import EngineSpec, Pool
from abr_tts.engine.pool import Limits as PoolLimits
from abr_tts.engine.tone import CHAR_S

RATE = 24_000
FRAME, FRAME_TICKS = RATE // 50, 960
"""Samples and ticks of a frame, 20 ms."""

COSYVOICE = [43_200, 48_000, *[96_000] * 20]
"""Samples of the chunks that CosyVoice2 hands out: 1.8 s, 2 s, then 4 s at once (its token_hop_len doubles;
read in its source)."""

FACTORS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Real-time factors, by stream: a good GPU, and one that many share."""

SPEECH_S = (9.8, 19.8)
"""Seconds of an utterance, uniform: three to six chunks of that plan, and below the lead that a sender may
have (30 s), so that nothing waits for the listener."""

LATE_EVERY_S = 0.01
"""Between two looks at how late the machine wakes a process."""


def tone(folder: Path, workers: int, chunks: list[int], rtf: float, **setup: Any) -> dict[str, Any]:
    """Settings of a server whose engine is watched; a stream's text is one clause."""
    return {
        "engine.kind": "tone",
        "engine.python": interpreter(folder, **setup),
        "engine.workers": workers,
        "engine.load_s": 300.0,
        "engine.options": {"rate": RATE, "chunks": chunks, "rtf": rtf},
        "engine.clause_chars": 10_000,
        "engine.first_clause_chars": 10_000,
    }


def text_of(number: int, seconds: float) -> str:
    """One clause that lasts so long, begun by its number."""
    return f"{number:06d}".ljust(round(seconds / CHAR_S), "a")


async def crowd(url: str, streams: int, each: int, rung: str | None, seed: int) -> list[Heard]:
    """`streams` connections with `each` utterances heard at real time."""
    rng = random.Random(seed)
    plans = [(rng.random() * 6, [rng.uniform(*SPEECH_S) for _ in range(each)]) for _ in range(streams)]

    async def one(number: int) -> list[Heard]:
        starts_s, lengths = plans[number]
        async with Listener(url, paced=True) as listener:
            await asyncio.sleep(starts_s)
            texts = [text_of(number + streams * n, seconds) for n, seconds in enumerate(lengths)]
            return [await listener.speak(text, rung) for text in texts]

    heard = await asyncio.gather(*map(one, range(streams)))
    return [utterance for some in heard for utterance in some]


def added(heard: list[Heard], notes: dict[str, dict[str, Any]]) -> tuple[list[float], list[float]]:
    """
    Milliseconds for each chunk of each utterance, which must be whole: what was added, and what passed
    since the engine handed it out.

    A chunk's turn comes when what was made before it has arrived, but for the last frame, whose packet
    the encoder makes of what follows, too.
    """
    values, passed = [], []
    for one in heard:
        note = notes[one.text]
        if one.error or one.length != note["samples"]:
            raise SystemExit(f"an utterance is not whole: {one.error or one.length}")
        for at, first in note["chunks"]:
            frame = first // FRAME
            turn = max(at, _arrived(one, frame - 1)) if frame > 1 else at
            values.append((_arrived(one, frame + 1) - turn) * 1000)
            passed.append((_arrived(one, frame + 1) - at) * 1000)
    return values, passed


def _arrived(heard: Heard, frames: int) -> float:
    """When so many frames were there."""
    return next(at for at, pts in heard.arrivals if pts >= frames * FRAME_TICKS)


class Lateness:
    """`with Lateness() as late: …; late.ms` of a process that only sleeps."""

    def __enter__(self) -> Lateness:
        reading, writing = os.pipe()
        self._child = os.fork()
        if not self._child:
            os.close(reading)
            with contextlib.suppress(BaseException):
                self._sleep(writing)
            os._exit(0)
        os.close(writing)
        self._pipe = reading
        return self

    @staticmethod
    def _sleep(writing: int) -> None:
        stopped: list[int] = []
        signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
        late = []
        while not stopped:
            due = time.monotonic() + LATE_EVERY_S
            time.sleep(LATE_EVERY_S)
            late.append((time.monotonic() - due) * 1000)
        with os.fdopen(writing, "w") as file:
            file.write(" ".join(f"{value:.3f}" for value in late))

    def __exit__(self, *_: object) -> None:
        os.kill(self._child, signal.SIGTERM)
        with os.fdopen(self._pipe) as file:
            self.ms = [float(value) for value in file.read().split()]
        os.waitpid(self._child, 0)


def spread(values: list[float]) -> dict[str, float]:
    """Percentiles of milliseconds, to a hundredth."""
    return {name: round(percentile(values, share), 2) for name, share in
            {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}.items()}  # fmt: skip


def go_first(engines: list[int], server: int | None = None) -> None:
    """
    Have ours run before all other processes of the machine (real-time scheduling).

    Of ours, server and listeners go before the engines, whose model would be computed elsewhere.
    """
    ours = [os.getpid(), *([server] if server else [])]
    for pid, priority in [*((pid, 2) for pid in ours), *((pid, 1) for pid in engines)]:
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setscheduler(int(thread), os.SCHED_RR, os.sched_param(priority))


def speak(
    settings: dict[str, Any], folder: Path, streams: int, rung: str | None, args: argparse.Namespace
) -> dict[str, Any]:
    """One server, one crowd: what was added, and what was lowered."""
    with ServerProcess(settings) as server:
        server.ask("whole")
        if args.first:
            go_first(**server.ask("processes"))
        with Lateness() as late:
            heard = asyncio.run(crowd(server.url, streams, args.each, rung, args.seed))
        switches, lag = server.ask("switches"), server.ask("stats")
    values, passed = added(heard, read(folder))
    return {
        "added_ms": spread(values),
        "passed_ms": spread(passed),
        "machine_ms": spread(late.ms),
        "chunks": len(values),
        "utterances": len(heard),
        "lowered": switches["lowered"],
        "lowered_for_the_link": sum(n for reason, n in switches["lowered"].items() if reason != "bank"),
        "played_s": switches["played_s"],
        "stalls": switches["stalls"],
        "server_cpu_s": lag["cpu_s"],
    }


class Taken:
    """A sink that notes when the samples came."""

    def __init__(self, text: str) -> None:
        self.text, self.over = text, asyncio.Event()
        self.pieces: list[tuple[int, float]] = []
        self._samples = 0

    def pcm(self, samples: Any) -> None:
        """The next samples."""
        self.pieces.append((self._samples, time.monotonic()))
        self._samples += len(samples)

    def end(self) -> None:
        """All of them came."""
        self.over.set()

    def fault(self, error: Exception) -> None:
        """They did not."""
        raise SystemExit(f"a request failed: {error}")


async def _pipe(path: Path, streams: int, each: int, seed: int, first: bool) -> list[Taken]:
    rng = random.Random(seed)
    options = {"rate": RATE, "chunks": COSYVOICE}
    spec = EngineSpec("tone", options, interpreter(path, real_time_factors=FACTORS))
    pool = Pool(spec, streams, limits=PoolLimits(load_s=300.0))
    await pool.start()
    while pool.ready < streams:  # noqa: ASYNC110 -- a pool that is measured has no event for it
        await asyncio.sleep(0.1)
    if first:
        go_first([worker.pid for worker in pool._workers if worker.pid])
    sinks = []

    async def one(number: int) -> None:
        await asyncio.sleep(number % 10 * 0.6)
        for n in range(each):
            sink = Taken(text_of(number + streams * n, rng.uniform(*SPEECH_S)))
            sinks.append(sink)
            pool.say(sink.text, pool.voices[0], None, 1.0, sink)
            await sink.over.wait()

    await asyncio.gather(*map(one, range(streams)))
    await pool.stop()
    return sinks


def pipe(args: argparse.Namespace) -> dict[str, Any]:
    """The pool alone."""
    with folder() as path:
        with Lateness() as late:
            sinks = asyncio.run(_pipe(path, args.streams, args.each, args.seed, args.first))
        notes = read(path)
    values = [
        (dict(sink.pieces)[first] - at) * 1000 for sink in sinks for at, first in notes[sink.text]["chunks"]
    ]
    return {"added_ms": spread(values), "machine_ms": spread(late.ms), "chunks": len(values)}


def chunks(args: argparse.Namespace) -> dict[str, Any]:
    """Small chunks, a fixed rung."""
    with folder() as path:
        return speak(tone(path, args.few, [9_600], 0.3), path, args.few, args.rung, args)


def replay(args: argparse.Namespace) -> dict[str, Any]:
    """The chunk plan of CosyVoice for many streams, and an engine that is done at once."""
    result = {}
    arms = (("fixed", FACTORS, args.rung), ("adaptive", FACTORS, None), ("adaptive_instant", (0.0,), None))
    for name, factors, rung in arms:
        with folder() as path:
            settings = tone(path, args.streams, COSYVOICE, 0.0, real_time_factors=factors)
            result[name] = speak(settings, path, args.streams, rung, args)
    return result


def kill(args: argparse.Namespace) -> dict[str, Any]:
    """Workers killed in mid-sentence under 20 streams."""
    rounds = []
    settings = {"engine.kind": "espeak", "engine.workers": 2, "engine.clause_chars": 10_000}
    with ServerProcess(settings) as server:
        server.ask("whole")
        if args.first:
            go_first(**server.ask("processes"))
        for number in range(args.kills):
            server.ask("whole")
            rounds.append(asyncio.run(_killed(server, number)))
    whole = [one["whole_s"] for one in rounds]
    return {
        "kills": len(rounds),
        "streams": sum(one["streams"] for one in rounds),
        "held_by_the_killed": sum(one["own"] for one in rounds),
        "failed": sum(one["failed"] for one in rounds),
        "others_failed": sum(one["failed"] - one["own"] for one in rounds),
        "first_start_s": round(rounds[0]["start_s"], 3),
        "whole_s": {"median": round(percentile(whole, 0.5), 3), "max": round(max(whole), 3)},
    }


async def _killed(server: ServerProcess, number: int, streams: int = 20) -> dict[str, Any]:
    sentence = "the quick brown fox jumps over the lazy dog and runs on "

    async def one(which: int) -> Heard:
        async with Listener(server.url, paced=False) as listener:
            return await listener.speak(f"{number} {which} " + sentence * 10, "pcm22")

    tasks = [asyncio.create_task(one(which)) for which in range(streams)]
    loop = asyncio.get_running_loop()
    killed = await loop.run_in_executor(None, server.ask, "kill")
    heard = await asyncio.gather(*tasks)
    failed = [h for h in heard if h.error]
    assert all(h.error and h.error.code == "engine_lost" for h in failed), failed
    return {"streams": streams, "failed": len(failed), **killed}


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A temporary folder."""
    with tempfile.TemporaryDirectory(prefix="abr-tts-bench-") as name:
        yield Path(name)


PARTS = {"pipe": pipe, "chunks": chunks, "replay": replay, "kill": kill}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this; may be repeated")
    parser.add_argument(
        "--first", action="store_true", help="run before whatever else this machine does (Linux, root)"
    )
    parser.add_argument("--few", type=int, default=4, help="streams of `chunks`")
    parser.add_argument("--streams", type=int, default=50, help="streams of `replay`")
    parser.add_argument("--each", type=int, default=2, help="utterances of each of them")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--rung", default="opus24", help="of `chunks`")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    show({part: PARTS[part](args) for part in args.part or PARTS}, args.json)


if __name__ == "__main__":
    main()
