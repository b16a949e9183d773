"""
The client: from a URL to speech. It opens a connection, hands texts to it, and closes it.

What runs over the connection is the `pump`'s affair, what a listener gets is `speech`'s.
"""

from __future__ import annotations

import asyncio
import ssl as tls
import uuid
from collections.abc import AsyncIterable, AsyncIterator, Callable
from types import TracebackType

import aiohttp

from .. import __version__
from ..audio.libopus import Library, load
from ..errors import (
    BadMessage,
    ConnectFailed,
    ConnectionLost,
    HelloTimeout,
    MessageTooBig,
    MissingDependency,
    WrongState,
)
from ..stream.player import Player
from ..stream.playout import AS_FAST_AS_POSSIBLE, START_TICKS
from ..wire.messages import Hello, StreamStart, Welcome
from .dial import checked_key, dial, stream_url, tls_setting
from .pump import Pump
from .speech import Event, Speech

LEVEL = 1
"""Conformance level: overlapping tracks (protocol/SPEC.md)."""

CONNECT_S = 10.0
"""Seconds for name, TCP, TLS, HTTP and `welcome` together, unless the caller says otherwise."""

PIECE_CHARS = 50_000
"""Longest text in one message: 200 kB in the widest script, far below the 1 MiB of a message.
More goes in pieces, so that the server's own limit answers and not that of a message."""

PCM_CODECS = ("pcm16", "ulaw")
"""Codecs that are played without libopus."""


class Client:
    """
    A connection to one server. Enter it to connect, leave it to close.

    ```
    async with Client("ws://localhost:8765") as client:
        async for chunk in client.speak("Hello"):
            ...  # int16, mono, 20 ms
    ```

    Args:
        url: `ws://` or `wss://`; the protocol's path is added when it has none.
        api_key: sent as a bearer token.
        ssl: the context for `wss://`; the system's certificates when None.
        insecure: accept any certificate. For tests only: anybody may then listen and speak.
        connect_s: seconds until connecting is given up.
        opus: path of libopus; the bundled one, else the system's, when None. Where there is
            none, the server is asked for PCM, which costs ten times the bytes.

    Raises:
        ConnectFailed: on entering; one sentence says why. At once for a wrong address or key.
        Unauthorized, Overloaded, ShuttingDown, …: on entering; the server said so.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        ssl: tls.SSLContext | None = None,
        insecure: bool = False,
        connect_s: float = CONNECT_S,
        opus: str | None = None,
    ) -> None:
        self._url = stream_url(url)
        self._api_key, self._tls, self._connect_s = (
            checked_key(api_key),
            tls_setting(ssl, insecure),
            connect_s,
        )
        self._library = _library(opus)
        self._session: aiohttp.ClientSession | None = None
        self._pump: Pump | None = None
        self.welcome: Welcome | None = None
        """What the server said of itself and its limits, once connected."""

    async def __aenter__(self) -> Client:
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def connect(self) -> None:
        """Connect and greet; entering the client does it."""
        if self._session is not None:
            raise RuntimeError("this client is connected already")
        self._session = aiohttp.ClientSession()
        try:
            async with asyncio.timeout(self._connect_s):
                await self._greet(self._session)
        except TimeoutError:
            await self.close()
            raise ConnectFailed(f"{self._where} did not answer within {self._connect_s:g} s") from None
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Cancel every speech and close; leaving the client does it. Twice does nothing."""
        pump, session, self._pump, self._session = self._pump, self._session, None, None
        if pump is not None:
            await pump.close()
        if session is not None:
            await session.close()

    def speak(
        self,
        text: str | AsyncIterable[str],
        *,
        voice: str | None = None,
        language: str | None = None,
        speed: float = 1.0,
        rung: str | None = None,
        policy: str | None = None,
        out_rate: int | None = None,
        realtime: bool = False,
        whole: bool = False,
        events: Callable[[Event], None] | None = None,
    ) -> Speech:
        """
        Ask for speech; the request leaves at once.

        Args:
            text: the whole text, or an async iterator that yields it piece by piece.
            voice, language: whose; the server chooses by the text's script when both are None.
            speed: 1.0 is the voice's own.
            rung: hold the stream at this rung of the ladder, such as `opus24`; it adapts when None.
            policy: how it adapts, by the name of one of the server's policies; the server's own when None.
            out_rate: Hz of the samples handed out, a multiple of 50; the engine's when None.
            whole: the speech is to be kept, not heard as it comes: all of it at one rung, the best of the
                policy, as fast as the link carries it.
            realtime: hand out a frame every 20 ms and count stalls, as a sound card would,
                instead of each frame as soon as it is there.
            events: called with `Track`, `Switch`, `Mark` and warnings (`Error`) as they arrive.

        Returns:
            An async iterator of int16 arrays. Iterate it or cancel it: a speech that nobody
            hears keeps its place on the server.

        Raises:
            RuntimeError: the client is not connected.
            ConnectionLost, ConnectionFault: the connection has ended.
            ValueError: an `out_rate` that does not divide into frames.
        """
        if self._pump is None:
            raise RuntimeError("the client is not connected; use it in `async with`")
        start_ticks = START_TICKS if realtime else AS_FAST_AS_POSSIBLE
        player = Player(self._library, out_rate, level=LEVEL, start_ticks=start_ticks)
        pieces = _in_pieces(text) if isinstance(text, str) and len(text) > PIECE_CHARS else text
        request = StreamStart(
            stream_id=str(uuid.uuid4()),
            text=pieces if isinstance(pieces, str) else "",
            open=not isinstance(pieces, str),
            voice=voice,
            language=language,
            speed=speed,
            rung=rung,
            policy=policy,
            mode="whole" if whole else "stream",
        )
        speech = Speech(self._pump, request, player, realtime=realtime, events=events)
        self._pump.open(speech, request)
        if not isinstance(pieces, str):
            speech.feed(pieces)
        return speech

    @property
    def _where(self) -> str:
        return f"{self._url.host}:{self._url.port}"

    async def _greet(self, session: aiohttp.ClientSession) -> None:
        socket = await dial(session, self._url, api_key=self._api_key, ssl=self._tls)
        self._pump = Pump(socket, self._where)
        codecs = PCM_CODECS if self._library is None else ("opus", *PCM_CODECS)
        self._pump.start(Hello(level=LEVEL, codecs=codecs, client=f"abr-tts-python/{__version__}"))
        try:
            self.welcome = await self._pump.welcomed
        except (ConnectionLost, HelloTimeout):
            sentence = f"{self._where} hung up before it answered; is it an abr-tts server?"
            raise ConnectFailed(sentence) from None
        except (BadMessage, MessageTooBig, WrongState) as fault:
            raise ConnectFailed(f"{self._where} does not speak as an abr-tts server does: {fault}") from None


def _library(path: str | None) -> Library | None:
    """libopus, or None where this machine has none; a path that was asked for must be right."""
    try:
        return load(path)
    except MissingDependency:
        if path is not None:
            raise
        return None


async def _in_pieces(text: str) -> AsyncIterator[str]:
    for begin in range(0, len(text), PIECE_CHARS):
        yield text[begin : begin + PIECE_CHARS]
