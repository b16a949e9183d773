"""
The client: from a URL to speech. It opens a connection, hands texts to it, and closes it.

What runs over the connection is the `pump`'s affair, what a listener gets is `speech`'s.
"""

from __future__ import annotations

import asyncio
import random
import ssl as tls
import uuid
from collections.abc import AsyncIterable, AsyncIterator, Callable
from types import TracebackType
from typing import TypedDict

import aiohttp

from .. import __version__
from ..audio.clip import ClipEncoder
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
from ..stream.live import Live
from ..stream.live_player import LivePlayer
from ..stream.player import Player
from ..stream.playout import AS_FAST_AS_POSSIBLE, START_TICKS
from ..wire.messages import AudioStart, Hello, StreamStart, Welcome
from .asking import PIECE_CHARS
from .backoff import Backoff
from .dial import Ticket, checked_key, dial, stream_url, tls_setting, with_session, with_ticket
from .events import Event
from .line import Line
from .pump import Pump
from .speech import Speech
from .uplink import Samples, Uplink, Upload

LEVEL = 2
"""Conformance level: overlapping tracks, and going on after a reconnect (protocol/SPEC.md)."""

CONNECT_S = 10.0
"""Seconds for name, TCP, TLS, HTTP and `welcome` together, unless the caller says otherwise."""

RECONNECT_S = 120.0
"""Seconds after the loss of a connection in which another one is tried, unless the caller says otherwise:
longer than most tunnels; a server keeps a stream for 60 s by default."""

PCM_CODECS = ("pcm16", "ulaw")
"""Codecs that are played without libopus."""


class Listener(TypedDict):
    """Arguments of a `Speech`: how it is heard."""

    player: Player
    another: Callable[[int | None], Player]
    realtime: bool


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
        ticket: instead of a key, one of `POST /v1/tickets`: a text, which opens one connection and no
            other after it, or a coroutine function that gets one for each.
        ssl: the context for `wss://`; the system's certificates when None.
        insecure: accept any certificate. For tests only: anybody may then listen and speak.
        connect_s: seconds until connecting is given up.
        reconnect_s: seconds after a connection was lost in which another one is tried and speeches go
            on where they were; 0: they end with their connection.
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
        ticket: Ticket | None = None,
        ssl: tls.SSLContext | None = None,
        insecure: bool = False,
        connect_s: float = CONNECT_S,
        reconnect_s: float = RECONNECT_S,
        opus: str | None = None,
    ) -> None:
        address, self._ticket = stream_url(url), ticket
        self._url = address if ticket else with_session(address)  # a ticket is good where it was given
        self._api_key, self._tls, self._connect_s = (
            checked_key(api_key),
            tls_setting(ssl, insecure),
            connect_s,
        )
        self._library = _library(opus)
        self._session: aiohttp.ClientSession | None = None
        self._reconnect_s = reconnect_s
        self._line: Line | None = None
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
        self._session = session = aiohttp.ClientSession()
        backoff = Backoff(self._reconnect_s, random.Random()) if self._reconnect_s else None
        self._line = Line(lambda: self._dial(session), backoff)
        try:
            await self._line.connect()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Cancel every speech and close; leaving the client does it. Twice does nothing."""
        line, session, self._line, self._session = self._line, self._session, None, None
        if line is not None:
            await line.close()
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
        live: bool | Live = False,
        whole: bool = False,
        instruct: str | None = None,
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
            whole: it is to be kept: all of it at the policy's best rung, as fast as the link carries it.
            realtime: a frame every 20 ms, as a sound card would, not as soon as it is there; stalls count.
            live: as `realtime`, rather in time than whole: slower, bridged, dropped as `Live` says.
            instruct: how to speak, in words, for engines that follow them.
            events: called with each `Event` as it comes; warnings are an `Error`.

        Returns:
            An async iterator of int16 arrays. Iterate it or cancel it: a speech that nobody
            hears keeps its place on the server.

        Raises:
            RuntimeError: the client is not connected.
            ConnectionLost, ConnectionFault: the connection has ended.
            ValueError: an `out_rate` that does not divide into frames.
        """
        line, listener = self._open_line(), self._listener(out_rate, realtime, live)
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
            instruct=instruct,
        )
        speech = Speech(line, request, **listener, events=events)
        line.open(speech, request)
        if not isinstance(pieces, str):
            speech.feed(pieces)
        return speech

    async def add_voice(
        self,
        name: str,
        samples: Samples | AsyncIterable[Samples],
        rate: int,
        *,
        consent: bool,
        text: str = "",
        language: str | None = None,
        codec: str = "opus",
    ) -> float:
        """
        Make a voice of somebody's speech; it can be named as `voice` once this returns.

        Args:
            name: 1 to 48 letters, digits, `-` and `_`; not that of another voice.
            samples: 1 to 30 s (3 to 10 are best): int16, or float with full scale at ±1.0; shape
                (n,), or (n, 2), whose mean is taken. Or an async iterator that yields such arrays.
            rate: Hz of the samples.
            consent: the speaker agrees to be cloned. The server takes no voice without.
            text: what is said, word for word: the voice comes out closer with it.
            language: in which it is said, a BCP 47 tag.
            codec: `opus`, or `pcm16`; PCM too where there is no libopus.

        Returns:
            Seconds of sound that the server keeps.

        Raises:
            NoConsent, Unsupported, BadAudio, AudioTooLong, VoiceTaken, TooManyVoices, Busy, …: the
                server's reason.
            RuntimeError: the client is not connected.
            ConnectionLost, ConnectionFault: the connection has ended.
            ValueError: samples of another type or shape.
        """
        encoder = self._encoder(codec, rate)
        request = AudioStart(
            str(uuid.uuid4()), encoder.form.codec, encoder.form.rate,
            consent=consent, voice=name, text=text, language=language,
        )  # fmt: skip
        pump, upload = await self._open_line().turn(), Upload(request)
        pump.open(upload, request)
        pump.send_clip(Uplink(pump, request, encoder, rate, samples), upload.give_up)
        try:
            return await upload.kept
        finally:
            pump.settle_upload(upload)

    def convert(
        self,
        samples: Samples | AsyncIterable[Samples],
        rate: int,
        *,
        voice: str | None = None,
        speed: float = 1.0,
        codec: str = "opus",
        rung: str | None = None,
        policy: str | None = None,
        out_rate: int | None = None,
        realtime: bool = False,
        live: bool | Live = False,
        whole: bool = False,
        events: Callable[[Event], None] | None = None,
    ) -> Speech:
        """
        Say what is said in `samples` in another voice; sending begins at once.

        Args:
            samples, rate, codec: as of `add_voice`; at most 30 s.
            voice: who says it; the engine's first when None.
            speed, rung, policy, out_rate, realtime, live, whole, events: as of `speak`.

        Returns:
            As `speak`. It sounds once all samples are sent.

        Raises:
            As `speak`; the server's reasons while it is heard, as of `add_voice`.
        """
        line, encoder = self._open_line(), self._encoder(codec, rate)
        wishes = StreamStart(
            str(uuid.uuid4()), open=True, voice=voice, speed=speed, rung=rung, policy=policy,
            mode="whole" if whole else "stream",
        )  # fmt: skip
        request = AudioStart(
            wishes.stream_id, encoder.form.codec, encoder.form.rate, purpose="conversion", voice=voice,
            speed=speed, rung=rung, policy=policy, mode=wishes.mode,
        )  # fmt: skip
        speech = Speech(line, wishes, **self._listener(out_rate, realtime, live), events=events)

        def begin(pump: Pump) -> None:
            pump.open(speech, request)
            pump.send_clip(Uplink(pump, request, encoder, rate, samples), speech.cancel_with)

        line.in_turn(begin, speech)
        return speech

    @property
    def connected(self) -> bool:
        """Whether there is a connection now; one that was lost comes back, if it can."""
        return self._line is not None and self._line.pump is not None

    @property
    def speeches(self) -> int:
        """Speeches under way, those that wait for a connection among them."""
        return self._line.speeches if self._line else 0

    def _open_line(self) -> Line:
        if self._line is None:
            raise RuntimeError("the client is not connected; use it in `async with`")
        return self._line

    def _listener(self, out_rate: int | None, realtime: bool, live: bool | Live) -> Listener:
        """What a speech needs to be heard; a further part of it has the rate of the first."""
        wishes = Live() if live is True else live or None
        timed = realtime or wishes is not None
        start_ticks = START_TICKS if timed else AS_FAST_AS_POSSIBLE

        def make(rate: int | None) -> Player:
            if wishes:
                return LivePlayer(wishes, self._library, rate, start_ticks=start_ticks)
            return Player(self._library, rate, start_ticks=start_ticks)

        return Listener(player=make(out_rate), another=make, realtime=timed)

    def _encoder(self, codec: str, rate: int) -> ClipEncoder:
        return ClipEncoder("pcm16" if self._library is None else codec, rate, self._library)

    @property
    def _where(self) -> str:
        return f"{self._url.host}:{self._url.port}"

    async def _dial(self, session: aiohttp.ClientSession) -> Pump:
        """A connection that the server has welcomed."""
        try:
            async with asyncio.timeout(self._connect_s):
                url = await with_ticket(self._url, self._ticket)
                socket = await dial(session, url, api_key=self._api_key, ssl=self._tls)
                line = self._open_line()
                pump = Pump(socket, self._where, line.lose, line.away)
                try:
                    await self._greet(pump)
                except BaseException:
                    await pump.close()
                    raise
                return pump
        except TimeoutError:
            raise ConnectFailed(f"{self._where} did not answer within {self._connect_s:g} s") from None

    async def _greet(self, pump: Pump) -> None:
        codecs = PCM_CODECS if self._library is None else ("opus", *PCM_CODECS)
        pump.start(Hello(level=LEVEL, codecs=codecs, client=f"abr-tts-python/{__version__}"))
        try:
            self.welcome = await pump.welcomed
        except (ConnectionLost, HelloTimeout):
            sentence = f"{self._where} hung up before it answered; is it an abr-tts server?"
            raise ConnectFailed(sentence) from None
        except (BadMessage, MessageTooBig, WrongState) as fault:
            words = f"{self._where} does not speak as an abr-tts server does: {fault}"
            raise ConnectFailed(words, final=True) from None


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
