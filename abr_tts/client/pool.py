"""
Several connections to one server, for programs that speak much at once: each speech goes over the one
with the fewest. It knows clients and nothing of what runs over them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from types import TracebackType
from typing import Any

from .client import Client
from .speech import Speech


class ClientPool:
    """
    `async with ClientPool("ws://localhost:8765", 4) as pool: await pool.speak("Hello").read()`

    A server takes 16 streams at once on a connection by default (`Client.welcome.limits["streams"]`).

    Args:
        url: as of `Client`.
        size: connections, 1 or more.
        options: the rest of what `Client` takes.

    Raises:
        ValueError: a size below 1.
        As `Client`, on entering: then no connection stays open.
    """

    def __init__(self, url: str, size: int, **options: Any) -> None:
        if size < 1:
            raise ValueError(f"a pool has 1 connection or more, not {size}")
        self._clients = [Client(url, **options) for _ in range(size)]

    async def __aenter__(self) -> ClientPool:
        done = await asyncio.gather(*(one.connect() for one in self._clients), return_exceptions=True)
        faults = [fault for fault in done if isinstance(fault, BaseException)]
        if faults:
            await self.close()
            raise faults[0]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Cancel every speech and close every connection. Twice does nothing."""
        await asyncio.gather(*(one.close() for one in self._clients))

    @property
    def clients(self) -> tuple[Client, ...]:
        """All of them."""
        return tuple(self._clients)

    def pick(self) -> Client:
        """The client with the fewest speeches; of equals the first that has a connection."""
        return min(self._clients, key=lambda one: (one.speeches, not one.connected))

    def speak(self, text: str | AsyncIterable[str], **wishes: Any) -> Speech:
        """As `Client.speak`."""
        return self.pick().speak(text, **wishes)
