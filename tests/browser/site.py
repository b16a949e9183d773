"""
The server with pages for tests beside it, on a loop in a thread, and a way to ask things of that loop.

The pages come from the server's own origin under the strict policy that the SDK promises to work under.
"""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from abr_tts.server.app import Server
from abr_tts.server.config import load

HERE = Path(__file__).parent
SDK = HERE.parents[1] / "abr_tts" / "web" / "static"
POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'"
TONE = {"engine.kind": "tone", "server.port": 0, "engine.workers": 2, "engine.options": {"rate": 22_050}}
"""The engine is the tone: what must be heard is known to the sample."""

WAIT_S = 60.0


@asynccontextmanager
async def serving(**overrides: object) -> Iterator[Server]:
    """A server on any free port with `/sdk/` and `/page/`; names are written with two underscores."""
    dotted = {name.replace("__", "."): value for name, value in overrides.items()}
    server = Server(load(overrides=TONE | dotted))
    app = server._front.app
    app.router.add_static("/sdk/", SDK)
    app.router.add_static("/page/", HERE / "page")
    app.on_response_prepare.append(_strict)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def _strict(request: web.Request, response: web.StreamResponse) -> None:
    response.headers["Content-Security-Policy"] = POLICY
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cache-Control"] = "no-cache"


class Loop:
    """An event loop in a thread, for tests that are not asynchronous themselves."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Any], seconds: float = WAIT_S) -> Any:
        """What the coroutine returns, or raises."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(seconds)

    @contextmanager
    def holding(self, resource: Any) -> Iterator[Any]:
        """An asynchronous context, entered on the loop."""
        value = self.run(resource.__aenter__())
        try:
            yield value
        finally:
            self.run(resource.__aexit__(None, None, None))

    def stop(self) -> None:
        """The thread ends."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
