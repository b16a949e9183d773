"""A socket that is given little: over TCP and TLS alike, and as it was before when it is let go of."""

import asyncio
import contextlib
import ssl

import aiohttp
import pytest
import trustme
from aiohttp import web

from abr_tts.server.doors.valve import Valve
from abr_tts.server.sending.sockets import listen

from ..harness import WAIT_S, eventually

PIECE = bytes(4_800)


class Writer:
    """A server of HTTP that writes pieces through a valve, as many as it is told to."""

    def __init__(self) -> None:
        self.pieces, self.patience_s = 10, WAIT_S
        self.valve: Valve | None = None
        self.lost, self.over = asyncio.Event(), asyncio.Event()
        self.idle = False
        """After the pieces it has nothing to write, and waits to be told that nobody listens."""
        self.fault: Exception | None = None
        self.written = 0

    async def write(self, request: web.Request) -> web.StreamResponse:
        before = request.transport.get_protocol()
        self.valve = Valve(request.transport, self.lost.set)
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            for _ in range(self.pieces):
                if not await self.valve.ready(self.patience_s):
                    break
                await response.write(PIECE)
                self.written += len(PIECE)
            if self.idle:
                await self.lost.wait()
        except TimeoutError as fault:
            self.fault = fault
            request.transport.abort()
        finally:
            self.valve.close()
            self.over.set()
        assert request.transport is None or request.transport.get_protocol() is before
        return response


@pytest.fixture(params=[False, True], ids=["tcp", "tls"])
def world(request):
    @contextlib.asynccontextmanager
    async def running():
        server, client = None, True
        if request.param:
            authority = trustme.CA()
            server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            authority.issue_cert("127.0.0.1").configure_cert(server)
            client = ssl.create_default_context()
            authority.configure_trust(client)
        writer, app = Writer(), web.Application()
        app.router.add_get("/", writer.write)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        (sock,) = listen("127.0.0.1", 0, 10, 60.0)
        await web.SockSite(runner, sock, ssl_context=server).start()
        url = f"{'https' if request.param else 'http'}://127.0.0.1:{sock.getsockname()[1]}/"
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=client), read_bufsize=1_024
        ) as http:
            try:
                yield writer, http, url
            finally:
                await runner.cleanup()

    return running


async def held_up(writer: Writer) -> None:
    """Until what it has written stays the same for 20 looks."""
    sizes: list[int] = []

    def still() -> bool:
        sizes.append(writer.written)
        return len(sizes) > 20 and sizes[-1] == sizes[-20]

    await eventually(still)


async def test_everything_arrives_and_the_connection_serves_the_next_request(world):
    async with world() as (writer, http, url):
        connections = set()
        for _ in range(3):
            async with asyncio.timeout(WAIT_S), http.get(url) as answer:
                connections.add(answer.connection.transport)
                assert len(await answer.read()) == 10 * len(PIECE)
        assert len(connections) == 1 and not writer.lost.is_set()


async def test_a_reader_who_reads_nothing_is_given_little_and_then_everything(world):
    async with world() as (writer, http, url):
        writer.pieces = 2_000
        async with asyncio.timeout(WAIT_S), http.get(url) as answer:
            await answer.content.readany()
            await held_up(writer)
            held = writer.valve.sample()
            assert held.unacked_bytes + held.user_bytes < writer.written < 8_000_000
            assert held.user_bytes <= len(PIECE) + 100
            rest = await answer.read()
            assert len(rest) > 9_000_000


@pytest.mark.parametrize(("pieces", "idle"), [(100_000, False), (1, True)])
async def test_whoever_writes_or_waits_knows_at_once_of_a_client_that_leaves(world, pieces, idle):
    async with world() as (writer, http, url):
        writer.pieces, writer.idle = pieces, idle
        answer = await http.get(url)
        await answer.content.readany()
        answer.close()
        async with asyncio.timeout(WAIT_S / 2):  # its patience is longer
            await writer.over.wait()
        assert writer.valve.gone and writer.valve.sample() is None
        assert writer.lost.is_set() or not idle


async def test_a_reader_who_reads_nothing_for_too_long_is_given_up(world):
    async with world() as (writer, http, url):
        writer.pieces, writer.patience_s = 100_000, 0.2
        answer = await http.get(url)
        await eventually(lambda: writer.fault)
        assert isinstance(writer.fault, TimeoutError)
        answer.close()


@pytest.mark.parametrize("patience_s", [0.0, 0.3])
async def test_who_waits_for_a_reader_waits_no_longer_than_a_hurry_leaves_him(world, patience_s):
    async with world() as (writer, http, url):
        writer.pieces, writer.patience_s = 100_000, 600.0
        answer = await http.get(url)
        await answer.content.readany()
        await held_up(writer)
        writer.valve.hurry(patience_s)
        async with asyncio.timeout(WAIT_S):
            await writer.over.wait()
        assert isinstance(writer.fault, TimeoutError)
        answer.close()


async def test_a_reader_who_reads_notices_no_hurry(world):
    async with world() as (writer, http, url):
        writer.pieces = 200
        async with asyncio.timeout(WAIT_S), http.get(url) as answer:
            await answer.content.readany()
            writer.valve.hurry(WAIT_S)
            await answer.read()
        assert writer.written == 200 * len(PIECE) and writer.fault is None
