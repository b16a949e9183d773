"""
A client of `protocol/abr_tts.proto` as an outsider writes one: stubs made from it, grpcio, nothing of ours.

`Call` keeps no rules: it sends what it is told to, and reports, if `hints` is set, all that came as received
and played, or, if `paced` is set, as much as has sounded since it began. What it got lies in `messages`.
"""

import asyncio
import contextlib
import functools
import importlib
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from ..harness import WAIT_S, serving

grpc = pytest.importorskip("grpc")
protoc = pytest.importorskip("grpc_tools.protoc")
descriptor_pb2 = pytest.importorskip("google.protobuf.descriptor_pb2")
json_format = pytest.importorskip("google.protobuf.json_format")
error_details_pb2 = pytest.importorskip("google.rpc.error_details_pb2")
rpc_status = pytest.importorskip("grpc_status.rpc_status")
health_pb2 = pytest.importorskip("grpc_health.v1.health_pb2")
health_pb2_grpc = pytest.importorskip("grpc_health.v1.health_pb2_grpc")
reflection_pb2 = pytest.importorskip("grpc_reflection.v1alpha.reflection_pb2")
reflection_pb2_grpc = pytest.importorskip("grpc_reflection.v1alpha.reflection_pb2_grpc")

PROTO = Path(__file__).parents[3] / "protocol" / "abr_tts.proto"
FRAME_TICKS = 960


@functools.cache
def stubs() -> tuple[Any, Any]:
    """The modules that protoc makes of the proto: messages, and the service."""
    with tempfile.TemporaryDirectory() as folder:
        google = str(files("grpc_tools") / "_proto")
        out = [f"--python_out={folder}", f"--grpc_python_out={folder}"]
        assert protoc.main(["protoc", "-I", str(PROTO.parent), "-I", google, *out, PROTO.name]) == 0
        sys.path.insert(0, folder)
        try:
            return importlib.import_module("abr_tts_pb2"), importlib.import_module("abr_tts_pb2_grpc")
        finally:
            sys.path.remove(folder)


pb, services = stubs()


class Call:
    """One call of `Speak`."""

    def __init__(self, call: Any, hints: bool) -> None:
        self.call, self.hints = call, hints
        self.messages: list[Any] = []
        self.received = 0
        self.rtt_ms: float | None = None
        self.paced = False
        self.played = 0
        """Ticks that it has reported as played last."""
        self._began: float | None = None
        self._news, self._writing = asyncio.Condition(), asyncio.Lock()
        self.task = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        try:
            while (message := await self.call.read()) is not grpc.aio.EOF:
                self.received += message.ByteSize()
                self.messages.append(message)
                if message.HasField("ping"):
                    with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                        await self.send(pong={"value": message.ping.value})
                if self.hints and message.HasField("audio"):
                    audio = message.audio
                    await self.hint(audio.stream, audio.pts + len(audio.packets) * FRAME_TICKS)
                async with self._news:
                    self._news.notify_all()
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError, asyncio.CancelledError):
            pass
        async with self._news:
            self._news.notify_all()

    async def hint(self, stream: int, held: int) -> None:
        now = asyncio.get_running_loop().time()
        self._began = self._began or now
        self.played = max(0, min(held, round((now - self._began) * 48_000)) if self.paced else held)
        report = {"stream": stream, "received": self.received, "played": self.played}
        report["buffer_ms"] = max(0, held - self.played) // 48
        if self.rtt_ms is not None:
            report["rtt_ms"] = self.rtt_ms
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):  # its end is read next
            await self.send(bit_rate_hint=report)

    async def send(self, **messages: Any) -> None:
        """Messages by their names in ClientMessage."""
        for name, fields in messages.items():
            await self.write(pb.ClientMessage(**{name: fields}))

    async def write(self, message: Any) -> None:
        """A call takes one write at a time."""
        async with self._writing:
            await self.call.write(message)

    async def until(self, condition, wait_s: float = WAIT_S):
        """The first true value of `condition()`, asked after every message and at the end."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s), self._news:
                while not (value := condition()):
                    assert not self.task.done(), f"the call has ended; {self.story}"
                    await self._news.wait()
                return value
        raise AssertionError(f"not within {wait_s} s; {self.story}")

    @property
    def story(self) -> str:
        """The last messages, for a failing test."""
        return ", ".join(str(message)[:120] for message in self.messages[-4:])

    def of(self, kind: str, **fields: Any) -> list[Any]:
        """The messages of a kind so far whose fields have these values."""
        found = [getattr(message, kind) for message in self.messages if message.HasField(kind)]
        return [item for item in found if all(getattr(item, key) == value for key, value in fields.items())]

    async def first(self, kind: str, **fields: Any) -> Any:
        return (await self.until(lambda: self.of(kind, **fields)))[0]

    async def start(self, text: str = "", **fields: Any) -> Any:
        """Ask for speech; returns when it has started."""
        stream_id = fields.pop("stream_id", str(uuid.uuid4()))
        await self.send(stream_start={"stream_id": stream_id, "text": text, **fields})
        return await self.first("stream_started", stream_id=stream_id)

    async def refused(self, text: str = "", **fields: Any) -> Any:
        """Ask for speech; returns the error that answers."""
        stream_id = fields.pop("stream_id", str(uuid.uuid4()))
        await self.send(stream_start={"stream_id": stream_id, "text": text, **fields})
        return await self.first("error", stream_id=stream_id)

    def tracks(self, handle: int) -> list[tuple[Any, ...]]:
        """What is told of the tracks of a stream."""
        return [
            (one.track, one.rank, one.rung, one.codec, one.sample_rate, one.start, one.preroll, one.duration)
            for one in self.of("track", stream=handle)
        ]

    def packets(self, handle: int) -> dict[tuple[int, int], bytes]:
        """Packets by track and pts; each comes once."""
        found: dict[tuple[int, int], bytes] = {}
        for audio in self.of("audio", stream=handle):
            for number, packet in enumerate(audio.packets):
                place = audio.track, audio.pts + number * FRAME_TICKS
                assert place not in found, place
                found[place] = packet
        return found

    async def ended(self) -> tuple[Any, str]:
        """Status and words with which the server ends the call."""
        async with asyncio.timeout(WAIT_S):
            await self.task
            return await self.call.code(), await self.call.details()


@contextlib.asynccontextmanager
async def calling(
    target: str,
    *,
    level: int = 1,
    hello: bool = True,
    hints: bool = True,
    metadata: dict[str, str] | None = None,
    credentials: Any = None,
    **more: Any,
) -> AsyncIterator[Call]:
    """A call over a channel of its own; greeted, if `hello`."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    if credentials:
        channel = grpc.aio.secure_channel(target, credentials, options)
    else:
        channel = grpc.aio.insecure_channel(target, options)
    async with channel:
        made = Call(
            services.SpeechStub(channel).Speak(metadata=tuple((metadata or {}).items()), **more), hints
        )
        if hello:
            await made.send(hello={"level": level})
            await made.first("welcome")
        try:
            yield made
        finally:
            made.call.cancel()
            await asyncio.wait([made.task])


@contextlib.asynccontextmanager
async def serving_grpc(**overrides: Any) -> AsyncIterator[Any]:
    """A server with this door on any free port."""
    async with serving(grpc__enabled=True, grpc__port=0, **overrides) as server:
        yield server
