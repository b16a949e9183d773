"""
What a sceptic would write: Opus over a WebSocket of aiohttp as it comes, each message sent as soon
as its packets are there, nothing measured and nothing held back.

The codec, its settings and its alignment are the house's own, so that only the sending differs.
"""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable, Iterator

from aiohttp import WSMsgType, web

from abr_tts.audio.libopus import Library
from abr_tts.audio.timeline import Timeline
from abr_tts.control.ladder import Rung
from abr_tts.stream.track import Track, encode_lag
from abr_tts.units import FRAME_TICKS
from versus.paced import Paced
from versus.plan import clauses_of

FRAMES = 5
"""In a message at most: 100 ms, as the house does."""

HEAD, LENGTH = struct.Struct("<i"), struct.Struct("<H")
"""A message: the pts of its first packet, then each packet behind its length."""

Send = Callable[[int, list[bytes]], Awaitable[None]]
"""Takes the pts of the first of some packets, and them."""


def pack(pts: int, packets: list[bytes]) -> bytes:
    """A message."""
    return HEAD.pack(pts) + b"".join(LENGTH.pack(len(packet)) + packet for packet in packets)


def unpack(message: bytes) -> tuple[int, tuple[bytes, ...]]:
    """The pts and packets of a message."""
    (pts,) = HEAD.unpack_from(message)
    return pts, tuple(_packets(message))


def _packets(message: bytes) -> Iterator[bytes]:
    at = HEAD.size
    while at < len(message):
        (size,) = LENGTH.unpack_from(message, at)
        at += LENGTH.size
        yield message[at : at + size]
        at += size


async def encode_as_it_comes(text: str, paced: Paced, track: Track, send: Send) -> int:
    """
    Speak `text`: each chunk of the engine is encoded and sent at once, FRAMES at a time.

    Returns:
        Samples of the whole.
    """
    timeline = Timeline(paced.rate)
    lag = encode_lag(track.rung, paced.rate) * FRAME_TICKS
    for clause in clauses_of(text):
        async for chunk in paced.chunks(clause):
            timeline.append(chunk)
            await _send_ready(timeline, track, timeline.ready - lag, send)
    timeline.end()
    await _send_ready(timeline, track, timeline.ready, send)
    return timeline.produced


async def _send_ready(timeline: Timeline, track: Track, ready: int, send: Send) -> None:
    while track.next_pts < ready:
        job = track.job(timeline, min(ready, track.next_pts + FRAMES * FRAME_TICKS))
        await send(job.pts, job.run())


class Plain:
    """One handler; a request is a text, and the answer messages of packets and its length."""

    def __init__(self, paced: Paced, rung: Rung, library: Library) -> None:
        self._paced, self._rung, self._library = paced, rung, library

    async def handle(self, request: web.Request) -> web.WebSocketResponse:
        """Serve a listener until it goes away."""
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            if message.type is not WSMsgType.TEXT:
                break
            await self._speak(socket, message.data)
        return socket

    async def _speak(self, socket: web.WebSocketResponse, text: str) -> None:
        async def send(pts: int, packets: list[bytes]) -> None:
            await socket.send_bytes(pack(pts, packets))

        track = Track(1, 0, self._rung, 0, self._paced.rate, self._library)
        length = await encode_as_it_comes(text, self._paced, track, send)
        await socket.send_json({"length": length})
