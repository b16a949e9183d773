"""
The live part of `fuzz`: spoilt messages over sockets to a server in a process of its own.

Each connection is asked for what a connection without a server behind says will happen: it goes on, and
answers a ping behind the messages, or it is closed, and was told why. Frames are written by hand, and a few
of them are spoilt themselves. Beside it good listeners have the same speech again and again, which must be
the engine's own samples. At the end the server holds what it held before, has logged no fault of its own
and has not grown.
"""

from __future__ import annotations

import asyncio
import random
import struct
import tempfile
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import numpy as np
import soak
from common import ServerProcess
from fuzz_messages import ORDERS, Maker
from soaker import Socket

from abr_tts.audio.pcm import decode_pcm16
from abr_tts.engine.tone import Options, expected
from abr_tts.errors import AbrError
from abr_tts.units import FRAME_TICKS
from abr_tts.wire import messages as m
from abr_tts.wire.codec import decode, encode
from abr_tts.wire.connection import Connection
from abr_tts.wire.limits import Limits

AT_ONCE = 8
"""Hostile connections."""

LISTENERS = 2
"""Good ones, all the time."""

MOST = 40
"""Messages of a connection: then it is left, by a close or by a reset."""

ANSWER_S = 20.0
"""After which a connection counts as one that hangs."""

RATE, TEXT = 22_050, "the listeners hear this again and again"

WARM_SHARE = 0.2
"""Of the messages, after which the server's memory is looked at for the first time."""

GROWTH_KB = 24_576
"""What the server may grow by from then on: heaps of 8 hostile connections; nothing by the message."""

MOST_SERIES = 1_000
"""Lines of /metrics: buckets of some twenty histograms, and a few labels; none is a word of a client's."""

SPOILT_FRAMES = 0.01
"""Share of messages whose frame is spoilt."""

SETTINGS = {
    "engine.kind": "tone", "engine.options": {"rate": RATE, "converts": True}, "limits.relief": False,
    "limits.streams": 64, "limits.messages_per_s": 100_000, "limits.message_burst": 100_000,
    "resume.window_s": 1.0, "stream.linger_s": 0.5, "limits.close_timeout_s": 2.0, "log.level": "warning",
}  # fmt: skip

HANDSHAKE = (
    "GET {path} HTTP/1.1\r\nHost: fuzz\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    "Sec-WebSocket-Protocol: abr-tts.v1\r\n\r\n"
)
"""RFC 6455 section 1.3, with its own key."""

TEXT_FRAME, BINARY, CLOSE, PING = 0x1, 0x2, 0x8, 0x9
RAW = -1
"""In place of an opcode: bytes that are no frame."""


@dataclass
class Result:
    """What became of it."""

    messages: int = 0
    connections: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    closes: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    heard: int = 0
    """Times that a listener heard all of its speech."""
    slowest_s: float = 0.0


@dataclass
class Plan:
    """What one connection is sent."""

    frames: list[tuple[int, bytes]] = field(default_factory=list)
    """Opcode and payload."""
    ends: bool = False
    """The last one ends the connection."""
    spoilt: bool = False
    """Because it is no WebSocket's: then nobody is told in words."""


def frame(data: bytes, opcode: int, *, first: int = 0x80) -> bytes:
    """A client's frame; its mask is 0, which changes nothing."""
    size = len(data)
    head = bytes([first | opcode, 0x80 | min(size, 126 if size < 65_536 else 127)])
    if size > 125:
        head += struct.pack(">H" if size < 65_536 else ">Q", size)
    return head + bytes(4) + data


def spoilt_frame(rng: random.Random) -> bytes:
    """One that no WebSocket allows (RFC 6455 section 5)."""
    return rng.choice((
        frame(b"x", BINARY, first=0xF0),  # reserved bits
        frame(b"x", 0xB),  # no such opcode
        frame(b"x", 0x0),  # goes on with nothing
        frame(bytes(126), PING),  # a control frame is short
        frame(b"\x03", CLOSE),  # half a close code
        frame(b"\x03\xe7x", CLOSE),  # 999
        b"\x82\xff" + b"\xff" * 8 + bytes(4),  # 2^64 - 1 bytes
        frame(b"\xff\xfe", TEXT_FRAME),  # no UTF-8
    ))  # fmt: skip


class Hostile:
    """
    One connection after the other.

    Args:
        url: of the server.
        maker: of messages.
        codes: that an error may have.
        result: that it adds to.
    """

    def __init__(self, url: str, maker: Maker, codes: set[str], result: Result) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._handshake = HANDSHAKE.format(path=parts.path).encode()
        self._maker, self._rng, self._codes, self._result = maker, maker.rng, codes, result

    def plan(self, most: int) -> Plan:
        """Messages of the next one, up to the first that ends it."""
        rng, plan = self._rng, Plan()
        self._maker.order = rng.choice(ORDERS)
        self._maker.ids = tuple(str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(4))
        mirror = Connection("server", 0.0, Limits(messages_per_s=1e6, message_burst=10**6))
        if rng.random() < 0.95:
            plan.frames.append((BINARY, encode(m.Hello(level=rng.choice((1, 2))))))
            mirror.receive(plan.frames[0][1], 0.0)
        while len(plan.frames) < min(most, MOST) and not plan.ends:
            if rng.random() < SPOILT_FRAMES:
                plan.frames.append((RAW, spoilt_frame(rng)))
                plan.ends = plan.spoilt = True
                break
            message = self._maker.message()
            mirror.receive(message, 0.0)
            plan.frames.append(
                (TEXT_FRAME, message.encode()) if isinstance(message, str) else (BINARY, message)
            )
            plan.ends = mirror.closed
        return plan

    async def play(self, plan: Plan) -> None:
        """Send it, and see that what must come of it comes."""
        begun = time.monotonic()
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._play(plan)
        except TimeoutError:
            self._wrong("hangs", plan)
        except (OSError, asyncio.IncompleteReadError) as error:
            self._wrong(f"{type(error).__name__} {error}", plan)
        self._result.slowest_s = max(self._result.slowest_s, time.monotonic() - begun)
        self._result.connections += 1
        self._result.messages += len(plan.frames)

    async def _play(self, plan: Plan) -> None:
        reader, writer = await asyncio.open_connection(self._host, self._port)
        try:
            writer.write(self._handshake)
            await reader.readuntil(b"\r\n\r\n")
            for opcode, data in plan.frames:
                writer.write(data if opcode == RAW else frame(data, opcode))
            value = self._rng.randrange(2**40, 2**41)
            if not plan.ends:
                writer.write(frame(encode(m.Ping(value)), BINARY))
            await self._listen(reader, writer, plan, value)
        finally:
            writer.transport.abort()

    async def _listen(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, plan: Plan, value: int
    ) -> None:
        told: list[m.Error] = []
        while True:
            opcode, data = await read_frame(reader)
            if opcode == CLOSE:
                self._closed(int.from_bytes(data[:2], "big"), told, plan)
                writer.write(frame(data[:2], CLOSE))
                return
            if opcode != BINARY:
                continue
            message = decode(data, "server")
            if isinstance(message, m.Error):
                told.append(message)
                self._result.codes[message.code] += 1
                if message.code not in self._codes or message.code in ("internal", "stream_failed"):
                    self._wrong(f"told {message.code}: {message.message}", plan)
            elif isinstance(message, m.Pong) and message.value == value:
                if self._rng.random() < 0.5:
                    writer.write(frame(b"\x03\xe8", CLOSE))
                return

    def _closed(self, code: int, told: list[m.Error], plan: Plan) -> None:
        self._result.closes[code] += 1
        fatal = [error.code for error in told if error.scope == "connection"]
        if not plan.ends:
            self._wrong(f"closed with {code}, told {fatal}, where it should go on", plan)
        elif not plan.spoilt and len(fatal) != 1:
            self._wrong(f"closed with {code}, told {fatal}", plan)

    def _wrong(self, what: str, plan: Plan) -> None:
        story = " ".join(data[:120].hex() for _, data in plan.frames[-4:])
        self._result.faults.append(f"{what}; last {story}")


async def read_frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """A server's next frame: opcode and payload."""
    first, size = await reader.readexactly(2)
    if size > 125:
        wide = 2 if size == 126 else 8
        size = int.from_bytes(await reader.readexactly(wide), "big")
    return first & 0x0F, await reader.readexactly(size)


async def listen(url: str, over: asyncio.Event, result: Result) -> None:
    """Hear the same words again and again, and compare."""
    wanted = expected(TEXT, options=Options(rate=RATE))
    async with aiohttp.ClientSession() as http, Socket(http, url) as socket:
        while not over.is_set():
            async with asyncio.timeout(ANSWER_S):
                pcm = await _hear(socket)
            if isinstance(pcm, str):
                if pcm != "busy":  # the hostile ones may take every place, and then it is told so
                    result.faults.append(f"a listener was told {pcm}")
                await asyncio.sleep(0.1)
            elif np.array_equal(pcm, wanted):
                result.heard += 1
            else:
                result.faults.append(f"a listener heard other samples: {len(pcm)} of {len(wanted)}")


async def _hear(socket: Socket) -> np.ndarray | str:
    """The samples of one stream, or the code that it failed with."""
    await socket.send(m.StreamStart(str(uuid.uuid4()), TEXT, rung="pcm22"))
    packets: list[bytes] = []
    while True:
        message = await socket.next()
        if isinstance(message, m.Audio):
            packets += message.packets
            await socket.report(message.stream, message.pts // FRAME_TICKS + len(message.packets))
        elif isinstance(message, m.StreamEnd):
            await socket.report(message.stream, len(packets))
            return np.concatenate([decode_pcm16(packet) for packet in packets])[: message.length]
        elif isinstance(message, m.Error) and message.scope != "nothing":
            return message.code


async def crowd(url: str, count: int, seed: str, codes: set[str], result: Result) -> None:
    """So many messages by several connections at once, beside listeners."""
    over, left = asyncio.Event(), count

    async def one(number: int) -> None:
        nonlocal left
        hostile = Hostile(url, Maker(f"{seed} {number}", "client", text=20), codes, result)
        while left > 0:
            plan = hostile.plan(left)
            left -= len(plan.frames)
            await hostile.play(plan)

    async def good() -> None:
        try:
            await listen(url, over, result)
        except (TimeoutError, TypeError, OSError, AbrError, aiohttp.ClientError) as error:
            result.faults.append(f"a listener: {type(error).__name__} {error}")

    listeners = [asyncio.ensure_future(good()) for _ in range(LISTENERS)]
    await asyncio.gather(*map(one, range(AT_ONCE)))
    over.set()
    await asyncio.gather(*listeners)


def run(count: int, seed: int, codes: set[str]) -> dict[str, Any]:
    """The whole, of so many messages."""
    result, begun = Result(), time.monotonic()
    warm = round(count * WARM_SHARE)
    with (
        tempfile.TemporaryDirectory(prefix="abr-tts-bench-") as voices,
        ServerProcess(SETTINGS | {"engine.voices_dir": voices}, program="soak_server.py") as server,
    ):
        before = server.ask("held")
        asyncio.run(crowd(server.url, warm, f"{seed} warm", codes, result))
        first_kb = server.ask("held")["rss_kb"]
        asyncio.run(crowd(server.url, count - warm, str(seed), codes, result))
        grown_kb = server.ask("held")["rss_kb"] - first_kb
        left, logged, series = soak.quiet(server, before), server.ask("logged"), server.ask("series")
    result.faults += [f"{name} left: {more}" for name, more in left.items()]
    result.faults += [f"logged: {line}" for line in logged]
    if grown_kb > GROWTH_KB:
        result.faults.append(f"the server grew by {grown_kb} kB")
    if series > MOST_SERIES:
        result.faults.append(f"{series} lines of metrics")
    if not result.heard:
        result.faults.append("no listener heard anything")
    return {
        "messages": result.messages,
        "connections": result.connections,
        "refused": dict(result.codes.most_common()),
        "closes": dict(result.closes),
        "heard_whole": result.heard,
        "slowest_connection_s": round(result.slowest_s, 2),
        "grown_kb": grown_kb,
        "series": series,
        "seconds": round(time.monotonic() - begun, 1),
        "faults": len(result.faults),
        "first_faults": result.faults[:5],
    }
