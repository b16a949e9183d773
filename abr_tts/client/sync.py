"""
The client for programs without an event loop: it has one of its own, on a thread of its own.

    from abr_tts.client import sync

    for chunk in sync.speak("ws://localhost:8765", "Hello"):
        ...  # int16, mono, 20 ms

What it does is the asyncio client's; here calls are only handed over and waited for.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator
from types import TracebackType
from typing import Any, TypeVar

from .client import Client as AsyncClient
from .speech import Int16
from .speech import Speech as AsyncSpeech
from .stats import SpeechStats

T = TypeVar("T")


class Client:
    """
    A connection to one server; of use to one thread at a time. Enter it to connect, leave it to close.

    Args:
        url, options: as of the asyncio client.

    Raises:
        As the asyncio client.
    """

    def __init__(self, url: str, **options: Any) -> None:
        self._client = AsyncClient(url, **options)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="abr-tts", daemon=True)

    def __enter__(self) -> Client:
        self._thread.start()
        try:
            self.wait(self._client.connect())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.wait(self._client.close())
        self._end()

    def speak(self, text: str | Iterable[str], **wishes: Any) -> Speech:
        """
        Ask for speech, as the asyncio client's `speak`.

        Args:
            text: the whole text, or an iterable that yields it piece by piece; it is read on a thread.
            wishes: as there; `events` is called on the client's own thread.
        """

        async def ask() -> AsyncSpeech:
            whole = text if isinstance(text, str) else _pieces(iter(text))
            return self._client.speak(whole, **wishes)

        return Speech(self, self.wait(ask()))

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it on the client's own loop, and wait for what comes of it."""
        done = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return done.result()
        except BaseException:
            done.cancel()  # an interrupt of whoever waits; after a result it does nothing
            raise

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Speech:
    """
    A blocking iterator of frames, as the asyncio one. Leaving the loop early cancels the stream.

    Args:
        client: whose loop it lives on.
        speech: what it wraps.
    """

    def __init__(self, client: Client, speech: AsyncSpeech) -> None:
        self._client, self._speech = client, speech

    @property
    def stats(self) -> SpeechStats:
        """Figures, growing while it is heard."""
        return self._speech.stats

    @property
    def heard_text(self) -> str:
        """The text that was heard."""
        return self._speech.heard_text

    @property
    def rest(self) -> str:
        """The text that is left, where a server cannot go on."""
        return self._speech.rest

    def __iter__(self) -> Iterator[Int16]:
        frames = self._speech.__aiter__()
        try:
            while (frame := self._client.wait(_next(frames))) is not None:
                yield frame
        finally:
            self.cancel()

    def read(self) -> Int16:
        """The whole speech as one array."""
        return self._client.wait(self._speech.read())

    def cancel(self) -> None:
        """Stop. After the end it does nothing."""

        async def stop() -> None:
            self._speech.cancel()

        self._client.wait(stop())


def speak(url: str, text: str | Iterable[str], **wishes: Any) -> Iterator[Int16]:
    """
    Speech from a server that is connected for it alone.

    Args:
        url: of the server.
        text, wishes: as of `Client.speak`.

    Returns:
        int16, mono, 20 ms each, as they come.
    """
    with Client(url) as client:
        yield from client.speak(text, **wishes)


async def _next(frames: AsyncIterator[Int16]) -> Int16 | None:
    return await anext(frames, None)


async def _pieces(text: Iterator[str]) -> AsyncIterator[str]:
    while (piece := await asyncio.to_thread(next, text, None)) is not None:
        yield piece
