"""
Servers that speak as the real ones do, on a loopback port of this loop, and misbehave on demand.

`Script` says how each request is answered, one after the other, the last one for ever; what was asked
and whether it was heard to the end is remembered.
"""

import asyncio
import contextlib
import json
import struct
from dataclasses import dataclass, field

import numpy as np
from aiohttp import web

from abr_tts.engine.build import pool_for
from abr_tts.engine.spec import EngineSpec, Limits

from ..pools import PATIENCE_S

RATE = 24_000
COSYVOICE_S = (1.8, 2.0, 4.0)
"""Seconds of sound in the chunks that CosyVoice makes."""

RTF = 0.02
"""Seconds that a fake takes for a second of sound: 15 times as fast as a good GPU."""


def speech(seconds, seed=1):
    """Loud noise, int16, in which every lost, repeated or shifted byte shows."""
    return np.random.default_rng(seed).integers(-32_768, 32_767, round(seconds * RATE), np.int16)


def wav(samples, rate=RATE, *, channels=1, bits=16, size=None, tags=b""):
    """A WAV header and the samples; `size` None: the true one."""
    data = samples.astype("<i2").tobytes()
    size = len(data) if size is None else size
    width = channels * bits // 8
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, channels, rate, rate * width, width, bits)
    riff = struct.pack("<4sI4s", b"RIFF", min(36 + size, 0xFFFF_FFFF), b"WAVE")
    return riff + tags + form + struct.pack("<4sI", b"data", size) + data


@dataclass
class Answer:
    """
    How one request is answered.

    Args:
        chunks: of the body, as samples or bytes.
        pause_s: before each chunk.
        gate: what must be set before the first one.
        then: what follows them: "end", "reset" or "hang".
    """

    chunks: tuple = ()
    pause_s: float = 0.0
    gate: asyncio.Event | None = None
    then: str = "end"
    status: int = 200
    headers: dict = field(default_factory=dict)

    @staticmethod
    def whole(samples, plan_s=COSYVOICE_S, rtf=RTF):
        """The samples in CosyVoice's chunks, at a pace."""
        cuts = np.cumsum([round(one * RATE) for one in plan_s])
        parts = [part for part in np.split(samples, cuts[cuts < len(samples)]) if part.size]
        return Answer(tuple(parts), rtf * plan_s[0])


HANG, RESET = Answer(then="hang"), Answer(then="reset")


class Script:
    """Answers in turn."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []
        self.heard = []
        """For each request: "end", or "cut" when the asker went away."""
        self.moved = asyncio.Event()
        self.busy = 0
        self.most = 0

    def next(self):
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def note(self, how):
        self.heard.append(how)
        self.moved.set()

    async def until(self, condition):
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self.moved.clear()
                await self.moved.wait()

    @contextlib.contextmanager
    def serving(self, what):
        """Around one request: counts it and notes how it ended."""
        self.asked.append(what)
        self.busy += 1
        self.most = max(self.most, self.busy)
        self.moved.set()
        how = "cut"
        try:
            yield
            how = "end"
        finally:
            self.busy -= 1
            self.note(how)


async def play(answer, write, reset):
    """Send `answer` by `write`; `reset` breaks the connection."""
    if answer.gate:
        await answer.gate.wait()
    for chunk in answer.chunks:
        await asyncio.sleep(answer.pause_s)
        await write(chunk if isinstance(chunk, bytes) else chunk.astype("<i2").tobytes())
    if answer.then == "hang":
        await asyncio.Event().wait()
    if answer.then == "reset":
        reset()


async def respond(request, script, what):
    """An HTTP answer as `script` has it."""
    with script.serving(what):
        answer = script.next()
        response = web.StreamResponse(status=answer.status, headers=answer.headers)
        if answer is HANG or answer is RESET:  # not even a status
            await play(answer, None, request.transport.abort)
            raise ConnectionResetError
        if not answer.headers.get("Content-Type"):
            response.content_type = "audio/pcm"
        await response.prepare(request)
        await play(answer, response.write, request.transport.abort)
        if request.transport is None or request.transport.is_closing():
            raise ConnectionResetError
        await response.write_eof()
    return response


@contextlib.asynccontextmanager
async def http_server(script, *, voices=("alloy", "shimmer"), key="", listing=None, tls=None, port=0):
    """A server with both HTTP forms; yields its address."""

    async def openai(request):
        if key and request.headers.get("Authorization") != f"Bearer {key}":
            text = json.dumps({"error": {"message": f"Incorrect API key provided: {key}."}})
            return web.Response(status=401, text=text, content_type="application/json")
        return await respond(request, script, await request.json())

    async def cosyvoice(request):
        form = dict(await request.post())
        clip = form.get("prompt_wav")
        if clip is not None:
            form["prompt_wav"] = clip.file.read()
        return await respond(request, script, {"route": request.match_info["route"], **form})

    async def listed(request):
        return web.json_response({"voices": list(voices)} if listing is None else listing)

    app = web.Application(client_max_size=4 << 20)
    app.router.add_post("/v1/audio/speech", openai)
    app.router.add_get("/v1/audio/voices", listed)
    app.router.add_post("/{route:inference_\\w+}", cosyvoice)
    app.router.add_get("/openapi.json", listed)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    try:
        yield f"{'https' if tls else 'http'}://{'localhost' if tls else '127.0.0.1'}:{port}"
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def asking(url, kind="openai", *, limits=None, size=4, **options):
    """A pool that has started."""
    table = {"url": url, "backoff_s": [0.01, 0.05], **options}
    pool = pool_for(EngineSpec(kind, table), size, limits or Limits())
    await asyncio.wait_for(pool.start(), PATIENCE_S)
    try:
        yield pool
    finally:
        await asyncio.wait_for(pool.stop(), PATIENCE_S)
