"""The shipped nginx.conf hands OpenAI's answers on as they come, and describes the door to programs."""

import asyncio
import contextlib

import aiohttp
import pytest
import shipped

from ..server.harness import serving
from ..server.openai_world import SPEECH, pages, wish
from . import replicas

pytestmark = pytest.mark.skipif(not shipped.installed(), reason="nginx is not installed")

WITHIN_S = 30.0


def test_sound_comes_through_nginx_while_it_is_spoken(tmp_path_factory):
    certificate = replicas.certificate(tmp_path_factory.mktemp("tls"))

    async def walk() -> None:
        async with serving(engine__options={"rate": 24_000, "rtf": 0.5}) as server:
            with contextlib.ExitStack() as stack:
                running = shipped.shipped([f"127.0.0.1:{server.port}"], certificate.files)
                nginx = await asyncio.to_thread(stack.enter_context, running)
                connector = aiohttp.TCPConnector(ssl=certificate.trust)
                url = f"https://127.0.0.1:{nginx.port}"
                async with aiohttp.ClientSession(url, connector=connector) as http, asyncio.timeout(WITHIN_S):
                    await listen(server, http)

    asyncio.run(walk())


async def listen(server, http: aiohttp.ClientSession) -> None:
    for name in ("pcm", "opus"):
        async with http.post(
            SPEECH, json=wish("Some thirty characters of text", response_format=name)
        ) as answer:
            assert answer.status == 200
            first = await answer.content.readany()
            assert server.pool.stats.busy == 1, "the engine is still at it"
            body = first + await answer.content.read()
        size = len(body) // 2 if name == "pcm" else (pages(body)[-1][0] - 960) // 2
        assert size == round(30 * 0.06 * 24_000)
    async with http.get("/openapi.json") as answer:
        assert (await answer.json())["openapi"] == "3.1.0"
