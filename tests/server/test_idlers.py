"""Who connects and asks for nothing is sent away; who asks is left alone."""

import asyncio

import aiohttp
import pytest
from aiohttp import web

from abr_tts.server.load.idlers import Idlers

from .harness import WAIT_S, peer, serving


class Line(asyncio.WriteTransport):
    """A connection that can be looked at and aborted."""

    def __init__(self) -> None:
        super().__init__()
        self.aborted = False

    @property
    def transport(self) -> asyncio.BaseTransport | None:
        return None if self.aborted else self

    def abort(self) -> None:
        self.aborted = True


def test_a_silent_connection_is_closed_at_its_time_and_not_before():
    lines = [Line(), Line()]
    idlers = Idlers(10.0, lambda: lines)
    assert [idlers.look(now) for now in (0.0, 9.9)] == [0, 0]
    lines.append(Line())
    assert idlers.look(10.0) == 2
    assert [line.aborted for line in lines] == [True, True, False]
    assert [idlers.look(now) for now in (19.9, 20.0)] == [0, 1]


async def test_a_request_under_way_is_no_idler_and_its_connection_begins_anew_after_it():
    line, answer = Line(), asyncio.Event()
    idlers = Idlers(10.0, lambda: [line])

    class Request:
        transport = line

    async def handler(request):
        await answer.wait()
        return web.Response()

    idlers.look(0.0)
    task = asyncio.ensure_future(idlers.middleware(Request(), handler))
    await asyncio.sleep(0)
    assert [idlers.look(now) for now in (9.0, 1_000.0)] == [0, 0]
    answer.set()
    await task
    assert [idlers.look(now) for now in (1_001.0, 1_010.9, 1_011.0)] == [0, 0, 1]


@pytest.mark.parametrize("words", [b"", b"GET /v1/stream HTTP/1.1\r\nHost: x\r\nX-Half: ", b"GET"])
async def test_a_socket_that_never_asks_is_closed_and_a_listener_is_not(words):
    async with serving(limits__hello_timeout_s=1.5) as server, peer(server.url) as client:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(words)
        assert await asyncio.wait_for(_end(reader), WAIT_S) == b""
        writer.close()
        started = await client.start("still here", rung="pcm22")
        await client.whole_pcm(started.stream)


async def _end(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionError:
        return b""


async def test_closes_are_counted_by_the_code_that_we_gave():
    async with serving() as server, aiohttp.ClientSession() as http:
        async with http.ws_connect(server.url, protocols=("abr-tts.v1",)) as socket:
            await socket.send_bytes(b"\xc1")
            while (await socket.receive()).type not in (
                aiohttp.WSMsgType.CLOSE,
                aiohttp.WSMsgType.CLOSED,
            ):
                pass
            assert socket.close_code == 1008

        async def counted() -> bool:
            async with http.get(server.http_url + "/metrics") as answer:
                return 'abr_tts_connections_closed_total{code="1008"} 1.0' in await answer.text()

        async with asyncio.timeout(WAIT_S):
            while not await counted():
                pass
