"""Before a WebSocket exists: paths, keys, origins, subprotocols, deflate, certificates, ports."""

import asyncio
import re
import socket
import ssl

import aiohttp
import pytest
import trustme

from abr_tts.errors import ConfigError, EngineError, MissingDependency
from abr_tts.server.access.refused import EVERY_S, RefusedPages
from abr_tts.server.app import Server
from abr_tts.server.config import load
from abr_tts.wire import messages as m

from .harness import TONE, eventually, held_python, peer, serving, serving_in_a_thread

KEY = "correct-horse-battery"


@pytest.fixture(scope="module")
def door():
    with serving_in_a_thread(auth__keys=(KEY,), auth__origins=("https://app.example",)) as server:
        yield server


def bearer(key: str = KEY) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


async def handshake(url: str, protocols=("abr-tts.v1",), **kwargs) -> int:
    """The HTTP status that answers the upgrade."""
    async with aiohttp.ClientSession() as http:
        try:
            async with http.ws_connect(url, protocols=protocols, **kwargs):
                return 101
        except aiohttp.WSServerHandshakeError as error:
            return error.status


async def get(url: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as http, http.get(url) as answer:
        return answer.status, await answer.text()


async def test_a_key_opens_the_door_and_without_one_it_stays_shut_before_the_upgrade(door):
    assert await handshake(door.url, headers=bearer()) == 101
    assert await handshake(door.url) == 401
    assert await handshake(door.url, headers=bearer("wrong")) == 401


async def test_a_browsers_key_in_the_subprotocols_opens_too_and_is_not_echoed(door):
    async with peer(door.url, protocols=("abr-tts.v1", f"abr-tts.key.{KEY}")) as client:
        assert client.socket.protocol == "abr-tts.v1"


async def test_a_foreign_page_is_shut_out_and_a_listed_one_let_in(door):
    assert await handshake(door.url, headers=bearer() | {"Origin": "https://evil.example"}) == 403
    assert await handshake(door.url, headers=bearer() | {"Origin": "https://app.example"}) == 101
    assert await handshake(door.url, headers=bearer() | {"Origin": door.http_url}) == 101


async def test_the_log_tells_once_which_page_was_refused_and_no_key(caplog):
    async with serving(auth__keys=(KEY,)) as server:
        for origin in ("https://evil.example", "https://other.example"):
            assert await handshake(server.url, headers=bearer() | {"Origin": origin}) == 403
    (line,) = [one.getMessage() for one in caplog.records if "refused a page" in one.getMessage()]
    assert "https://evil.example" in line and line.isascii() and "auth.origins" in line and KEY not in line


def test_refused_pages_are_told_once_a_minute_with_a_count_of_the_others(caplog):
    pages = RefusedPages()
    for now in (0.0, 1.0, EVERY_S - 0.1, EVERY_S, EVERY_S * 2):
        pages.note("https://a.example" + "x" * 1000 + "\n", now)
    lines = [one.getMessage() for one in caplog.records]
    assert len(lines) == 3 and all(len(line) < 250 and "\n" not in line for line in lines)
    assert "2 more" in lines[1] and "more" not in lines[0] + lines[2]


@pytest.mark.parametrize(
    ("headers", "status", "words"),
    [
        ({}, 401, "an API key is needed"),
        ({"Origin": "https://evil.example"}, 403, "pages of this origin"),
        ({"Authorization": f"Bearer {KEY}"}, 426, "WebSocket"),
        ({"Authorization": f"Bearer {KEY}", "Upgrade": "websocket"}, 400, "subprotocol"),
    ],
)
async def test_every_refusal_before_the_upgrade_is_json(door, headers, status, words):
    async with (
        aiohttp.ClientSession() as http,
        http.get(door.http_url + "/v1/stream", headers=headers) as answer,
    ):
        assert (answer.status, answer.content_type) == (status, "application/json")
        assert words in (await answer.json())["error"]


@pytest.mark.parametrize("protocols", [(), ("abr-tts.v2",), ("chat",)])
async def test_without_our_subprotocol_the_answer_is_400(door, protocols):
    assert await handshake(door.url, protocols=protocols, headers=bearer()) == 400


async def test_a_plain_request_at_the_streams_address_is_told_that_it_is_a_websocket(door):
    async with (
        aiohttp.ClientSession() as http,
        http.get(door.http_url + "/v1/stream", headers=bearer()) as answer,
    ):
        assert answer.status == 426
        assert "abr-tts.v1" in await answer.text()


async def test_a_client_that_offers_deflate_does_not_get_it(door):
    async with (
        aiohttp.ClientSession() as http,
        http.ws_connect(door.url, protocols=("abr-tts.v1",), headers=bearer(), compress=15) as client,
    ):
        assert client.compress == 0
        assert "Sec-WebSocket-Extensions" not in client._response.headers


async def test_health_readiness_and_metrics_are_there_without_a_key(door):
    assert (await get(door.http_url + "/healthz"))[0] == 200
    status, body = await get(door.http_url + "/readyz")
    assert status == 200 and '"ready": true' in body and '"workers_ready": 1' in body
    status, body = await get(door.http_url + "/metrics")
    assert status == 200
    assert "abr_tts_engine_workers_ready 1.0" in body
    assert KEY not in body


async def test_one_connection_more_than_the_limit_is_sent_away_with_retry_after():
    async with serving(limits__connections=1, limits__retry_after_s=7.0) as server:
        async with peer(server.url):
            async with aiohttp.ClientSession() as http:
                with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                    await http.ws_connect(server.url, protocols=("abr-tts.v1",))
            assert caught.value.status == 503
            assert caught.value.headers["Retry-After"] == "7"
        await eventually(lambda: server._admission.connections == 0)
        async with peer(server.url):
            pass  # the place is free again


# ---- certificates


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


def written(folder, authority, name="127.0.0.1"):
    cert = authority.issue_cert(name)
    paths = folder / f"{name}.cert.pem", folder / f"{name}.key.pem"
    cert.cert_chain_pems[0].write_to_path(str(paths[0]))
    cert.private_key_pem.write_to_path(str(paths[1]))
    return paths


async def test_speech_comes_whole_over_tls(tmp_path, authority):
    cert, key = written(tmp_path, authority)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    async with serving(tls__cert_file=str(cert), tls__key_file=str(key)) as server:
        assert server.url.startswith("wss://")
        async with peer(server.url, tls=trusting) as client:
            started = await client.start("hello over tls", rung="pcm22")
            assert len(await client.whole_pcm(started.stream)) > 0


def refused_start(**overrides) -> str:
    async def start():
        server = Server(load(overrides=TONE | overrides))
        await server.start()

    with pytest.raises((ConfigError, EngineError, MissingDependency)) as caught:
        asyncio.run(start())
    told = str(caught.value)
    assert "\n" not in told
    return told


def test_a_certificate_that_is_missing_is_named(tmp_path, authority):
    _, key = written(tmp_path, authority)
    told = refused_start(**{"tls.cert_file": str(tmp_path / "none.pem"), "tls.key_file": str(key)})
    assert told == f"tls.cert_file: cannot read {tmp_path / 'none.pem'}: No such file or directory"


def test_a_file_that_is_no_certificate_and_a_key_of_another_one_are_refused(tmp_path, authority):
    cert, key = written(tmp_path, authority)
    _, other = written(tmp_path, authority, "other.example")
    garbage = tmp_path / "garbage.pem"
    garbage.write_text("not a certificate")
    assert "PEM" in refused_start(**{"tls.cert_file": str(garbage), "tls.key_file": str(key)})
    assert "is not that of" in refused_start(**{"tls.cert_file": str(cert), "tls.key_file": str(other)})


# ---- ports and engines


def test_a_port_in_use_is_told_in_one_sentence():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert refused_start(**{"server.port": port}) == (
            f"port {port} on 127.0.0.1 is in use by another program; choose another with --port"
        )


def test_an_address_of_another_machine_is_told_in_one_sentence():
    assert "is not an address of this machine" in refused_start(**{"server.host": "203.0.113.7"})


async def test_a_server_listens_on_ipv6_and_its_url_says_so():
    async with serving(server__host="::1") as server:
        assert server.url.startswith("ws://[::1]:")
        async with peer(server.url) as client:
            assert client.of(m.Welcome)


def test_an_engine_that_does_not_start_is_told_in_one_sentence():
    told = refused_start(**{"engine.python": "/nowhere/python"})
    assert "/nowhere/python" in told


async def test_until_the_engine_has_loaded_readyz_says_no_and_a_stream_is_told_to_come_back(tmp_path):
    with held_python(tmp_path) as (python, go_on):
        server = Server(load(overrides=TONE | {"engine.python": python}))
        starting = asyncio.ensure_future(server.start())
        await server.listening.wait()
        async with peer(server.url) as client:
            status, body = await get(server.http_url + "/readyz")
            told = await client.refused("too early")
            assert (told.code, told.scope, told.retry_after) == ("busy", "stream", 1.0)
            assert status == 503 and '"ready": false' in body
            status, body = await get(server.http_url + "/metrics")
            assert status == 200 and "\nabr_tts_engine_workers_ready 0.0\n" in body
            assert 0 <= float(re.search(r"^abr_tts_engine_loaded (\S+)$", body, re.M)[1]) < 1
            assert not starting.done()
            go_on()
            await starting
            assert "\nabr_tts_engine_loaded 1.0\n" in (await get(server.http_url + "/metrics"))[1]
            assert (await get(server.http_url + "/readyz"))[0] == 200
            assert await client.start("now")
        await server.stop()


@pytest.mark.parametrize("path", ["/healthz", "/metrics", "/v1/stream", "/nowhere", "/admin/live"])
async def test_every_answer_forbids_browsers_to_guess_run_or_frame_it(door, path):
    async with aiohttp.ClientSession() as http, http.get(door.http_url + path) as answer:
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        assert ("Access-Control-Allow-Origin" in answer.headers) == (path == "/v1/stream")


async def test_a_page_of_elsewhere_can_read_why_it_is_refused(door):
    headers = {"Origin": "https://elsewhere.example"}
    async with (
        aiohttp.ClientSession() as http,
        http.get(door.url.replace("ws", "http", 1), headers=headers) as no,
    ):
        assert (no.status, no.headers["Access-Control-Allow-Origin"]) == (403, "*")
