"""The whole server before a remote engine: what a listener hears, and what a load balancer is told."""

import asyncio
import contextlib

import aiohttp
import numpy as np

from abr_tts.client import Client

from ...server.harness import serving
from ..pools import PATIENCE_S
from .fakes import COSYVOICE_S, HANG, Answer, Script, http_server, speech

SOUND = speech(sum(COSYVOICE_S))
CLAUSE = "Good evening to all of you."


@contextlib.asynccontextmanager
async def served(script, **options):
    async with http_server(script) as url:
        table = {"url": url, "breaker_failures": 2, "breaker_open_s": 30, "retries": 0, **options}
        settings = {"engine.kind": "openai", "engine.options": table}
        async with serving(**settings) as server:
            yield server


async def readiness(server):
    async with aiohttp.ClientSession() as http, http.get(f"{server.http_url}/readyz") as answer:
        return answer.status, await answer.json()


def test_a_listener_hears_the_samples_of_the_remote_engine_and_not_one_other():
    async def main():
        async with served(Script(Answer.whole(SOUND))) as server:
            async with Client(server.url) as client:
                heard = await client.speak(CLAUSE, rung="pcm24").read()
            np.testing.assert_array_equal(heard, SOUND)
            status, told = await readiness(server)
            assert status == 200 and told["ready"] and told["loading"]["state"] == "ready"

    asyncio.run(main())


def test_a_listener_who_leaves_frees_the_remote_engine():
    async def main():
        script = Script(Answer((SOUND[:24_000],) * 100, 0.2))
        async with served(script) as server:
            async with Client(server.url) as client:
                stream = client.speak(CLAUSE)
                await script.until(lambda: script.busy == 1)
                stream.cancel()
                await script.until(lambda: script.heard == ["cut"])
            assert server.pool.stats.busy == 0

    asyncio.run(main())


def test_when_the_engine_is_gone_the_server_says_so_at_once_and_is_not_ready():
    async def main():
        async with served(Script(Answer(status=500), Answer(status=500), HANG)) as server:
            async with Client(server.url) as client:
                codes = []
                for _ in range(3):
                    try:
                        await asyncio.wait_for(client.speak(CLAUSE).read(), PATIENCE_S)
                    except Exception as error:
                        codes.append(getattr(error, "code", type(error).__name__))
            assert codes == ["engine_failed", "engine_failed", "busy"]
            status, told = await readiness(server)
            assert status == 503 and not told["ready"]
            assert told["loading"]["state"] == "failed" and "left alone" in told["loading"]["sentence"]

    asyncio.run(main())
