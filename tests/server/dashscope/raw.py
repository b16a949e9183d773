"""A client of the DashScope door without rules: it sends what it is told to, and shows all that comes."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator

import aiohttp

from abr_tts.server.app import Server
from abr_tts.server.dashscope.door import PATH

from ..harness import WAIT_S


def address(server: Server) -> str:
    """What a client's base URL is changed to."""
    return "ws" + server.http_url.removeprefix("http") + PATH


class Raw:
    """One connection; `heard` holds events (dict) and audio (bytes) in the order in which they came."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.heard: list[dict | bytes] = []
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
            if message.type not in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
                break
            text = message.type is aiohttp.WSMsgType.TEXT
            self.heard.append(json.loads(message.data) if text else message.data)
            async with self._news:
                self._news.notify_all()
        async with self._news:
            self._news.notify_all()

    async def send(self, *messages: str) -> None:
        for message in messages:
            await self.socket.send_str(message)

    async def until(self, condition, wait_s: float = WAIT_S):
        """The first true value of `condition()`, asked after every message."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s), self._news:
                while not (value := condition()):
                    assert not self.task.done(), f"closed with {self.socket.close_code}; {self.names}"
                    await self._news.wait()
                return value
        raise AssertionError(f"not within {wait_s} s; {self.names}")

    async def event(self, name: str, task_id: str | None = None) -> dict:
        """The first event of this name, of this task if one is given."""
        return await self.until(
            lambda: next(
                (
                    one
                    for one in self.heard
                    if isinstance(one, dict)
                    and one["header"]["event"] == name
                    and task_id in (None, one["header"]["task_id"])
                ),
                None,
            )
        )

    async def closed(self) -> int:
        """The code with which the server closes."""
        async with asyncio.timeout(WAIT_S):
            await self.task
        return self.socket.close_code

    @property
    def names(self) -> list[str]:
        """What came, in words; audio as its length."""
        return [
            one["payload"].get("output", {}).get("type") or one["header"]["event"]
            if isinstance(one, dict)
            else f"{len(one)} bytes"
            for one in self.heard
        ]

    def sentences(self, kind: str = "sentence-begin") -> list[str]:
        """The texts of the sentences that have begun, or ended."""
        outputs = [one["payload"].get("output", {}) for one in self.heard if isinstance(one, dict)]
        return [output["original_text"] for output in outputs if output.get("type") == kind]

    @property
    def audio(self) -> bytes:
        """All of it."""
        return b"".join(one for one in self.heard if isinstance(one, bytes))


@contextlib.asynccontextmanager
async def raw(server: Server, *, key: str = "any", tls: ssl.SSLContext | None = None) -> AsyncIterator[Raw]:
    """A connected client."""
    async with (
        aiohttp.ClientSession() as http,
        http.ws_connect(
            address(server), headers={"Authorization": f"Bearer {key}"}, ssl=tls or True, max_msg_size=0
        ) as socket,
    ):
        made = Raw(socket)
        try:
            yield made
        finally:
            made.task.cancel()
            await asyncio.wait([made.task])
