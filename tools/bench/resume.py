"""
What a listener loses when the connection is cut in mid-speech, again and again, at random bytes: nothing.

    python tools/bench/resume.py --json            # 200 cuts: plain, TLS, behind nginx

Half of the speeches have a fixed rung and must come out as those of an unbroken connection, sample by
sample. The others adapt, are heard in real time, and must have every packet in one form, every frame once,
the right length. Prints `kills`, `identical` (cuts of speeches that kept all that), `stalls` of the
real-time listeners, and `stalls_banked`: those that came although more than a second was banked beyond the
waits that the back-off asks for. The engine is `tone`, which says the same twice.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import socket
import ssl
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from certificate import certificate
from common import show, spread
from cutter import Cutter

from abr_tts.client import Client, Event, Reconnected, Reconnecting, Speech
from abr_tts.server.app import Server
from abr_tts.server.config import load
from abr_tts.wire import messages as m

sys.path.append(str(Path(__file__).parents[1] / "netem"))

RUNGS = ("opus24", "pcm22", "opus64", "ulaw22", "pcm16k")
"""Fixed rungs, one of each family, by turns."""

TEXT = "x" * 90
"""One clause, 5.4 s of tone."""

CLAUSES = 2
"""Clauses of a speech."""

CUTS = 5
"""Cuts of one speech."""

MODEST = 4
"""So many times less is carried of an adaptive speech that is cut, as each link proves itself. Measured."""

AT_ONCE = 6
"""Speeches under way at a time."""

LEAD_S = 3.0
"""Speech that is sent ahead: less than a speech is long, so that there is something to lose all the time."""

SETTINGS = {
    "engine.kind": "tone", "engine.workers": 2, "engine.options": {"rate": 22_050}, "server.port": 0,
    "engine.clause_chars": 100, "engine.first_clause_chars": 100, "stream.max_lead_s": LEAD_S,
    "limits.relief": False,
}  # fmt: skip
"""Without relief: under strain a stream would be encoded with less effort than the unbroken one before it."""


@dataclass(frozen=True)
class Way:
    """What is said, how often at a time, and how clients reach the server."""

    port: int
    text: str
    at_once: int
    tls: ssl.SSLContext | None = None

    def url(self, port: int) -> str:
        """Through a relay that listens on `port`."""
        return f"{'wss' if self.tls else 'ws'}://127.0.0.1:{port}"


@dataclass
class Trial:
    """What one speech with its cuts was like."""

    rung: str | None
    cuts: int = 0
    rungs: tuple[str, ...] = ()
    """That were heard."""
    same_bytes: bool = True
    stalls: int = 0
    stalls_banked: int = 0
    """While more than 1 s was banked beyond the waits of the back-off, at the loss."""
    away_ms: list[float] = field(default_factory=list)
    """From each loss to the connection after it."""
    heard: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int16))
    fault: str = ""


class Witness:
    """Looks on at one speech: are packets the same when they come again, and what do breaks cost?"""

    def __init__(self, trial: Trial, now: Any) -> None:
        self._trial, self._now = trial, now
        self._packets: dict[tuple[int, int], bytes] = {}
        self._lost_at: float | None = None
        self._safe, self._stalls = False, 0
        self.speech: Speech | None = None

    def watch(self, speech: Speech) -> None:
        """From now on."""
        self.speech, take = speech, speech.on_message

        def on_message(message: m.Message, size: int) -> None:
            if isinstance(message, m.Audio):
                self._see(message)
            take(message, size)

        speech.on_message = on_message  # type: ignore[method-assign]

    def _see(self, audio: m.Audio) -> None:
        for number, packet in enumerate(audio.packets):
            place = audio.track, audio.pts + 960 * number
            self._trial.same_bytes &= self._packets.setdefault(place, packet) == packet

    def event(self, event: Event) -> None:
        """Of the speech."""
        assert self.speech is not None
        if isinstance(event, Reconnecting):
            if event.attempt == 1:
                self._settle()
                self._lost_at, self._stalls = self._now(), self.speech.stats.stalls
                self._left_ms = self.speech.buffer_ms - 1000.0
            self._left_ms -= 1000 * event.wait_s
            self._safe = self._left_ms > 0
        elif isinstance(event, Reconnected) and self._lost_at is not None:
            self._trial.away_ms.append(1000 * (self._now() - self._lost_at))

    def _settle(self) -> None:
        """What the last break has cost by now."""
        assert self.speech is not None
        if self._safe:
            self._trial.stalls_banked += self.speech.stats.stalls - self._stalls

    def close(self) -> None:
        """The speech is over."""
        self._settle()
        assert self.speech is not None
        self._trial.stalls = self.speech.stats.stalls


async def hear(way: Way, trial: Trial, seed: int, cuts: int, mean: int) -> int:
    """One speech, cut `cuts` times at most; bytes that the connections carried."""
    chance = random.Random(seed)
    async with Cutter(way.port, chance) as cutter:
        async with Client(way.url(cutter.port), ssl=way.tls) as client:
            witness = Witness(trial, asyncio.get_running_loop().time)
            speech = client.speak(
                way.text, rung=trial.rung, realtime=trial.rung is None, events=witness.event, out_rate=22_050
            )
            witness.watch(speech)
            if cuts:
                cutter.arm(cuts, mean)
            try:
                trial.heard = await speech.read()
            except Exception as fault:
                trial.fault = repr(fault)
            witness.close()
            trial.cuts, trial.rungs = cutter.cuts, tuple(speech.stats.rungs)
        return cutter.carried


async def trials(way: Way, kills: int, seed: int) -> list[tuple[Trial, bool]]:
    """Speeches until there were so many cuts, fixed and adaptive by turns; with each whether it is right."""
    unbroken = [Trial(rung) for rung in (*RUNGS, None)]
    sizes = await asyncio.gather(*(hear(way, trial, seed, 0, 0) for trial in unbroken))
    assert not any(trial.fault for trial in unbroken), unbroken
    whole = {trial.rung: (trial.heard, size) for trial, size in zip(unbroken, sizes, strict=True)}
    found: list[tuple[Trial, bool]] = []
    numbers = iter(range(10_000))

    async def work() -> None:
        while sum(trial.cuts for trial, _ in found) < kills:
            number = next(numbers)
            adapts = number % 2 == 0
            trial = Trial(None if adapts else RUNGS[number // 2 % len(RUNGS)])
            expected, carried = whole[trial.rung]
            mean = max(200, carried // (CUTS + 1) // (MODEST if adapts else 1))
            await hear(way, trial, seed * 10_007 + number, CUTS, mean)
            found.append((trial, right(trial, expected)))

    await asyncio.gather(*(work() for _ in range(way.at_once)))
    return found


def right(trial: Trial, expected: np.ndarray) -> bool:
    """Whether nothing was lost, repeated or said in two ways."""
    if trial.fault or not trial.same_bytes or len(trial.heard) != len(expected):
        return False
    return trial.rung is None or np.array_equal(trial.heard, expected)


def figures(found: list[tuple[Trial, bool]]) -> dict[str, Any]:
    """What is published of some trials."""
    away = [ms for trial, _ in found for ms in trial.away_ms]
    return {
        "kills": sum(trial.cuts for trial, _ in found),
        "identical": sum(trial.cuts for trial, good in found if good),
        "speeches": len(found),
        "fixed_rung_kills": sum(trial.cuts for trial, _ in found if trial.rung),
        "adaptive_speeches_that_switched": sum(len(trial.rungs) > 1 for trial, _ in found),
        "stalls": sum(trial.stalls for trial, _ in found),
        "stalls_banked": sum(trial.stalls_banked for trial, _ in found),
        "away_ms": spread(away) if away else {},
        "faults": dict(Counter(trial.fault or "not the same" for trial, good in found if not good)),
    }


@contextlib.asynccontextmanager
async def serving(more: dict[str, Any]) -> AsyncIterator[Server]:
    """A server in this process."""
    server = Server(load(overrides=SETTINGS | more))
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@contextlib.contextmanager
def behind_nginx(port: int, files: dict[str, str]) -> Iterator[int]:
    """The port of an nginx with TLS in front of the server."""
    import nginx

    with socket.create_server(("127.0.0.1", 0)) as probe:
        place = probe.getsockname()
    pair = files["tls.cert_file"], files["tls.key_file"]
    with nginx.proxy(place, f"127.0.0.1:{port}", pair, subprocess.Popen):
        yield place[1]


async def run(
    kills: int,
    seed: int,
    ways: tuple[str, ...],
    clauses: int = CLAUSES,
    at_once: int = AT_ONCE,
    **more: Any,
) -> dict[str, Any]:
    """Every way in turn, with more settings of the server; figures of all and of each."""
    text = " ".join([TEXT + "."] * clauses)
    found: dict[str, list[tuple[Trial, bool]]] = {}
    with certificate() as (files, context):
        for number, name in enumerate(ways):
            share = kills // len(ways) + (number < kills % len(ways))
            async with serving(more | (files if name == "tls" else {})) as server:
                nginx = behind_nginx(server.port, files) if name == "nginx" else None
                with nginx or contextlib.nullcontext(server.port) as port:
                    way = Way(port, text, at_once, None if name == "plain" else context)
                    found[name] = await trials(way, share, seed + number)
    every = figures([one for some in found.values() for one in some])
    return every | {name: figures(some) for name, some in found.items()}


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="cuts at least, all ways together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ways", default="plain,tls,nginx", help="of plain, tls, nginx (needs nginx)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    show(asyncio.run(run(options.kills, options.seed, tuple(options.ways.split(",")))), options.json)


if __name__ == "__main__":
    main()
