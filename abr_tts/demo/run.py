"""
The demonstration itself: both arms set up, asked at the same moment, heard to the end.

Everything runs in one process and in real time; what it costs is the time that the speech takes.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from ..server.config import Settings, load
from ..sim.replay import Replayed, replay
from ..sim.scenario import Scenario
from ..trace import Trace
from .account import Account
from .arm import Arm, Stand, set_up, trace_of
from .story import FIXED_LEAD_S, FIXED_RUNG
from .told import Told

Progress: TypeAlias = Callable[[float, float, list[str]], None]
"""Takes the second, the link's kbit/s, and how each arm is, in words."""

LOOK_S = 0.1
"""Seconds between two looks at what is in hand."""

PATIENCE_S = 13.0
"""Seconds beyond the speech's length after which the fixed stream is cut off once the adaptive one is
through. On the demonstration's own link it takes 10 s; one that the link never carries takes minutes."""

ENGINE_VARIABLES = "ABR_TTS_ENGINE__"
"""Of the environment, the engine's settings count; the network's are the demonstration's own."""


@dataclass(frozen=True, slots=True, repr=False)
class Heard:
    """
    What came of one arm. It has no `repr` of its fields, because asyncio makes one of what a main
    task returns (Python 3.11, `Runner.run`), and megabytes of sound take seconds.
    """

    account: Account
    told: Told
    trace: Trace
    lines: str
    """The trace as it was written."""

    def replayed(self) -> Replayed:
        """The trace once more, through the same code without network, clock and codec."""
        return replay(self.trace)


@dataclass(frozen=True, slots=True)
class Show:
    """
    What is to be shown.

    Args:
        text: what is said.
        link: over what.
        policy: of the adaptive arm, a preset's name or the path of a file.
        environ: variables of the engine's settings.
    """

    text: str
    link: Scenario
    policy: str
    environ: Mapping[str, str]

    def arms(self, folder: Path) -> tuple[Arm, Arm]:
        """
        The adaptive and the fixed arm; each server records in a folder of its name.

        Raises:
            ConfigError: a variable is wrong.
        """
        adaptive = self._settings(folder / "adaptive", {"stream.policy": self.policy})
        fixed = self._settings(folder / "fixed", {"stream.max_lead_s": FIXED_LEAD_S})
        return (
            Arm("adaptive", f"abr-tts, policy {Path(self.policy).stem}", None, adaptive),
            Arm("fixed", f"22 kHz PCM, paced {FIXED_LEAD_S:g} s ahead", FIXED_RUNG, fixed),
        )

    def _settings(self, folder: Path, more: Mapping[str, object]) -> Settings:
        environ = {name: value for name, value in self.environ.items() if name.startswith(ENGINE_VARIABLES)}
        environ.setdefault(f"{ENGINE_VARIABLES}WORKERS", "1")
        ours = {"server.host": "127.0.0.1", "server.port": 0, "record.dir": folder}
        return load(None, environ, ours | dict(more))


async def perform(show: Show, progress: Progress) -> tuple[Heard, Heard]:
    """
    Play it.

    Args:
        progress: called ten times a second.

    Returns:
        What came of the adaptive and of the fixed arm.

    Raises:
        AbrError, ConfigError, MissingDependency: a server, a connection or a stream failed.
    """
    with tempfile.TemporaryDirectory(prefix="abr-tts-demo-") as name:
        arms = show.arms(Path(name))
        async with AsyncExitStack() as stack:
            stands = [await stack.enter_async_context(set_up(arm, show.link)) for arm in arms]
            origin = asyncio.get_running_loop().time()
            await _listen(stands, show.text, origin, progress)
        adaptive, fixed = (
            _heard(stand.account, Path(name) / arm.name, origin)
            for arm, stand in zip(arms, stands, strict=True)
        )
        return adaptive, fixed


async def _listen(stands: list[Stand], text: str, origin: float, progress: Progress) -> None:
    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(stand.listen(text, origin)) for stand in stands]
    watch = loop.create_task(_watch(stands, origin, progress))
    try:
        await _until_done(tasks[0], tasks)
        patience_s = stands[0].account.heard_s + PATIENCE_S - (loop.time() - origin)
        _, late = await asyncio.wait(tasks, timeout=max(0.0, patience_s))
        if late:
            stands[1].cut()
        await asyncio.gather(*tasks)
    finally:
        for task in (watch, *tasks):
            task.cancel()
        await asyncio.gather(watch, *tasks, return_exceptions=True)


async def _until_done(task: asyncio.Task[None], tasks: list[asyncio.Task[None]]) -> None:
    """Until `task` is done, or any fails."""
    pending = set(tasks)
    while not task.done():
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        for one in done:
            one.result()


async def _watch(stands: list[Stand], origin: float, progress: Progress) -> None:
    loop = asyncio.get_running_loop()
    count = 0
    while True:
        now = loop.time()
        for stand in stands:
            stand.look(now)
        progress(now - origin, stands[0].kbps, [stand.in_words(now) for stand in stands])
        count += 1
        await asyncio.sleep(max(0.0, origin + count * LOOK_S - loop.time()))


def _heard(account: Account, folder: Path, origin: float) -> Heard:
    lines, trace = trace_of(folder)
    told = Told(trace, origin)
    account.length = told.length
    return Heard(account, told, trace, lines)
