"""
What the server's tests share: a real server, and a client of raw messages that shows everything.

The server runs its real engine processes and real sockets. `Peer` keeps no rules: it sends what it
is told to, right or wrong, and reports what it is told to report.
"""

import asyncio
import contextlib
import ctypes
import os
import shlex
import socket
import ssl
import struct
import sys
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import aiohttp
import numpy as np

from abr_tts.audio.pcm import decode_pcm16
from abr_tts.server.app import Server
from abr_tts.server.config import load
from abr_tts.units import FRAME_TICKS, ticks_to_samples
from abr_tts.wire import messages as m
from abr_tts.wire.codec import decode, encode

TONE = {
    "engine.kind": "tone", "server.port": 0, "engine.workers": 1, "engine.options": {"rate": 22_050},
    "limits.relief": False,  # or what a stream gets would hang on what else the machine does
}  # fmt: skip
WAIT_S = 20.0
"""Seconds for what comes at once on a machine that is not busy."""


@contextlib.asynccontextmanager
async def serving(**overrides) -> AsyncIterator[Server]:
    """A server on any free port; names are written with two underscores: limits__streams=3."""
    dotted = {name.replace("__", "."): value for name, value in overrides.items()}
    server = Server(load(overrides=TONE | dotted))
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@contextlib.contextmanager
def held_python(folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """An interpreter for an engine that goes no further before the second is called: it loads for so long."""
    gate, program = folder / "gate", folder / "held-python"
    os.mkfifo(gate)
    program.write_text(
        f'#!/bin/sh\nread word <{shlex.quote(str(gate))}\nexec {shlex.quote(sys.executable)} "$@"\n', "utf-8"
    )
    program.chmod(0o755)
    opened = os.open(gate, os.O_RDWR)
    try:
        yield str(program), lambda: os.write(opened, b"go\n")
    finally:
        os.close(opened)


@contextlib.contextmanager
def serving_in_a_thread(**overrides) -> Iterator[Server]:
    """The same on a loop of its own, for many tests to share."""
    ready: list[Server | BaseException] = []
    started, stopping = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def main():
        loops.append(asyncio.get_running_loop())
        async with serving(**overrides) as server:
            ready.append(server)
            started.set()
            await stopping.wait()

    def body():
        try:
            asyncio.run(main())
        except BaseException as error:
            ready.append(error)
            started.set()

    thread = threading.Thread(target=body)
    thread.start()
    started.wait(WAIT_S)
    assert isinstance(ready[0], Server), ready
    try:
        yield ready[0]
    finally:
        loops[0].call_soon_threadsafe(stopping.set)
        thread.join(WAIT_S)
        assert not thread.is_alive()


class Peer:
    """
    A client of raw messages.

    It pings nothing by itself and reports nothing unless `hints` is set: then it reports, after
    every audio message, all bytes as received and all frames as played, and `rtt_ms` as it is set.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, hints: bool) -> None:
        self.socket, self.hints = socket, hints
        self.messages: list[m.Message] = []
        self.received = 0
        self.rtt_ms = -1.0
        self._played: dict[int, int] = {}
        self._news = asyncio.Condition()
        self._reading = asyncio.Event()
        self._reading.set()
        self.task = asyncio.ensure_future(self._read())

    def stop_reading(self) -> None:
        self._reading.clear()

    def go_on_reading(self) -> None:
        self._reading.set()

    async def _read(self) -> None:
        while True:
            await self._reading.wait()
            message = await self.socket.receive()
            if message.type is not aiohttp.WSMsgType.BINARY:
                break
            self.received += len(message.data)
            self.messages.append(decode(message.data, "server"))
            await self._report(self.messages[-1])
            async with self._news:
                self._news.notify_all()
        async with self._news:
            self._news.notify_all()

    async def _report(self, message: m.Message) -> None:
        """Every audio message is answered by a report of its stream, or of a living one if it is over."""
        if isinstance(message, m.StreamStarted):
            self._played[message.stream] = 0
        elif isinstance(message, m.StreamEnd):
            self._played.pop(message.stream, None)
        elif isinstance(message, m.Audio) and self._played:
            if message.stream in self._played:
                self._played[message.stream] = message.pts + len(message.packets) * FRAME_TICKS
            stream = message.stream if message.stream in self._played else next(iter(self._played))
            if self.hints:
                with contextlib.suppress(aiohttp.ClientConnectionResetError):  # its end is read next
                    await self.hint(stream, self._played[stream])

    async def hint(self, stream: int, played: int) -> None:
        await self.send(m.BitRateHint(stream, self.received, max(0, played), 0, rtt_ms=self.rtt_ms))

    async def send(self, *messages: m.Message) -> None:
        for message in messages:
            if isinstance(message, m.Cancel):
                self._played.pop(message.stream, None)
            await self.socket.send_bytes(encode(message))

    async def until(self, condition, wait_s: float = WAIT_S):
        """The first true value of `condition()`, asked after every message and at the end."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s), self._news:
                while not (value := condition()):
                    assert not self.task.done(), f"closed with {self.socket.close_code}; {self.story}"
                    await self._news.wait()
                return value
        raise AssertionError(f"not within {wait_s} s; {self.story}")

    @property
    def story(self) -> str:
        """The last messages, for a failing test."""
        return ", ".join(str(message)[:120] for message in self.messages[-4:])

    def of(self, kind, **fields) -> list:
        """The messages of a kind so far whose fields have these values."""
        found = [message for message in self.messages if isinstance(message, kind)]
        return [item for item in found if all(getattr(item, key) == value for key, value in fields.items())]

    async def first(self, kind, **fields):
        return (await self.until(lambda: self.of(kind, **fields)))[0]

    async def closed(self) -> int:
        """The code with which the server closes."""
        async with asyncio.timeout(WAIT_S):
            await self.task
        return self.socket.close_code

    async def closed_within(self, seconds: float) -> bool:
        """Whether the server closes within this time."""
        done, _ = await asyncio.wait([self.task], timeout=seconds)
        return bool(done)

    async def start(self, text: str = "", **fields) -> m.StreamStarted:
        """Ask for speech; returns when it has started."""
        request = m.StreamStart(fields.pop("stream_id", str(uuid.uuid4())), text, **fields)
        await self.send(request)
        return await self.first(m.StreamStarted, stream_id=request.stream_id)

    async def refused(self, text: str = "", **fields) -> m.Error:
        """Ask for speech; returns the error that answers."""
        request = m.StreamStart(fields.pop("stream_id", str(uuid.uuid4())), text, **fields)
        await self.send(request)
        return await self.first(m.Error, stream_id=request.stream_id)

    def pcm(self, handle: int) -> np.ndarray:
        """The samples of a stream at one PCM rung so far; every frame once and in order."""
        pieces, at = [], 0
        for audio in self.of(m.Audio, stream=handle):
            assert audio.pts == at, (audio.pts, at)
            at += len(audio.packets) * FRAME_TICKS
            pieces += [decode_pcm16(packet) for packet in audio.packets]
        return np.concatenate(pieces) if pieces else np.zeros(0, np.int16)

    async def whole_pcm(self, handle: int) -> np.ndarray:
        """All samples of a stream at its own rate's PCM rung, cut to the true length."""
        end = await self.first(m.StreamEnd, stream=handle)
        pcm = self.pcm(handle)
        assert 0 <= len(pcm) - end.length < ticks_to_samples(FRAME_TICKS, end.sample_rate)
        return pcm[: end.length]


async def eventually(condition, wait_s: float = WAIT_S):
    """The first true value of `condition()`, for what no message tells: processes, counters."""
    for _ in range(round(wait_s / 0.01)):
        if value := condition():
            return value
        await asyncio.sleep(0.01)
    raise AssertionError(f"not within {wait_s} s")


ATTEMPTS = 3
"""Measurements of which one must be in time: a machine that stands still makes any server late."""


async def soon(measure, most_s: float) -> None:
    """That `await measure()` finds less than so many seconds, in one of a few attempts."""
    found: list[float] = []
    while not found or found[-1] >= most_s:
        assert len(found) < ATTEMPTS, f"{found} s, and not once less than {most_s} s"
        found.append(await measure())


@contextlib.asynccontextmanager
async def peer(
    url: str,
    *,
    codecs: tuple[str, ...] = ("opus", "pcm16", "ulaw"),
    level: int = 1,
    hello: bool = True,
    hints: bool = True,
    tls: ssl.SSLContext | None = None,
    headers: dict[str, str] | None = None,
    protocols: tuple[str, ...] = ("abr-tts.v1",),
) -> AsyncIterator[Peer]:
    """A connected client; greeted, if `hello`."""
    async with (
        aiohttp.ClientSession() as http,
        http.ws_connect(url, protocols=protocols, headers=headers, ssl=tls or True, max_msg_size=0) as socket,
    ):
        made = Peer(socket, hints)
        if hello:
            await made.send(m.Hello(codecs=codecs, level=level))
            await made.first(m.Welcome)
        try:
            yield made
        finally:
            made.task.cancel()
            await asyncio.wait([made.task])


def tcp_socket(made: Peer) -> socket.socket:
    """A second handle of the client's own TCP socket, for what asyncio does not let one do."""
    return socket.socket(fileno=os.dup(made.socket.get_extra_info("socket").fileno()))


def go_deaf(sock: socket.socket) -> None:
    """Drop every segment that reaches this socket, as if its machine were gone: no answer, no FIN."""
    program = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))  # BPF: return 0 bytes
    so_attach_filter = 26
    sock.setsockopt(socket.SOL_SOCKET, so_attach_filter, struct.pack("HL", 1, ctypes.addressof(program)))
