"""
One arm of the demonstration: a server with settings of its own, a relay in front of it, a client
behind that, and an account of what its listener hears.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..client import Client, Speech
from ..server.app import Server
from ..server.config import Settings
from ..sim.scenario import Scenario
from ..trace import Trace, read
from .account import FRAME_S, Account
from .relay import HOST, Relay

WAITING_S = 0.1
"""Seconds after a frame was due from which a listener is shown as waiting: five frames."""


@dataclass(frozen=True, slots=True)
class Arm:
    """
    What is compared.

    Args:
        name: `adaptive` or `fixed`.
        title: for people.
        rung: that it is held at; None: it adapts.
        settings: of its server, which records one stream.
    """

    name: str
    title: str
    rung: str | None
    settings: Settings


class Stand:
    """An arm that is set up: everything connected, nothing asked for yet."""

    def __init__(self, arm: Arm, client: Client, relay: Relay) -> None:
        self.account = Account(arm.name, arm.title)
        self._arm, self._client, self._relay = arm, client, relay
        self._loop = asyncio.get_running_loop()
        self._origin = 0.0
        self._heard_at = 0.0
        self._speech: Speech | None = None

    async def listen(self, text: str, origin: float) -> None:
        """
        Ask for `text` and hear it, in real time; the link's schedule begins now.

        Args:
            origin: second 0 of the account, on the loop's clock.

        Raises:
            AbrError: the stream or the connection failed.
        """
        self._relay.restart()
        self._origin = origin
        speech = self._speech = self._client.speak(text, rung=self._arm.rung, realtime=True)
        account, stats = self.account, speech.stats
        async for frame in speech:
            self._heard_at = self._loop.time()
            account.sample_rate = speech.sample_rate
            at = self._heard_at - origin
            account.frame(at, frame, speech.rung, stats.stalls, stats.stall_ms / 1000)
        account.first_audio_s, account.first_sound_s = _s(stats.first_audio_ms), _s(stats.first_sound_ms)
        account.bytes, account.complete = stats.bytes, stats.complete

    def look(self, now: float) -> None:
        """Note what is in hand."""
        if self._speech is not None and not self._speech.stats.complete:
            self.account.look(now - self._origin, self._speech.buffer_ms / 1000)

    def cut(self) -> None:
        """Stop listening."""
        if self._speech is not None:
            self._speech.cancel()

    @property
    def kbps(self) -> float:
        """What the link carries at this moment."""
        return self._relay.kbps

    def in_words(self, now: float) -> str:
        """How it is at this moment, in a few words."""
        account, speech = self.account, self._speech
        stalls = f"{account.stalls} stall{'' if account.stalls == 1 else 's'}"
        if speech is None or not account.rung:
            return f"{self._arm.name} starts"
        if speech.stats.complete:
            return f"{self._arm.name} done, {stalls}"
        waits = now - self._heard_at > FRAME_S + WAITING_S
        rung = "WAITS" if waits else account.rung
        return f"{self._arm.name} {rung:6} bank {speech.buffer_ms / 1000:4.1f} s, {stalls}"


@asynccontextmanager
async def set_up(arm: Arm, link: Scenario) -> AsyncIterator[Stand]:
    """
    Server, relay and client, connected; everything is gone in the end, and the trace is written.

    Raises:
        ConfigError, MissingDependency, EngineError: the server cannot start.
        ConnectFailed: the link carries not even a greeting.
    """
    server = Server(arm.settings)
    await server.start()
    try:
        relay = Relay(link, HOST, server.port)
        await relay.start()
        try:
            async with Client(f"ws://{HOST}:{relay.port}") as client:
                try:
                    yield Stand(arm, client, relay)
                finally:
                    relay.clear()
        finally:
            await relay.stop()
    finally:
        await server.stop()


def trace_of(folder: Path) -> tuple[str, Trace]:
    """The one trace of a server that had one stream, as text and as read."""
    (path,) = folder.glob("*.jsonl")
    text = path.read_text(encoding="utf-8")
    return text, read(text.splitlines(keepends=True), path.name)


def _s(ms: Any) -> float | None:
    return None if ms is None else float(ms) / 1000
