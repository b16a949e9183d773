"""
The plain design on aiohttp as it comes: one handler that sends speech as fast as the socket takes
it, or at the pace of speech. What ours is measured against.

Run by the benchmarks like `server_process`: it prints its URL and answers each line of its standard
input. After `rung opus24` it sends packets of that size, with another first byte.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import sys
import time
from typing import Any

from aiohttp import web

OLD, NEW = b"\0", b"\1"
"""First byte of a message before and after the change."""

MESSAGE_S = 0.1
PCM22_BYTES, OPUS24_BYTES = 4_410, 300
"""Of 100 ms of speech."""

STOP_S = 2.0
"""Seconds that a handler may take to see that it is over."""


class Plain:
    """All connections change at the same moment."""

    def __init__(self, paced: bool) -> None:
        self._paced = paced
        self.changed = self.over = False

    async def handle(self, request: web.Request) -> web.WebSocketResponse:
        """Speak until the listener goes away."""
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        began, sent = time.monotonic(), 0
        with contextlib.suppress(ConnectionError):
            while not (socket.closed or self.over):
                size, kind = (OPUS24_BYTES, NEW) if self.changed else (PCM22_BYTES, OLD)
                await socket.send_bytes(kind + bytes(size - 1))
                sent += 1
                if self._paced:
                    await asyncio.sleep(max(0.0, began + sent * MESSAGE_S - time.monotonic()))
        return socket


async def main(settings: dict[str, Any]) -> None:
    """Serve until standard input ends."""
    plain = Plain(settings["paced"])
    context = None
    if "tls.cert_file" in settings:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(settings["tls.cert_file"], settings["tls.key_file"])
    app = web.Application()
    app.router.add_get("/{path:.*}", plain.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=STOP_S)
    await runner.setup()
    site = web.TCPSite(runner, settings["server.host"], 0, ssl_context=context)
    await site.start()
    port = runner.addresses[0][1]
    url = f"{'wss' if context else 'ws'}://{settings['server.host']}:{port}/"
    print(json.dumps({"url": url}), flush=True)
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        plain.changed = True
        print(json.dumps({"at": time.monotonic()}), flush=True)
    plain.over = True
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
