"""A real engine behind each of the protocols: what a remote engine is, to whoever asks it."""

import asyncio
import contextlib

from aiohttp import web

from abr_tts.engine.pool import EngineSpec, Pool
from abr_tts.errors import UnknownVoice

RATE = 22_050
"""Hz of the engine that stands behind, which is espeak."""


class Listening:
    """A sink that hands samples on to whoever iterates; cancelled when he leaves."""

    def __init__(self):
        self._news = asyncio.Queue()

    def pcm(self, samples):
        self._news.put_nowait(samples)

    def end(self):
        self._news.put_nowait(None)

    def fault(self, error):
        self._news.put_nowait(error)

    async def samples(self):
        while (one := await self._news.get()) is not None:
            if isinstance(one, Exception):
                raise one
            yield one


async def spoken(pool, text, voice, speed=1.0):
    """The samples of `text`, as they are made; leaving cancels."""
    sink = Listening()
    ticket = pool.say(text, pool.choose(voice, None, text), None, speed, sink)
    try:
        async for samples in sink.samples():
            yield samples
    finally:
        ticket.cancel()


async def streamed(request, speech):
    """An HTTP answer of raw PCM."""
    response = web.StreamResponse(headers={"Content-Type": "audio/pcm"})
    async with contextlib.aclosing(speech) as chunks:
        await response.prepare(request)
        async for samples in chunks:
            await response.write(samples.astype("<i2").tobytes())
        await response.write_eof()
    return response


def application(pool):
    """The two HTTP forms."""

    async def openai(request):
        asked = await request.json()
        try:
            pool.choose(asked["voice"], None, "")
        except UnknownVoice as error:
            return web.json_response({"error": {"message": error.message}}, status=400)
        return await streamed(request, spoken(pool, asked["input"], asked["voice"], asked["speed"]))

    async def sft(request):
        form = await request.post()
        return await streamed(request, spoken(pool, form["tts_text"], form["spk_id"]))

    async def voices(request):
        return web.json_response({"voices": [voice.name for voice in pool.voices]})

    app = web.Application()
    app.router.add_post("/v1/audio/speech", openai)
    app.router.add_get("/v1/audio/voices", voices)
    app.router.add_post("/inference_sft", sft)
    app.router.add_get("/openapi.json", voices)
    return app


@contextlib.asynccontextmanager
async def engine():
    """A process pool of espeak."""
    pool = Pool(EngineSpec("espeak"), 1)
    await pool.start()
    try:
        yield pool
    finally:
        await pool.stop()


@contextlib.asynccontextmanager
async def over_http(case):
    """The spec that speaks to it over HTTP."""
    async with engine() as pool:
        runner = web.AppRunner(application(pool), handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = site._server.sockets[0].getsockname()[1]
        try:
            options = {"url": f"http://127.0.0.1:{port}", "sample_rate": RATE}
            yield EngineSpec(case.kind, options | dict(case.options))
        finally:
            await runner.cleanup()


@contextlib.asynccontextmanager
async def over_grpc(case):
    """The spec that speaks to it through Triton's protocol."""
    from tritonclient.grpc import service_pb2_grpc as stubs

    from abr_tts.audio.pcm import to_float

    from .tritons import inputs_of, pb, response, serve

    class Servicer(stubs.GRPCInferenceServiceServicer):
        async def ModelReady(self, request, context):
            return pb.ModelReadyResponse(ready=True)

        async def ModelStreamInfer(self, requests, context):
            async for request in requests:
                speech = spoken(pool, inputs_of(request)["target_text"], None)
                async with contextlib.aclosing(speech) as chunks:
                    async for samples in chunks:
                        yield response(to_float(samples))
                yield response(None, final=True)

    async with engine() as pool, serve(Servicer()) as url:
        yield EngineSpec(case.kind, {"url": url, "sample_rate": RATE})
