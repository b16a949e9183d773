"""
The plain design, speaking: one handler a connection, the engine in a thread, PCM at the engine's 22 kHz.

What `load` measures ours against: the obvious program, written with care, on the same engine. A text
comes, a thread speaks it, what it has made is sent as it is made, an empty message ends it. Run like
`plain_server`: it prints its URL, answers `stats` with its process id, and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from aiohttp import WSMsgType, web

from abr_tts.engine.base import Line
from abr_tts.engine.espeak import Espeak

MESSAGE_BYTES = 8_820
"""Of a message: 200 ms of 16 bits at 22 050 Hz."""


class Plain:
    """One engine, because two threads in espeak-ng break it."""

    def __init__(self) -> None:
        self._engine = Espeak()
        self._engine.load({})
        self._thread = ThreadPoolExecutor(1)

    async def handle(self, request: web.Request) -> web.WebSocketResponse:
        """Speak whatever is asked, one text after the other."""
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                await self._speak(socket, **json.loads(message.data))
        return socket

    async def _speak(self, socket: web.WebSocketResponse, text: str, voice: str) -> None:
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[bytes | None]()

        def emit(chunk: Any) -> bool:
            loop.call_soon_threadsafe(queue.put_nowait, bytes(chunk))
            return True

        def speak() -> None:
            self._engine.say(Line(text, voice), emit)
            loop.call_soon_threadsafe(queue.put_nowait, None)

        spoken = loop.run_in_executor(self._thread, speak)
        while (pcm := await queue.get()) is not None:
            for at in range(0, len(pcm), MESSAGE_BYTES):
                await socket.send_bytes(pcm[at : at + MESSAGE_BYTES])
        await spoken
        await socket.send_bytes(b"")


async def main() -> None:
    """Serve until standard input ends."""
    app = web.Application()
    app.router.add_get("/", Plain().handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(json.dumps({"url": f"ws://127.0.0.1:{runner.addresses[0][1]}/"}), flush=True)
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps({"pid": os.getpid()}), flush=True)
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main())
