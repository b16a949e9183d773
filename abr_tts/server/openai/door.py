"""
The door itself: routes, who comes in, and one speech from its request to its last byte.
"""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial

import msgspec
from aiohttp import web
from msgspec import UNSET

from ...audio import wav
from ...errors import AbrError, BadField, HelloTimeout, MessageTooBig, Unsupported
from ..access.body import why
from ..config import OpenAiSettings
from ..doors.desk import Desk, Visit
from ..doors.speech import Speech
from ..doors.valve import Valve
from ..watching.logs import of_session
from .document import document
from .faults import fault_of
from .manners import Manners, polite, request_id
from .models import FaultAnswer, Model, ModelList, SoundHeaders, VoiceList, VoiceNames, as_headers
from .request import Wanted, read, wanted
from .sending import Lost, Outflow
from .sound import Encoding, Inflated, done, event, failed
from .voices import listed

log = logging.getLogger(__name__)

SPEECH, MODELS, VOICES = "/v1/audio/speech", "/v1/models", "/v1/audio/voices"
"""Paths (OpenAI's API reference; the last one is what servers like it have)."""

DOCUMENT = "/openapi.json"
"""Where the door is described; it needs no key."""

MOST_WHOLE_BYTES = 33_554_432
"""Bytes of an answer that is sent when all is spoken: ten minutes of PCM at 24 kHz."""

PIECE_BYTES = 65_536
"""Bytes of it that are written in one go: that a reader takes some shows within so many."""

EVENTS = "text/event-stream"
"""Content type of server-sent events (HTML standard)."""

OWNER = "abr-tts"
"""Whose the models are."""

TRUTH = {"true": True, "1": True, "": True, "false": False, "0": False}
"""How a parameter of a path says yes or no; `?legacy` alone is yes."""

CLOSED = 499
"""Status of an answer that nobody reads; nginx writes it so into its log."""


class OpenAi:
    """
    Args:
        settings: [openai].
        desk: what all doors go through.
    """

    def __init__(self, settings: OpenAiSettings, desk: Desk) -> None:
        self._settings, self._desk = settings, desk
        self._since = int(time.time())
        self._described = msgspec.json.encode(document())

    def add_to(self, app: web.Application) -> None:
        """Open it in a web server."""
        app.middlewares.append(Manners(self._desk.auth).middleware)
        router = app.router
        router.add_post(SPEECH, self._speech)
        router.add_get(VOICES, self._voices, allow_head=False)
        router.add_get(MODELS, self._models, allow_head=False)
        router.add_get(MODELS + "/{model}", self._model, allow_head=False)
        router.add_get(DOCUMENT, self._document, allow_head=False)

    # ------------------------------------------------------------ what there is

    async def _document(self, request: web.Request) -> web.Response:
        return web.Response(body=self._described, content_type="application/json")

    async def _models(self, request: web.Request) -> web.Response:
        with self._enter(request):
            return _json(ModelList([self._named(name) for name in self._settings.models]))

    async def _model(self, request: web.Request) -> web.Response:
        with self._enter(request):
            name = request.match_info["model"]
            if name not in self._settings.models:
                there = ", ".join(self._settings.models)
                words = f"no model {name[:80]!r}; there are {there}"
                raise BadField(words, field="model", http=404, code="model_not_found")
            return _json(self._named(name))

    def _named(self, name: str) -> Model:
        return Model(name, self._since, OWNER)

    async def _voices(self, request: web.Request) -> web.Response:
        with self._enter(request):
            found = list(listed(self._settings.voices, self._desk.services.pool.voices))
            legacy = _truth("legacy", request.query.getall("legacy", ["false"]))
            return _json(VoiceNames([one.id for one in found]) if legacy else VoiceList(found))

    def _enter(self, request: web.Request) -> Visit:
        return self._desk.enter(request.headers, request.remote or "")

    # ------------------------------------------------------------ speech

    async def _speech(self, request: web.Request) -> web.StreamResponse:
        try:
            with self._enter(request) as visit, of_session(visit.session):
                log.debug("%s is visit %s", request_id.get(), visit.session)
                return await self._answer(request, visit)
        except Lost as reason:
            log.debug("%s was not answered to its end: %s", request_id.get(), reason)
            return web.Response(status=CLOSED)

    async def _answer(self, request: web.Request, visit: Visit) -> web.StreamResponse:
        asked = await self._read(request, visit)
        transport = request.transport
        if transport is None:
            raise Lost("it is gone")
        valve = Valve(transport)
        # Who can be told nothing more has nothing to wait for; events have a last one that says why.
        goodbye_s = self._desk.settings.limits.close_timeout_s if asked.events else 0.0
        visit.on_shut = lambda error: valve.hurry(goodbye_s)
        try:
            line = Inflated(valve)
            with visit.open(asked.ask, None if asked.whole else line) as speech:
                valve.on_lost = partial(speech.close, "lost")
                services = self._desk.services
                container = partial(asked.container, speech.rate, services.resampler)
                encoding = Encoding(speech, asked.form, container, services.workshop)
                if asked.whole:
                    return await self._whole(request, asked, encoding, speech, valve)
                return await self._stream(request, asked, encoding, speech, line, valve)
        finally:
            valve.close()

    async def _read(self, request: web.Request, visit: Visit) -> Wanted:
        """
        What is asked for.

        Raises:
            HelloTimeout, MessageTooBig, BadField: counted, as all that a desk refuses is.
        """
        try:
            patience_s = self._desk.settings.limits.hello_timeout_s
            try:
                async with asyncio.timeout(patience_s):
                    body = await request.read()
            except TimeoutError:
                raise HelloTimeout(f"the request was not here within {patience_s:g} s") from None
            except web.HTTPRequestEntityTooLarge as error:
                raise MessageTooBig(f"the body is too large: {error.text}") from None
            except web.RequestPayloadError as error:
                raise BadField(f"the body cannot be read: {why(error)}") from None
            return wanted(read(body), self._desk.services.pool, self._settings.voices)
        except AbrError as error:
            visit.note(error)
            raise

    async def _stream(
        self,
        request: web.Request,
        asked: Wanted,
        encoding: Encoding,
        speech: Speech,
        line: Inflated,
        valve: Valve,
    ) -> web.StreamResponse:
        """As it is spoken."""
        flow = Outflow(
            request, self._headers(request, asked), valve, self._desk.settings.limits.idle_timeout_s
        )
        try:
            async for data in encoding:
                size = await flow.write(event(data) if asked.events else data)
                line.carried(len(data), size)
                speech.written(len(data))
            if asked.events:
                await flow.write(done(len(asked.ask.text), encoding.frames))
            await flow.end()
        except AbrError as error:
            if not flow.begun:
                raise
            if asked.events:
                await flow.write(failed(msgspec.json.encode(FaultAnswer(fault_of(error)))))
            else:
                flow.break_off()
                raise Lost(error.message) from None
        return flow.response

    async def _whole(
        self, request: web.Request, asked: Wanted, encoding: Encoding, speech: Speech, valve: Valve
    ) -> web.StreamResponse:
        """
        When it is spoken, with its length.

        It is sent from here, bit by bit: a request whose answer is left to aiohttp is over, so its connection
        would be an idler's, and be cut in the middle of what takes longer.
        """
        parts, size = [], 0
        async for data in encoding:
            parts.append(data)
            size += len(data)
            speech.written(len(data))
            if size > MOST_WHOLE_BYTES:
                words = f"more than {MOST_WHOLE_BYTES} bytes in one piece; leave `stream` out"
                raise Unsupported(words, field="stream")
        if asked.form.name == "wav":
            parts.insert(0, wav.header(asked.rate, size // 2))
        body = b"".join(parts)
        headers = self._headers(request, asked) | {"Content-Length": str(len(body))}
        flow = Outflow(request, headers, valve, self._desk.settings.limits.idle_timeout_s)
        for at in range(0, len(body), PIECE_BYTES):
            await flow.write(body[at : at + PIECE_BYTES])
            if speech.closed:
                flow.break_off()
                raise Lost("it is not to have the rest")
        await flow.end()
        return flow.response

    def _headers(self, request: web.Request, asked: Wanted) -> dict[str, str]:
        headers = {
            "Content-Type": EVENTS if asked.events else asked.form.content_type,
            "X-Accel-Buffering": "no",
            "Cache-Control": "no-store",
        }
        told = SoundHeaders(asked.rate, ", ".join(asked.ignored) or UNSET)
        return headers | as_headers(told) | polite(request, self._desk.auth)


def _truth(name: str, values: list[str]) -> bool:
    """
    What a parameter of a path says.

    Raises:
        BadField: neither yes nor no, or both.
    """
    said = {TRUTH.get(value.lower()) for value in values}
    if len(said) != 1 or None in said:
        raise BadField(f"{name} must be true or false", field=name)
    return said == {True}


def _json(value: msgspec.Struct) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")
