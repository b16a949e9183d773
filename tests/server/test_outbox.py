"""The outbox on real sockets: in order, as late as can be, and honest about what the kernel has."""

import asyncio
import contextlib
import socket
import ssl
import sys

import aiohttp
import pytest
import trustme
from aiohttp import web

from abr_tts.server.sending.outbox import Entry, Outbox
from abr_tts.server.sending.sockets import listen

from .harness import eventually

SIZE = 4410
"""Bytes of a message: 100 ms of 22 kHz PCM."""


@pytest.fixture(params=["plain", "tls"])
def contexts(request):
    """TLS contexts of server and client, or None and None."""
    if request.param == "plain":
        return None, None
    authority = trustme.CA()
    ours, theirs = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(ours)
    authority.configure_trust(theirs)
    return ours, theirs


class Bench:
    """One WebSocket with an outbox at the server's end; `client` reads only when it is asked to."""

    def __init__(self) -> None:
        self.written: list[Entry] = []
        self.outbox: Outbox | None = None
        self.client: aiohttp.ClientWebSocketResponse | None = None
        self.ready, self.ended, self.news = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handle(self, request: web.Request) -> web.WebSocketResponse:
        ws = web.WebSocketResponse(compress=False, timeout=0.5)
        await ws.prepare(request)
        self.outbox = Outbox(ws, request.transport, self.on_written, close_timeout_s=0.5)
        self.ready.set()
        reading = asyncio.ensure_future(ws.receive())
        await self.outbox.wait_closed()
        reading.cancel()
        await asyncio.wait([reading])
        self.ended.set()
        return ws

    def on_written(self, entry: Entry, at: float) -> None:
        self.written.append(entry)
        self.news.set()

    async def quiet(self) -> None:
        """All is written, or the reader is stalled and every buffer is full: four looks see the same."""
        seen: list[tuple[int, ...]] = []
        while len(seen) < 4 or len(set(seen[-4:])) > 1:
            self.news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.news.wait(), 0.1)
            sample = self.outbox.sample()
            seen.append(
                (len(self.written), self.outbox.queued_bytes, sample.unacked_bytes, sample.user_bytes)
            )

    def stall(self) -> None:
        """The client reads no more, and its kernel takes little."""
        transport = self.client._response.connection.transport
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        transport.pause_reading()

    async def read(self, count: int) -> list[bytes]:
        self.client._response.connection.transport.resume_reading()
        return [(await self.client.receive()).data for _ in range(count)]


@contextlib.asynccontextmanager
async def bench(contexts):
    ours, theirs = contexts
    made = Bench()
    app = web.Application()
    app.router.add_get("/", made.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    (listener,) = listen("127.0.0.1", 0, 16, 60.0)
    url = f"{'wss' if ours else 'ws'}://127.0.0.1:{listener.getsockname()[1]}/"
    await web.SockSite(runner, listener, ssl_context=ours).start()
    async with (
        aiohttp.ClientSession() as http,
        http.ws_connect(url, ssl=theirs or True, max_msg_size=0) as client,
    ):
        made.client = client
        await made.ready.wait()
        try:
            async with asyncio.timeout(20):
                yield made
        finally:
            connection = client._response.connection
            if connection and connection.transport:
                connection.transport.abort()  # a client that does not read would wait for our goodbye
    await runner.cleanup()


def numbered(count: int, owner: object = None) -> list[Entry]:
    return [Entry(number.to_bytes(4, "big") + bytes(SIZE - 4), owner) for number in range(count)]


async def test_messages_arrive_in_order_and_each_is_told_once(contexts):
    async with bench(contexts) as made:
        entries = numbered(200)
        for entry in entries:
            made.outbox.put(entry)
        assert await made.read(200) == [entry.data for entry in entries]
        await eventually(lambda: len(made.written) == 200)
        assert made.written == entries


async def test_with_a_stalled_reader_one_message_at_most_is_under_way_and_the_rest_can_be_taken_back(
    contexts,
):
    async with bench(contexts) as made:
        owner, other = object(), object()
        made.stall()
        for entry in numbered(2000, owner):
            made.outbox.put(entry)
        last = Entry(b"last", other)
        made.outbox.put(last)
        await made.quiet()
        sample = made.outbox.sample()
        told = len(made.written)
        assert 0 < told < 500  # what the client's kernel and TLS took
        assert sample.user_bytes <= SIZE + 100
        # What counts as written is in the kernel, to the byte: one message at most is under way.
        taken, rest = divmod(2000 * SIZE + 4 - made.outbox.queued_bytes, SIZE)
        assert rest == 0 and taken - told in (0, 1)
        made.outbox.discard(owner)
        assert made.outbox.queued_bytes == 4
        got = await made.read(taken + 1)
        assert got[-1] == b"last"
        assert [data[:4] for data in got[:-1]] == [n.to_bytes(4, "big") for n in range(taken)]
        await eventually(lambda: made.written[-1] is last)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="SIOCOUTQ is Linux's")
async def test_the_kernels_sample_counts_what_is_not_acknowledged_and_falls_to_nothing(contexts):
    async with bench(contexts) as made:
        made.stall()
        for entry in numbered(1000):
            made.outbox.put(entry)
        await made.quiet()
        full = made.outbox.sample()
        assert 0 < full.unacked_bytes < 200_000
        assert 0 < full.min_rtt_ms < 1000
        await made.read(1000)
        await made.quiet()
        empty = made.outbox.sample()
        assert (empty.unacked_bytes, empty.user_bytes) == (0, 0)


async def test_a_close_comes_after_what_is_queued_and_nothing_after_it(contexts):
    async with bench(contexts) as made:
        made.outbox.put(Entry(b"one"))
        made.outbox.close(1012, "stopping " + "ü" * 200)
        made.outbox.put(Entry(b"never"))
        assert await made.read(1) == [b"one"]
        message = await made.client.receive()
        assert message.type is aiohttp.WSMsgType.CLOSE
        assert message.data == 1012
        assert message.extra.startswith("stopping ü") and len(message.extra.encode()) <= 123
        await made.ended.wait()


async def test_a_close_does_not_wait_for_ever_for_a_reader_that_does_not_read(contexts):
    async with bench(contexts) as made:
        made.stall()
        for entry in numbered(2000):
            made.outbox.put(entry)
        await made.quiet()
        made.outbox.close(1000, "")
        await made.ended.wait()
        assert made.outbox.sample() is None
        assert made.outbox.user_bytes == 0


async def test_a_lost_connection_ends_the_writer_and_the_message_under_way_is_not_told(contexts):
    async with bench(contexts) as made:
        made.stall()
        for entry in numbered(2000):
            made.outbox.put(entry)
        await made.quiet()
        told = len(made.written)
        made.client._response.connection.transport.abort()
        await made.ended.wait()
        assert len(made.written) == told


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the options are Linux's")
async def test_accepted_sockets_inherit_the_listeners_options(contexts):
    async with bench(contexts) as made:
        sock = made.outbox._transport.get_extra_info("socket")
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        assert sock.getsockopt(socket.IPPROTO_TCP, 25) == 4096
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 60_000
        with contextlib.suppress(OSError):  # older kernels know no such option
            assert sock.getsockopt(socket.IPPROTO_TCP, 44) == 1000
