"""
A listener for benchmarks: speaks the protocol, reports as a client does, decodes nothing.

What a benchmark measures should be the server, not the decoder of the party that listens.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import dataclass, field

import aiohttp

from abr_tts.client.dial import PATH, SUBPROTOCOL
from abr_tts.stream.reporter import Position, Reporter
from abr_tts.units import FRAME_TICKS, seconds_to_ticks
from abr_tts.wire.codec import decode, encode
from abr_tts.wire.messages import (
    Audio,
    Error,
    Hello,
    Message,
    Ping,
    Pong,
    StreamEnd,
    StreamStart,
    StreamStarted,
    Welcome,
)


@dataclass
class Heard:
    """What one request was like. Times are seconds of `time.monotonic()`."""

    text: str
    asked: float
    first_audio: float | None = None
    ended: float | None = None
    frames: int = 0
    audio_bytes: int = 0
    length: int = -1
    error: Error | None = None
    arrivals: list[tuple[float, int]] = field(default_factory=list)
    """(time, pts after it) of each audio message."""


class Listener:
    """
    One connection. `async with Listener(url) as listener: await listener.speak("…")`.

    Args:
        paced: report what a listener at real time would have played; otherwise what arrived
            counts as played.
    """

    def __init__(self, url: str, *, paced: bool = True, ssl: object = True) -> None:
        self.url, self.paced, self._ssl = url, paced, ssl

    async def __aenter__(self) -> Listener:
        self._session = aiohttp.ClientSession()
        url = self.url if self.url.endswith(PATH) else self.url.rstrip("/") + PATH
        self.socket = await self._session.ws_connect(
            url, protocols=(SUBPROTOCOL,), compress=0, max_msg_size=1 << 20, ssl=self._ssl
        )
        self.rtt_ms, self._asked = -1.0, time.monotonic()
        await self.send(Hello(client="bench"))
        data = await self.socket.receive_bytes()
        welcome, now = decode(data, side="server"), time.monotonic()
        assert isinstance(welcome, Welcome), welcome
        self.reporter, self.rtt_ms = Reporter(now, welcome.hint_ms), (now - self._asked) * 1000
        self.reporter.arrived(len(data), now)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.socket.close()
        await self._session.close()

    async def send(self, message: Message) -> None:
        """Write one message."""
        await self.socket.send_bytes(encode(message))

    async def receive(self) -> Message:
        """Read one message; the reporter counts its bytes."""
        data = await self.socket.receive_bytes()
        self.reporter.arrived(len(data), time.monotonic())
        message = decode(data, side="server")
        if isinstance(message, Pong):
            self.rtt_ms = (time.monotonic() - self._asked) * 1000
        return message

    async def speak(self, text: str, rung: str | None = None, voice: str | None = None) -> Heard:
        """One utterance from the request to the report of its end."""
        heard = Heard(text, time.monotonic())
        await self.send(StreamStart(str(uuid.uuid4()), text, rung=rung, voice=voice))
        stream = 0
        while heard.ended is None or self._played(heard) < heard.frames * FRAME_TICKS:
            message = await self.next(heard, stream)
            if isinstance(message, StreamStarted):
                stream = message.stream
                self.reporter.open(stream, time.monotonic())
            elif isinstance(message, Audio):
                self.take(heard, message)
            elif isinstance(message, StreamEnd):
                heard.ended, heard.length = time.monotonic(), message.length
            elif isinstance(message, Error) and message.scope != "nothing":
                heard.error = message
                break
            await self.report(heard, stream)
        self.reporter.close(stream)
        return heard

    async def next(self, heard: Heard, stream: int) -> Message | None:
        """The next message, or None when a report is due first."""
        due = self.reporter.get_timer() if stream else None
        try:
            async with asyncio.timeout(None if due is None else max(0.001, due - time.monotonic())):
                return await self.receive()
        except TimeoutError:
            return None

    def take(self, heard: Heard, message: Audio) -> None:
        """Count a message of audio."""
        now = time.monotonic()
        heard.first_audio = heard.first_audio or now
        heard.audio_bytes += sum(map(len, message.packets))
        heard.frames = max(heard.frames, message.pts // FRAME_TICKS + len(message.packets))
        heard.arrivals.append((now, heard.frames * FRAME_TICKS))

    def _played(self, heard: Heard) -> int:
        held = heard.frames * FRAME_TICKS
        if not self.paced or heard.first_audio is None:
            return held
        elapsed = seconds_to_ticks(time.monotonic() - heard.first_audio) // FRAME_TICKS * FRAME_TICKS
        return min(held, elapsed)

    async def report(self, heard: Heard, stream: int) -> None:
        """Send the report that is due, if one is."""
        if not stream:
            return
        played = self._played(heard)
        held = heard.frames * FRAME_TICKS
        complete = heard.ended is not None and played >= held
        position = Position(played, buffer_ms=(held - played) / 48, complete=complete)
        now = time.monotonic()
        for hint in self.reporter.poll(now, {stream: position}, self.rtt_ms):
            await self.send(hint)
        if now >= self.reporter.next_ping:
            self.reporter.pinged(now)
            self._asked = now
            await self.send(Ping(0))
