"""
What the clients of `soak` do: one stream in one of many ways, and what became of it.

It speaks raw messages, so that it can do what a good client never does: go away in the middle, read
nothing for a while, cancel at any moment.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import uuid
from collections import Counter
from dataclasses import dataclass, field

import aiohttp

from abr_tts.client.dial import SUBPROTOCOL
from abr_tts.units import FRAME_TICKS
from abr_tts.wire.codec import decode, encode
from abr_tts.wire.messages import (
    Attach,
    Audio,
    BitRateHint,
    Cancel,
    Error,
    GoingAway,
    Hello,
    Message,
    StreamEnd,
    StreamStart,
    StreamStarted,
)

WHOLE, CANCEL, KILL, RESUME, SLOW = WAYS = ("whole", "cancel", "kill", "resume", "slow")

WEIGHTS = (45, 20, 10, 10, 15)
"""In a hundred streams."""

ANSWER_S = 60.0
"""After which a request counts as not answered."""

SLOW_S = 0.05
"""Pause of a slow reader before each message: a sentence of 2 s takes longer than it lasts."""

PATIENCE_MESSAGES = 6
"""Up to so many audio messages pass before it cancels, or is gone."""

WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass
class Tally:
    """What became of requests."""

    done: Counter[str] = field(default_factory=Counter)
    """By way, answered as they should be."""
    refused: Counter[str] = field(default_factory=Counter)
    """By code: an answer, too."""
    unanswered: list[str] = field(default_factory=list)
    """What was wrong, of each that was not answered."""

    @property
    def total(self) -> int:
        """All of them."""
        return self.done.total() + self.refused.total() + len(self.unanswered)


class Socket:
    """One connection; `async with Socket(http, url) as socket`."""

    def __init__(self, http: aiohttp.ClientSession, url: str) -> None:
        self._http, self._url = http, url
        self._received = 0

    async def __aenter__(self) -> Socket:
        self._ws = await self._http.ws_connect(self._url, protocols=(SUBPROTOCOL,), compress=0)
        await self.send(Hello(level=2, client="soak"))
        await self.next()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._ws.close()

    def kill(self) -> None:
        """Gone, without a word."""
        transport = self._ws._response.connection and self._ws._response.connection.transport
        if transport:
            transport.abort()

    async def send(self, *messages: Message) -> None:
        """Write messages."""
        for message in messages:
            await self._ws.send_bytes(encode(message))

    async def next(self) -> Message:
        """The next message that says something; raises TypeError when there is none any more."""
        while True:
            data = await self._ws.receive_bytes()
            self._received += len(data)
            message = decode(data, "server")
            if not isinstance(message, GoingAway):
                return message

    async def report(self, stream: int, played: int) -> None:
        """What came, and so many frames of a stream as played: without reports a server sends no more."""
        await self.send(BitRateHint(stream, self._received, max(0, played) * FRAME_TICKS, 0))


async def take(http: aiohttp.ClientSession, url: str, streams: int, rng: random.Random, tally: Tally) -> None:
    """One connection after the other until so many streams were asked for, a few on each."""
    left = streams
    while left > 0:
        some = min(left, rng.randint(1, 5))
        left -= some
        await _on_one(http, url, some, rng, tally)


async def _on_one(
    http: aiohttp.ClientSession, url: str, streams: int, rng: random.Random, tally: Tally
) -> None:
    plan = rng.choices(WAYS, WEIGHTS, k=streams)
    asked = 0
    try:
        async with Socket(http, url) as socket:
            for way in plan:
                asked += 1
                async with asyncio.timeout(ANSWER_S):
                    await _Stream(socket, http, url, way, rng, tally).run()
                if way in (KILL, RESUME):
                    break
        if asked < streams:
            await _on_one(http, url, streams - asked, rng, tally)
    except (TimeoutError, TypeError, OSError, aiohttp.ClientError) as error:
        tally.unanswered.append(f"{plan[max(0, asked - 1)]}: {type(error).__name__} {error}")
        if asked < streams:
            await _on_one(http, url, streams - max(1, asked), rng, tally)


class _Stream:
    """One request, from asking to its end."""

    def __init__(
        self,
        socket: Socket,
        http: aiohttp.ClientSession,
        url: str,
        way: str,
        rng: random.Random,
        tally: Tally,
    ) -> None:
        self._socket, self._http, self._url = socket, http, url
        self._way, self._rng, self._tally = way, rng, tally
        self._id, self._frames, self._messages = str(uuid.UUID(int=rng.getrandbits(128), version=4)), 0, 0
        self._handle = 0
        self._token = ""

    async def run(self) -> None:
        """Ask; do what its way says."""
        words = " ".join(self._rng.choices(WORDS, k=self._rng.randint(3, 12)))
        await self._socket.send(StreamStart(self._id, words + "."))
        leave_after = self._rng.randint(0, PATIENCE_MESSAGES)
        while True:
            message = await self._next()
            if isinstance(message, Error) and message.scope != "nothing":
                self._tally.refused[message.code] += 1
                if self._way in (KILL, RESUME):
                    self._way = WHOLE
                return
            if isinstance(message, StreamEnd) and message.stream == self._handle:
                return await self._ended(message)
            if self._handle and self._messages >= leave_after and self._way in (CANCEL, KILL, RESUME):
                return await self._leave()

    async def _next(self) -> Message:
        if self._way == SLOW:
            await asyncio.sleep(SLOW_S)
        message = await self._socket.next()
        if isinstance(message, StreamStarted):
            self._handle, self._token = message.stream, message.token
        elif isinstance(message, Audio) and message.stream == self._handle:
            self._messages += 1
            self._frames = max(self._frames, message.pts // FRAME_TICKS + len(message.packets))
            # Of what it wants to hear again it has played nothing: the server keeps it.
            await self._socket.report(self._handle, 0 if self._way == RESUME else self._frames)
        return message

    async def _ended(self, end: StreamEnd) -> None:
        await self._socket.report(self._handle, self._frames)
        if end.reason == "done" and end.length > 0:
            self._tally.done[self._way] += 1
        else:
            self._tally.unanswered.append(f"{self._way}: ended as {end.reason}, {end.length} samples")
        if self._way in (KILL, RESUME):
            self._socket.kill()

    async def _leave(self) -> None:
        if self._way == CANCEL:
            await self._socket.send(Cancel(self._handle))
            while True:
                message = await self._socket.next()
                if isinstance(message, StreamEnd) and message.stream == self._handle:
                    self._tally.done[CANCEL] += 1
                    return
        self._socket.kill()
        if self._way == KILL:
            self._tally.done[KILL] += 1
            return
        await self._resume()

    async def _resume(self) -> None:
        """Ask for all of it again, elsewhere."""
        async with Socket(self._http, self._url) as again:
            await again.send(Attach(self._id, self._token))
            handle, frames = 0, 0
            while True:
                message = await again.next()
                if isinstance(message, StreamStarted):
                    handle = message.stream
                elif isinstance(message, Error) and message.scope != "nothing":
                    self._tally.refused[message.code] += 1
                    return
                elif isinstance(message, Audio):
                    frames = max(frames, message.pts // FRAME_TICKS + len(message.packets))
                    await again.report(handle, frames)
                elif isinstance(message, StreamEnd) and message.stream == handle:
                    await again.report(handle, frames)
                    self._tally.done[RESUME] += 1
                    return


async def crowd(url: str, clients: int, streams: int, seed: str, tally: Tally) -> None:
    """As many clients at once, which ask for so many streams in all."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as http:
        shares = [streams // clients + (number < streams % clients) for number in range(clients)]
        rngs = [random.Random(f"{seed} {number}") for number in range(clients)]
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(
                *(take(http, url, n, rng, tally) for n, rng in zip(shares, rngs, strict=True))
            )
