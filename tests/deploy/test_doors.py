"""The shipped nginx.conf lets the doors of others' products through, as it does our own."""

import asyncio
import contextlib
import json

import aiohttp
import pytest
import shipped

from abr_tts.server.dashscope.door import PATH

from ..server.dashscope.client import TASK, finish, go_on, run
from ..server.harness import serving
from . import replicas

pytestmark = pytest.mark.skipif(not shipped.installed(), reason="nginx is not installed")

WITHIN_S = 30.0


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return replicas.certificate(tmp_path_factory.mktemp("tls"))


def behind_nginx(certificate, visit) -> None:
    """Run `visit(http, host)` against a server behind the proxy."""

    async def walk() -> None:
        async with serving() as server:
            with contextlib.ExitStack() as stack:
                running = shipped.shipped([f"127.0.0.1:{server.port}"], certificate.files)
                nginx = await asyncio.to_thread(stack.enter_context, running)
                connector = aiohttp.TCPConnector(ssl=certificate.trust)
                async with aiohttp.ClientSession(connector=connector) as http, asyncio.timeout(WITHIN_S):
                    await visit(http, f"127.0.0.1:{nginx.port}")

    asyncio.run(walk())


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer any", "Origin": "https://elsewhere.example"}]
)
def test_a_task_of_dashscope_is_spoken_behind_nginx(certificate, headers):
    async def speak(http: aiohttp.ClientSession, host: str) -> None:
        async with http.ws_connect(f"wss://{host}{PATH}", headers=headers) as socket:
            for message in (run(), go_on("Hello."), finish()):
                await socket.send_str(message)
            size, event = 0, {}
            while event.get("header", {}).get("event") != "task-finished":
                message = await socket.receive()
                if message.type is aiohttp.WSMsgType.TEXT:
                    event = json.loads(message.data)
                    assert event["header"]["task_id"] == TASK
                else:
                    size += len(message.data)
            assert size == 15_876

    behind_nginx(certificate, speak)


def test_the_document_of_the_sockets_names_the_place_that_the_client_knows(certificate):
    async def look(http: aiohttp.ClientSession, host: str) -> None:
        answer = await http.get(f"https://{host}/asyncapi.json")
        here = (await answer.json())["servers"]["here"]
        assert (here["host"], here["protocol"]) == (host, "wss")

    behind_nginx(certificate, look)
