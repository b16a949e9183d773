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
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from types import TracebackType
from typing import Any, TypeVar

from ..wire.messages import Welcome
from .client import Client as AsyncClient
from .speech import Int16
from .speech import Speech as AsyncSpeech
from .stats import SpeechStats
from .uplink import Samples

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

    def add_voice(self, name: str, samples: Samples, rate: int, **wishes: Any) -> float:
        """Make a voice of somebody's speech, as the asyncio client's `add_voice`."""
        return self.wait(self._client.add_voice(name, samples, rate, **wishes))

    def convert(self, samples: Samples, rate: int, **wishes: Any) -> Speech:
        """Say what is said in `samples` in another voice, as the asyncio client's `convert`."""

        async def ask() -> AsyncSpeech:
            return self._client.convert(samples, rate, **wishes)

        return Speech(self, self.wait(ask()))

    @property
    def welcome(self) -> Welcome | None:
        """What the server said of itself and its limits."""
        return self._client.welcome

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
    def sample_rate(self) -> int:
        """Hz of the samples handed out; 0 until the stream has started."""
        return self._speech.sample_rate

    @property
    def rung(self) -> str:
        """The rung of the frame handed out last."""
        return self._speech.rung

    @property
    def heard(self) -> int:
        """Characters of the text that were heard."""
        return self._speech.heard

    def pause(self) -> None:
        """Hand out nothing more, after a frame that fades out, until another thread calls `resume`."""
        self._do(self._speech.pause)

    def resume(self) -> None:
        """Go on with the sample after the last."""
        self._do(self._speech.resume)

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
        self._do(self._speech.cancel)

    def _do(self, act: Callable[[], object]) -> None:
        """On the client's own loop, where alone a speech may be touched."""

        async def acting() -> None:
            act()

        self._client.wait(acting())


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
