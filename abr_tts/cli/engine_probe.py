"""
Measures an engine as a server would use it: one worker, spoken to through the pool.

Figures hold for this machine as busy as it is now; they say nothing of how the engine sounds.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import EngineError

if TYPE_CHECKING:
    from ..engine.base import Abilities, Samples, Voice
    from ..engine.face import Asked, Speaking
    from ..engine.pool import Pool

SENTENCES = {
    "Latin": "The quick brown fox jumps over the lazy dog, and the dog does not mind at all.",
    "Han": "今天天气很好，我们一起去公园散步，然后回家吃晚饭。",
}
"""What is spoken, by script; what an engine does not pronounce is left out."""

FIRST = {"Latin": "Hello there, and welcome.", "Han": "你好，欢迎。"}
"""What a stream begins with: its first clause is short, because a listener waits for it."""

ROUNDS = 3
"""Times that the first clause is spoken; the median is told."""

APART_S = 0.020
"""PCM that comes this soon after the last belongs to the same chunk: the worker cuts long ones in
pieces that follow each other at once, and computing takes longer."""

LONG_ENOUGH_S, MOST_ROUNDS = 1.0, 50
"""The sentence is spoken again for this long, or so often: the kernel counts processor time in 10 ms."""

LONGEST_S = 10.0
"""From the first sound on, a text that takes longer is cut off: what was heard by then tells enough, and a
model that does not find the end of a text would speak for minutes."""

SLOW_S = 0.3
"""An engine that takes longer for the sentence is cancelled in the midst of computing its second chunk."""

AUDIBLE = 100
"""RMS of int16 below which nobody hears a word; quiet voices speak at 1 000."""


@dataclass(frozen=True)
class Figures:
    """What was measured; times in the units of their names."""

    engine: str
    version: str
    sample_rate: int
    voices: int
    languages: list[str]
    load_s: float
    first_chunk_ms: float
    rtf: float
    """Seconds of waiting for one second of speech."""
    cpu_rtf: float | None
    """Seconds of one core for one second of speech; None where it is no process of this machine."""
    chunks_s: list[float]
    """Seconds of sound in each chunk of one sentence."""
    cancel_ms: float
    peak_rss_mb: float | None
    loudness_dbfs: float


@dataclass
class Heard:
    """A sink with the time of everything."""

    rate: int
    began: float = field(default_factory=time.monotonic)
    arrived: list[tuple[float, int]] = field(default_factory=list)
    squares: float = 0.0
    error: EngineError | None = None
    some: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    ended: float = 0.0

    def pcm(self, samples: Samples) -> None:
        """Note when it came, how long and how loud it is."""
        self.arrived.append((time.monotonic(), samples.size))
        self.squares += float((samples.astype("float64") ** 2).sum())
        self.some.set()

    def end(self) -> None:
        """All was spoken."""
        self.ended = time.monotonic()
        self.some.set()
        self.over.set()

    def fault(self, error: EngineError) -> None:
        """It was not."""
        self.error = error
        self.end()

    @property
    def seconds(self) -> float:
        """Of sound."""
        return sum(size for _, size in self.arrived) / self.rate

    def chunks(self) -> list[float]:
        """Seconds of sound in each chunk."""
        sizes: list[float] = []
        last = self.began
        for at, size in self.arrived:
            if sizes and at - last < APART_S:
                sizes[-1] += size / self.rate
            else:
                sizes.append(size / self.rate)
            last = at
        return [round(size, 3) for size in sizes]


async def measure(pool: Speaking) -> Figures:
    """
    Start `pool`, speak, and stop it again.

    Raises:
        AbrError, LocalError: it does not load, does not speak, or is not heard.
    """
    began = time.monotonic()
    await pool.start()
    try:
        load_s = time.monotonic() - began
        firsts = [await _said(pool, _joined(FIRST, pool.abilities)) for _ in range(ROUNDS)]
        spent, since = _cpu_s(pool), time.monotonic()
        wholes = [await _said(pool, _joined(SENTENCES, pool.abilities))]
        while time.monotonic() - since < LONG_ENOUGH_S and len(wholes) < MOST_ROUNDS:
            wholes.append(await _said(pool, _joined(SENTENCES, pool.abilities)))
        cpu_s = _difference(_cpu_s(pool), spent)
        slow = wholes[0].ended - wholes[0].began > SLOW_S
        cancel_s = await _cancel(pool, 2 * APART_S if slow else 0.0)
        return _figures(pool, load_s, firsts, wholes, cpu_s, cancel_s)
    finally:
        await pool.stop()


def _figures(
    pool: Speaking,
    load_s: float,
    firsts: Sequence[Heard],
    wholes: Sequence[Heard],
    cpu_s: float | None,
    cancel_s: float,
) -> Figures:
    import numpy as np

    whole, seconds = wholes[0], sum(heard.seconds for heard in wholes)
    rms = (whole.squares / (whole.seconds * whole.rate)) ** 0.5
    if rms < AUDIBLE:
        raise EngineError(f"the {pool.abilities.engine} engine made {whole.seconds:.1f} s of silence")
    waits = sorted(heard.arrived[0][0] - heard.began for heard in firsts)
    tags = [tag for voice in pool.voices for tag in voice.languages]
    return Figures(
        engine=pool.abilities.engine,
        version=pool.abilities.version,
        sample_rate=whole.rate,
        voices=len(pool.voices),
        languages=list(dict.fromkeys(tags)),
        load_s=round(load_s, 2),
        first_chunk_ms=round(1000 * waits[len(waits) // 2], 1),
        rtf=round(sum(heard.ended - heard.began for heard in wholes) / seconds, 4),
        cpu_rtf=None if cpu_s is None else round(cpu_s / seconds, 4),
        chunks_s=whole.chunks(),
        cancel_ms=round(1000 * cancel_s, 1),
        peak_rss_mb=_peak_mb(pool),
        loudness_dbfs=round(float(20 * np.log10(rms / 32_768)), 1),
    )


def _joined(texts: dict[str, str], abilities: Abilities) -> str:
    """One of `texts` that the engine pronounces: the first one in the order of its scripts."""
    known = [script for script in abilities.scripts or ("Latin",) if script in texts]
    return texts[known[0]] if known else "1 2 3 4 5 6 7 8 9 10 11 12."


def _ask(pool: Speaking, text: str) -> tuple[Heard, Asked]:
    voice: Voice = pool.choose(None, None, text)
    heard = Heard(voice.sample_rate)
    return heard, pool.say(text, voice, None, 1.0, heard)


async def _said(pool: Speaking, text: str) -> Heard:
    heard, asked = _ask(pool, text)
    await heard.some.wait()
    try:
        await asyncio.wait_for(heard.over.wait(), LONGEST_S)
    except TimeoutError:
        await _stop(pool, asked)
        heard.ended = heard.arrived[-1][0]
    if heard.error:
        raise heard.error
    if not heard.arrived:
        raise EngineError(f"the {pool.abilities.engine} engine made no sound of {text!r}")
    return heard


async def _cancel(pool: Speaking, pause_s: float) -> float:
    """Seconds from a cancel, `pause_s` after the first sound of a long text, until the engine is free."""
    heard, asked = _ask(pool, " ".join([_joined(SENTENCES, pool.abilities)] * 3))
    await heard.some.wait()
    await asyncio.sleep(pause_s)
    return await _stop(pool, asked)


async def _stop(pool: Speaking, asked: Asked) -> float:
    """Cancel; seconds until the engine is free."""
    began = time.monotonic()
    asked.cancel()
    while pool.stats.busy:  # noqa: ASYNC110 -- a pool tells nobody that it is free
        await asyncio.sleep(0.001)
    return time.monotonic() - began


# -- the worker's process ------------------------------------------------------------------


def _pids(pool: Speaking) -> tuple[int, ...]:
    """The workers' processes, of a pool that has any on this machine."""
    local: Pool | Any = pool
    return tuple(getattr(local, "pids", ()))


def _cpu_s(pool: Speaking) -> float | None:
    """Seconds of processor time that the workers have used so far."""
    with contextlib.suppress(OSError, ValueError):
        ticks = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in _pids(pool)]
        if ticks:  # fields 14 and 15 of proc(5), user and system; 11 and 12 after the name
            return sum(int(one[11]) + int(one[12]) for one in ticks) / os.sysconf("SC_CLK_TCK")
    return None


def _difference(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before


def _peak_mb(pool: Speaking) -> float | None:
    """Most memory that a worker has held."""
    peaks = []
    for pid in _pids(pool):
        with contextlib.suppress(OSError, StopIteration):
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            line = next(line for line in lines if line.startswith("VmHWM:"))
            peaks.append(int(line.split()[1]) / 1024)
    return round(max(peaks), 1) if peaks else None
