"""
A reader that stops: how much audio is outside the timeline then, and does memory grow?

A listener starts a long text and stops reading its socket. *Outside* is audio that the server
has written and the listener has not reported: what a decision must wait for. Beside our server,
over plain TCP and TLS, stands the plain design on aiohttp's defaults: one handler that sends
22 kHz PCM as fast as the socket takes it. At the end the listener reads on, and all must come.

It takes about 85 s: twice --stall-s, and 45 s in which the rest is read.

    pip install '.[espeak,test]'
    python tools/bench/stalled_reader.py --json
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import time
import uuid
from typing import Any

import certificate
from aiohttp import web
from common import ServerProcess, show
from listener import Heard, Listener

from abr_tts.units import FRAME_TICKS
from abr_tts.wire.messages import Audio, StreamEnd, StreamStart, StreamStarted

SENTENCE = "This sentence is one of very many, and nobody listens to it. "
SECONDS_PER_SENTENCE = 4
PCM22_BYTES_PER_S = 44_100
DEFAULTS_FILL_S = 3.0
"""Seconds in which the plain design fills every buffer on the way; it stops by itself long before."""

UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
"""A WebSocket handshake (RFC 6455 section 1.3), written by hand so that nothing reads afterwards."""

READ_FIRST = 10
"""Messages that the reader takes before it stops: the stream is well under way."""


async def stall(server: ServerProcess, args: argparse.Namespace, context: Any) -> dict[str, Any]:
    """One stalled reader on our server."""
    rung, stall_s, sentences = args.rung, args.stall_s, args.text_s // SECONDS_PER_SENTENCE
    async with Listener(server.url, paced=False, ssl=context or True) as listener:
        await listener.send(StreamStart(str(uuid.uuid4()), SENTENCE * sentences, rung=rung))
        heard, stream, messages = Heard("", time.monotonic()), 0, 0
        while messages < READ_FIRST:
            message = await listener.next(heard, stream)
            if isinstance(message, StreamStarted):
                stream = message.stream
                listener.reporter.open(stream, time.monotonic())
            elif isinstance(message, Audio):
                messages += 1
                listener.take(heard, message)
            await listener.report(heard, stream)
        await asyncio.sleep(stall_s / 2)
        early = server.ask("stats")
        await asyncio.sleep(stall_s / 2)
        late = server.ask("stats")
        got_s = heard.frames / 50
        outside_s = late["written_s"].get(rung, 0.0) - got_s
        end = await read_on(listener, heard, stream)
        return {
            "outside_s": round(outside_s, 2),
            "rss_growth_kb": late["rss_kb"] - early["rss_kb"],
            "made_ahead_s": round(late["made_s"] - got_s, 1),
            "engine_paused": late["made_s"] == early["made_s"],
            "complete": 0 <= heard.frames * 441 - end.length < 441,
        }


async def read_on(listener: Listener, heard: Heard, stream: int) -> StreamEnd:
    """The rest of the stream, as fast as it comes."""
    last = heard.frames * FRAME_TICKS
    while True:
        message = await listener.next(heard, stream)
        if isinstance(message, Audio):
            assert message.pts in (last, last - FRAME_TICKS) or last == 0, (message.pts, last)
            listener.take(heard, message)
            last = heard.frames * FRAME_TICKS
        elif isinstance(message, StreamEnd):
            heard.ended = time.monotonic()
            await listener.report(heard, stream)
            return message
        await listener.report(heard, stream)


async def defaults(stall_s: float) -> dict[str, Any]:
    """The plain design: aiohttp as it comes, PCM in 100 ms messages, nobody reads."""
    sent = 0

    async def handler(request: web.Request) -> web.WebSocketResponse:
        nonlocal sent
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        message = bytes(PCM22_BYTES_PER_S // 10)
        with contextlib.suppress(ConnectionError):
            while True:
                await socket.send_bytes(message)
                sent += len(message)
        return socket

    app = web.Application()
    app.router.add_get("/", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(UPGRADE)
    await reader.readuntil(b"\r\n\r\n")
    await asyncio.sleep(min(stall_s, DEFAULTS_FILL_S))
    outside = sent / PCM22_BYTES_PER_S
    writer.transport.abort()
    await runner.cleanup()
    return {"outside_s": round(outside, 2)}


def measure(settings: dict[str, str], context: Any, args: argparse.Namespace) -> dict[str, Any]:
    """The stalled reader at the asked rung, on a server of its own."""
    with ServerProcess({"engine.kind": "espeak", **settings}) as server:
        return asyncio.run(stall(server, args, context))


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--stall-s", type=float, default=20.0)
    parser.add_argument("--text-s", type=int, default=120, help="seconds of speech in the text")
    parser.add_argument("--rung", default="pcm22")
    args = parser.parse_args()
    certificate.check()
    plain = measure({}, None, args)
    with certificate.certificate() as (settings, context):
        tls = measure(settings, context, args)
    result = {"plain": plain, "tls": tls, "aiohttp_defaults": asyncio.run(defaults(args.stall_s))}
    show(result, args.json)


if __name__ == "__main__":
    main()
