"""
Listeners over TCP, in real time: the house's client, and one for the plain design. Both play by the
very same player: it starts with 200 ms in hand, waits where nothing is there, and skips nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import uuid
from typing import Any, Protocol

import aiohttp

from abr_tts.audio.libopus import load
from abr_tts.client import Client, Speech
from abr_tts.errors import AbrError
from abr_tts.stream.player import Player
from abr_tts.wire import messages as m
from versus.heard import Ear
from versus.plain import unpack
from versus.plan import Said

CONNECT_S = 20.0
"""Seconds that connecting may take."""

PATIENCE_S = 60.0
"""Seconds beyond its length after which an utterance is given up."""

STREAM, TRACK = 1, 1


class Listener(Protocol):
    """What a session needs; one per connection."""

    async def __aenter__(self) -> Listener:
        """Connect."""

    async def __aexit__(self, *_: object) -> None:
        """Hang up."""

    async def hear(self, said: Said, ear: Ear) -> None:
        """Ask for an utterance and hear it to the end, or raise what went wrong."""


async def play(speech: Speech, ear: Ear) -> None:
    """Hear a speech to its end."""
    async for frame in speech:
        ear.rate = speech.sample_rate
        ear.frame(time.monotonic(), frame, speech.rung, speech.stats.stalls, speech.stats.stall_ms / 1000)
    ear.complete = speech.stats.complete


class Ours:
    """
    The shipped client.

    Args:
        rung: hold every stream at it; None: adapt.
    """

    def __init__(self, url: str, context: Any, rung: str | None) -> None:
        self._client = Client(url, ssl=context, connect_s=CONNECT_S)
        self._rung = rung

    async def __aenter__(self) -> Ours:
        await self._client.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    async def hear(self, said: Said, ear: Ear) -> None:
        """See `Listener`."""
        speech = self._client.speak(said.text, rung=self._rung, realtime=True)
        try:
            await play(speech, ear)
        finally:
            speech.cancel()


class _Nobody:
    """Stands for a speech's client where there is nobody to report to."""

    def now(self) -> float:
        return time.monotonic()

    def send(self, message: m.Message, speech: Speech | None = None) -> None:
        pass

    async def flushed(self, speech: Speech | None = None) -> None:
        pass

    def move(self, speech: Speech) -> None:
        pass

    def settled(self, speech: Speech) -> None:
        pass


class Plain:
    """A listener of the plain design."""

    def __init__(self, url: str, context: Any, rung: str, rate: int) -> None:
        self._url, self._context, self._rung, self._rate = url, context, rung, rate
        self._library = load()

    async def __aenter__(self) -> Plain:
        self._session = aiohttp.ClientSession()
        try:
            async with asyncio.timeout(CONNECT_S):
                self._socket = await self._session.ws_connect(self._url, ssl=self._context or True)
        except BaseException:
            await self._session.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await self._socket.close()
        await self._session.close()

    async def hear(self, said: Said, ear: Ear) -> None:
        """See `Listener`."""
        request = m.StreamStart(str(uuid.uuid4()), said.text)
        speech = Speech(_Nobody(), request, Player(self._library), realtime=True)
        reading = asyncio.ensure_future(self._read(speech))
        try:
            await self._socket.send_str(said.text)
            await play(speech, ear)
        finally:
            speech.cancel()
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _read(self, speech: Speech) -> None:
        speech.on_message(m.StreamStarted(STREAM, "", "", "", self._rate, 1, "opus", self._rung), 0)
        speech.on_message(m.Track(STREAM, TRACK, 0, self._rung, "opus", 24_000, 1, 0, preroll=1), 0)
        async for message in self._socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                length = json.loads(message.data)["length"]
                speech.on_message(m.StreamEnd(STREAM, length, self._rate, 1, "opus"), 0)
                return
            pts, packets = unpack(message.data)
            speech.on_message(m.Audio(STREAM, TRACK, pts, packets), len(message.data))
        speech.fail(AbrError("the connection ended"))
