"""Connecting: every way in which it can fail is one clear sentence. Real sockets, real TLS."""

import asyncio
import contextlib
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import trustme
from aiohttp import web

from abr_tts.client import Client
from abr_tts.client.dial import stream_url, with_session
from abr_tts.errors import ConnectFailed

from ..server.harness import serving


@contextlib.asynccontextmanager
async def listening(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[int]:
    """A TCP port behind which anything may be; ends what it began."""
    writers: list[asyncio.StreamWriter] = []

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await serve(reader, writer)

    server = await asyncio.start_server(client, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        for writer in writers:
            writer.close()
        server.close()


@contextlib.asynccontextmanager
async def website(handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    """An HTTP server that is not ours."""
    runner = web.ServerRunner(web.Server(handler), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"ws://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def refused(url: str, **options) -> str:
    """The sentence with which connecting fails."""
    with pytest.raises(ConnectFailed) as caught:
        async with Client(url, **options):
            pass
    sentence = str(caught.value)
    assert "\n" not in sentence and "Error(" not in sentence
    return sentence


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("ws://tts:8765", "ws://tts:8765/v1/stream"),
        ("ws://tts:8765/", "ws://tts:8765/v1/stream"),
        ("https://tts", "wss://tts/v1/stream"),
        ("http://[::1]:80", "ws://[::1]/v1/stream"),
        ("wss://tts/behind/a/proxy?a=b", "wss://tts/behind/a/proxy?a=b"),
        ("ws://tts?session=mine", "ws://tts/v1/stream?session=mine"),
    ],
)
def test_an_address_is_completed(url, address):
    assert str(stream_url(url)) == address


def test_a_client_has_a_word_of_its_own_for_proxies_unless_the_address_names_one():
    mine, yours = (with_session(stream_url("ws://tts/?a=b")) for _ in range(2))
    assert mine.query["a"] == "b"
    assert re.fullmatch("[0-9a-f]{32}", mine.query["session"])
    assert mine.query["session"] != yours.query["session"]
    assert with_session(stream_url("ws://tts?session=mine")).query["session"] == "mine"


@pytest.mark.parametrize(
    "url", ["", "localhost:8765", "ftp://tts", "ws://", "ws://tts:port", "ws:tts", "\x00"]
)
def test_what_is_no_address_is_refused_with_an_example(url):
    with pytest.raises(ConnectFailed, match="ws://host:8080"):
        Client(url)


async def test_nobody_listens():
    async with listening(lambda reader, writer: asyncio.sleep(0)) as port:
        pass
    assert await refused(f"ws://127.0.0.1:{port}") == f"no server listens on 127.0.0.1:{port}"


@pytest.mark.parametrize("name", ["a..b", "x" * 70, "-", "a%20b", "999.999.999.999"])
async def test_names_that_cannot_be_are_told_too(name):
    assert name[:20] in await refused(f"ws://{name}:80")


async def test_no_such_name():
    assert (
        await refused("ws://no-such-host.invalid") == "no server is known by the name 'no-such-host.invalid'"
    )


async def test_a_web_server_that_is_not_ours():
    async def page(request: web.Request) -> web.Response:
        return web.Response(text="It works!")

    async with website(page) as url:
        assert "is not an abr-tts server: it answered with HTTP 200" in await refused(url)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "refused the API key"),
        (403, "does not let"),
        (503, "takes no more connections"),
        (404, "is not an"),
    ],
)
async def test_a_status_is_told_in_words(status, words):
    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=status)

    async with website(answer) as url:
        assert words in await refused(url, api_key="a-key")


async def test_a_websocket_that_is_not_ours():
    async def echo(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            await socket.send_bytes(message.data)
        return socket

    async with website(echo) as url:
        assert "not one of an abr-tts server" in await refused(url)


async def test_a_websocket_that_says_nothing():
    async def mute(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=("abr-tts.v1",))
        await socket.prepare(request)
        await socket.receive()
        await socket.receive()
        return socket

    async with website(mute) as url:
        assert "did not answer within 0.3 s" in await refused(url, connect_s=0.3)


@pytest.mark.parametrize("word", [b"\xc1", b"", b"\x80", "text"])
async def test_a_websocket_that_talks_nonsense(word):
    async def babble(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=("abr-tts.v1",))
        await socket.prepare(request)
        await (socket.send_str(word) if isinstance(word, str) else socket.send_bytes(word))
        await socket.receive()
        return socket

    async with website(babble) as url:
        assert "does not speak as an abr-tts server does" in await refused(url, connect_s=1)


async def test_a_websocket_that_hangs_up():
    async def hang_up(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=("abr-tts.v1",))
        await socket.prepare(request)
        await socket.receive()
        await socket.close()
        return socket

    async with website(hang_up) as url:
        assert "hung up before it answered" in await refused(url)


async def test_a_port_that_speaks_something_else():
    async def ssh(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
        writer.close()

    async with listening(ssh) as port:
        assert f"127.0.0.1:{port}" in await refused(f"ws://127.0.0.1:{port}")


async def test_a_port_that_takes_the_connection_and_no_more():
    never = asyncio.Event()
    async with listening(lambda reader, writer: never.wait()) as port:
        assert "did not answer within 0.3 s" in await refused(f"ws://127.0.0.1:{port}", connect_s=0.3)
        never.set()


async def test_a_key_is_asked_for():
    async with serving(auth__keys=("right-key",)) as server:
        assert "refused the API key" in await refused(server.url)
        assert "refused the API key" in await refused(server.url, api_key="wrong-key")
        async with Client(server.url, api_key=" right-key\n") as client:
            assert client.welcome is not None
        for key in ("right\nkey", "schlüssel", "\udcff"):
            with pytest.raises(ConnectFailed, match="cannot be sent"):
                Client(server.url, api_key=key)


async def test_tls_with_a_certificate_trusted_or_not(tmp_path):
    authority = trustme.CA()
    leaf = authority.issue_cert("127.0.0.1")
    leaf.private_key_and_cert_chain_pem.write_to_path(tmp_path / "server.pem")
    pem = str(tmp_path / "server.pem")
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    async with serving(tls__cert_file=pem, tls__key_file=pem) as server:
        assert server.url.startswith("wss://127.0.0.1")
        for options in ({"ssl": trusting}, {"insecure": True}):
            async with Client(server.url, **options) as client:
                speech = client.speak("abc")
                assert len(await speech.read()) and speech.stats.complete
        assert "certificate of 127.0.0.1 is not trusted" in await refused(server.url)
        other_name = server.url.replace("127.0.0.1", "localhost")
        assert "certificate of localhost is not trusted" in await refused(other_name, ssl=trusting)
        assert "wss://" in await refused(server.url.replace("wss://", "ws://"))


async def test_tls_to_a_server_without():
    async with serving() as server:
        sentence = await refused(server.url.replace("ws://", "wss://"))
        assert "does not speak TLS; perhaps it serves ws://" in sentence
