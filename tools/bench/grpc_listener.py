"""
The benchmarks' listener at the gRPC door: the same reports at the same times, one channel for each.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import fields
from typing import Any

import grpc
from listener import Listener

from abr_tts.server.grpc.schema import SERVICE, message
from abr_tts.stream.reporter import Reporter
from abr_tts.wire.messages import (
    Audio,
    BitRateHint,
    Error,
    Hello,
    Message,
    Ping,
    Pong,
    StreamEnd,
    StreamStart,
    StreamStarted,
)

OUT, IN = message("ClientMessage"), message("ServerMessage")

SENT = {Hello: "hello", StreamStart: "stream_start", BitRateHint: "bit_rate_hint", Ping: "ping"}

READ = {
    "audio": Audio,
    "stream_started": StreamStarted,
    "stream_end": StreamEnd,
    "pong": Pong,
    "error": Error,
}
"""What a listener looks at; other messages only count."""


def written(record: Message) -> bytes:
    """A record of a client that names no more than these benchmarks need."""
    body: dict[str, Any] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if value is None or field.name == "clamped" or (field.name == "rtt_ms" and value < 0):
            continue
        if field.name == "highest":
            value = [{"track": track, "pts": pts} for track, pts in value]
        if field.name in ("goodput_kbps", "jitter_ms") and value < 0:
            continue
        body[field.name] = value
    data: bytes = OUT(**{SENT[type(record)]: body}).SerializeToString()
    return data


def read(data: bytes) -> Message | None:
    """A record, None for a message that is not looked at."""
    made = IN.FromString(data)
    kind = made.WhichOneof("message")
    if kind not in READ:
        return None
    body, record = getattr(made, kind), READ[kind]
    values = {field.name: getattr(body, field.name) for field in fields(record) if field.name != "detail"}
    if kind == "audio":
        values["packets"] = tuple(values["packets"])
    return record(**values)  # type: ignore[no-any-return]


class GrpcListener(Listener):
    """
    Args:
        url: host and port of the door.
    """

    async def __aenter__(self) -> GrpcListener:
        self._channel = grpc.aio.insecure_channel(self.url, [("grpc.use_local_subchannel_pool", 1)])
        self._call = self._channel.stream_stream(f"/{SERVICE}/Speak")()
        self._reading: asyncio.Future[Any] | None = None
        self.rtt_ms, self._asked = -1.0, time.monotonic()
        await self.send(Hello(client="bench"))
        data = await self._call.read()
        welcome, now = IN.FromString(data).welcome, time.monotonic()
        self.reporter, self.rtt_ms = Reporter(now, welcome.hint_ms), (now - self._asked) * 1000
        self.reporter.arrived(len(data), now)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._call.done_writing()
        while await self._next() is not grpc.aio.EOF:  # the status comes behind what was sent
            pass
        await self._channel.close()

    async def _next(self) -> Any:
        """A read that is cancelled takes the call with it, and the listener waits with a time-out."""
        self._reading = self._reading or asyncio.ensure_future(self._call.read())
        data = await asyncio.shield(self._reading)
        self._reading = None
        return data

    async def send(self, message: Message) -> None:
        """Write one message."""
        await self._call.write(written(message))

    async def receive(self) -> Message:
        """Read one message; the reporter counts its bytes."""
        while True:
            data = await self._next()
            assert data is not grpc.aio.EOF, await self._call.code()
            self.reporter.arrived(len(data), time.monotonic())
            message = read(data)
            if isinstance(message, Pong):
                self.rtt_ms = (time.monotonic() - self._asked) * 1000
            if message is not None:
                return message
