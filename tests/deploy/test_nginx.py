"""
The shipped nginx.conf, with Debian's nginx before three real processes: speech over wss, sticky by
session, a server that dies, one that drains, and what the outside may not see.
"""

import asyncio
import contextlib
import re
import signal
import socket
import ssl
from pathlib import Path

import aiohttp
import numpy as np
import pytest
import shipped

from abr_tts.client import Client
from abr_tts.engine.tone import Options, expected
from abr_tts.server.app import Server
from abr_tts.server.config import Settings
from abr_tts.wire import messages as m

from ..ports import kept_port
from ..server.harness import Peer, eventually, peer, serving
from ..server.test_resume import attach, cut, next_pts, samples
from . import replicas
from .replicas import WAIT_S, Replica

pytestmark = pytest.mark.skipif(not shipped.installed(), reason="nginx is not installed")

KEYS = [f"listener-{number}" for number in range(20)]
PROTOCOLS = ("abr-tts.v1",)
CONF = shipped.HERE / "nginx.conf"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return replicas.certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def three():
    with replicas.three() as started:
        yield started


class Front:
    """The proxy as a client sees it, and the servers behind it."""

    def __init__(self, nginx: shipped.Shipped, servers: list[Replica], trust) -> None:
        self.nginx, self.servers, self.trust = nginx, servers, trust
        self.place = f"127.0.0.1:{nginx.port}"

    def url(self, query: str = "") -> str:
        return f"wss://{self.place}/v1/stream{query}"

    async def serves(self, key: str) -> int:
        """Which server a listener with this session gets."""
        before = [server.opened for server in self.servers]
        async with peer(self.url(f"?session={key}"), tls=self.trust):
            pass
        rise = [server.opened - was for server, was in zip(self.servers, before, strict=True)]
        assert sum(rise) == 1, rise
        return rise.index(1)

    async def answer(self, path: str, **more) -> tuple[int, str, dict]:
        """Status, body and headers of a plain request; the path goes out as it stands."""
        async with aiohttp.ClientSession() as http:
            url = aiohttp.client.URL(f"https://{self.place}{path}", encoded=True)
            async with http.get(url, ssl=self.trust, **more) as response:
                return response.status, await response.text(), dict(response.headers)

    async def speech(self, query: str = "") -> int:
        """Samples of ten characters: 0.6 s at the engine's 24 kHz."""
        async with Client(self.url(query), ssl=self.trust) as client:
            return len(np.concatenate([chunk async for chunk in client.speak("Ten chars.", rung="pcm24")]))


@pytest.fixture
def front(three, certificate):
    with shipped.shipped([server.address for server in three], certificate.files) as nginx:
        yield Front(nginx, three, certificate.trust)


def run(work):
    return asyncio.run(asyncio.wait_for(work, WAIT_S))


async def hear_out(listener: Peer, started: m.StreamStarted) -> np.ndarray:
    """Report until the end has come; a server that has said all closes, and takes no report any more."""
    while not listener.of(m.StreamEnd):
        before = len(listener.messages)
        with contextlib.suppress(ConnectionError):
            await listener.hint(started.stream, next_pts(listener, started.stream))
        await listener.until(lambda before=before: len(listener.messages) > before)
    return await listener.whole_pcm(started.stream)


def test_speech_comes_whole_over_wss_whoever_serves_it(front):
    async def each() -> list[int]:
        return [await front.speech() for _ in front.servers]

    before = [server.opened for server in front.servers]
    assert run(each()) == [14_400] * 3
    assert [server.opened for server in front.servers] != before


def test_a_session_comes_back_to_its_server_and_sessions_spread_over_all(front):
    async def walk() -> list[list[int]]:
        return [[await front.serves(key) for key in KEYS] for _ in range(2)]

    first, second = run(walk())
    assert first == second
    assert set(first) == {0, 1, 2}, "twenty sessions, three servers"


def test_listeners_without_a_session_go_round(front):
    async def walk() -> set[int]:
        return {await front.serves("") for _ in range(6)}

    assert run(walk()) == {0, 1, 2}


def test_who_loses_the_connection_goes_on_in_mid_sentence_where_the_session_leads(front):
    async def walk() -> None:
        async with peer(front.url("?session=tunnel"), tls=front.trust, level=2) as first:
            started = await first.start("A" * 200, rung="pcm24")
            await first.first(m.Audio)
            await cut(first)
        at = next_pts(first, started.stream)
        homes = {key: await front.serves(key) for key in ("tunnel", *KEYS)}
        elsewhere = next(key for key, home in homes.items() if home != homes["tunnel"])
        async with peer(front.url(f"?session={elsewhere}"), tls=front.trust, level=2) as stray:
            await stray.send(attach(started, at))
            assert (await stray.first(m.Error)).code == "resume_lost"
        async with peer(front.url("?session=tunnel"), tls=front.trust, level=2) as second:
            await second.send(attach(started, at))
            again = await second.first(m.StreamStarted, stream_id=started.stream_id)
            await second.first(m.StreamEnd, stream=again.stream)
            heard = np.concatenate([samples(first, started.stream), samples(second, again.stream)])
        assert np.array_equal(heard, expected("A" * 200, options=Options(rate=24_000)))

    run(walk())


def test_a_ticket_opens_the_server_to_which_its_session_leads(front):
    async def ask(key: str, used_by: str) -> int:
        async with aiohttp.ClientSession() as http:
            place = f"https://{front.place}/v1/tickets?session={key}"
            async with http.post(place, ssl=front.trust) as response:
                ticket = (await response.json())["ticket"]
            try:
                url = front.url(f"?session={used_by}&ticket={ticket}")
                async with http.ws_connect(url, protocols=PROTOCOLS, ssl=front.trust):
                    return 101
            except aiohttp.WSServerHandshakeError as refusal:
                return refusal.status

    async def walk() -> None:
        for key in KEYS[:6]:
            assert await ask(key, key) == 101
        here = await front.serves(KEYS[0])
        elsewhere = [key for key in KEYS if await front.serves(key) != here]
        assert await ask(KEYS[0], elsewhere[0]) == 401, "no other server knows it"

    run(walk())


def test_a_word_that_is_no_session_is_none(front):
    async def walk() -> set[int]:
        return {await front.serves("a%20b" + "x" * 100) for _ in range(6)}

    assert run(walk()) == {0, 1, 2}


def test_when_a_server_dies_its_listeners_land_on_another_and_the_others_stay(front):
    async def walk() -> None:
        homes = {key: await front.serves(key) for key in KEYS}
        dead = homes[KEYS[0]]
        async with peer(front.url(f"?session={KEYS[0]}"), tls=front.trust) as listener:
            await listener.start("A long text. " * 20, rung="pcm24")
            await listener.first(m.Audio)
            front.servers[dead].kill()
            assert await listener.closed() == 1006
        assert await front.speech(f"?session={KEYS[0]}") == 14_400
        alive = [server for number, server in enumerate(front.servers) if number != dead]
        for key, home in homes.items():
            before = [server.opened for server in alive]
            async with peer(front.url(f"?session={key}"), tls=front.trust):
                pass
            rise = [server.opened - was for server, was in zip(alive, before, strict=True)]
            assert sum(rise) == 1
            if home != dead:
                assert alive[rise.index(1)] is front.servers[home], f"{key} has moved"

    try:
        run(walk())
    finally:
        for server in front.servers:
            if server.process.poll() is not None:
                server.revive()


def test_a_server_that_drains_finishes_its_speech_and_new_listeners_go_elsewhere(front):
    text = "A" * 80  # 4.8 s, of which little goes ahead while nobody reports

    async def walk() -> None:
        home = await front.serves("tram")
        server = front.servers[home]
        async with peer(front.url("?session=tram"), tls=front.trust, hints=False) as listener:
            started = await listener.start(text, rung="pcm24")
            await listener.first(m.Audio)
            server.terminate()
            await listener.first(m.GoingAway)
            assert await front.speech("?session=tram") == 14_400, "another one serves it"
            assert len(await hear_out(listener, started)) == 4.8 * 24_000
        assert await asyncio.to_thread(server.ends) == 0

    try:
        run(walk())
    finally:
        for server in front.servers:
            if server.process.poll() is not None:
                server.revive()


def test_a_reload_takes_other_servers_and_cuts_no_speech(front):
    servers = front.nginx.said.parent / "nginx.d" / "servers.conf"

    async def walk() -> None:
        async with peer(front.url("?session=tram"), tls=front.trust, hints=False) as listener:
            started = await listener.start("A" * 80, rung="pcm24")
            await listener.first(m.Audio)
            servers.write_text(f"server {front.servers[0].address};\n", "utf-8")
            front.nginx.process.send_signal(signal.SIGHUP)
            while [await front.serves("") for _ in range(3)] != [0, 0, 0]:
                pass  # until the new workers are there; `run` has a time limit
            assert len(await hear_out(listener, started)) == 4.8 * 24_000

    run(walk())


def test_by_address_all_who_come_from_one_carrier_meet_at_one_server(three, certificate):
    async def homes(front: Front, addresses: list[str]) -> set[int]:
        found = set()
        for address in addresses:
            before = [server.opened for server in front.servers]
            connector = aiohttp.TCPConnector(local_addr=(address, 0), ssl=front.trust)
            async with (
                aiohttp.ClientSession(connector=connector) as http,
                http.ws_connect(front.url(), protocols=PROTOCOLS),
            ):
                found |= {n for n, server in enumerate(front.servers) if server.opened > before[n]}
        return found

    places = [server.address for server in three]
    with shipped.shipped(places, certificate.files, balance="ip_hash;") as nginx:
        front = Front(nginx, three, certificate.trust)
        assert len(run(homes(front, [f"127.9.9.{number}" for number in range(1, 13)]))) == 1
        assert run(homes(front, [f"127.{number}.1.1" for number in range(1, 31)])) == {0, 1, 2}


@pytest.mark.parametrize(("trusted", "through"), [("127.0.0.1", "127.9.9.9"), ("", "127.0.0.1")])
def test_a_listener_has_its_own_address_behind_nginx_and_can_lie_about_it_to_nobody(
    certificate, trusted, through
):
    spoofed = {"X-Forwarded-For": "203.0.113.7", "X-Real-IP": "203.0.113.7"}

    async def address(url: str, server: Server) -> str:
        connector = aiohttp.TCPConnector(local_addr=("127.9.9.9", 0), ssl=certificate.trust)
        async with (
            aiohttp.ClientSession(connector=connector, headers=spoofed) as http,
            http.ws_connect(url, protocols=PROTOCOLS),
        ):
            (session,) = await eventually(lambda: server.door.sessions)
            return session._caller.address

    async def walk() -> None:
        async with serving(server__trusted_proxies=trusted) as server:
            at = f"127.0.0.1:{server.port}"
            with contextlib.ExitStack() as stack:
                running = shipped.shipped([at], certificate.files)
                nginx = await asyncio.to_thread(stack.enter_context, running)
                assert await address(f"wss://127.0.0.1:{nginx.port}/v1/stream", server) == through
            await eventually(lambda: not server.door.sessions)
            assert await address(server.url, server) == "127.9.9.9", "nobody believes a stranger"

    run(walk())


@pytest.mark.parametrize(
    "path", ["/metrics", "/admin/policy", "/admin/live", "/ops", "/readyz", "/debug/memory"]
)
def test_what_is_for_operators_does_not_exist_outside(front, path):
    if path in ("/metrics", "/readyz", "/ops"):
        assert front.servers[0].tells(path), "it is there for those who reach the server itself"
    first = path.lstrip("/")
    ways = [
        path,
        f"/{path}",
        f"/v1/..{path}",
        f"/static/..{path}",
        f"/v1/%2e%2e{path}",
        f"/%{ord(first[0]):x}{first[1:]}",
    ]
    for way in ways:
        status, body, _ = run(front.answer(way))
        assert status in (400, 404), way
        assert "abr_tts_" not in body


def test_the_page_is_served_and_only_its_own_origin_may_connect(front):
    async def connect(origin: str) -> int:
        async with aiohttp.ClientSession() as http:
            with contextlib.suppress(aiohttp.WSServerHandshakeError):
                async with http.ws_connect(
                    front.url(), protocols=PROTOCOLS, ssl=front.trust, headers={"Origin": origin}
                ):
                    return 101
        return 403

    status, body, _ = run(front.answer("/"))
    assert status == 200 and "<html" in body
    assert run(connect(f"https://{front.place}")) == 101
    assert run(connect("https://elsewhere.example")) == 403


def test_neither_log_tells_what_stands_in_a_query_even_when_servers_fail(front, certificate):
    async def logged(nginx: shipped.Shipped) -> str:
        """What nginx said, once the line of the connection is there."""
        return await eventually(
            lambda: '"GET /v1/stream"' in (said := nginx.said.read_text("utf-8")) and said
        )

    async def spoken() -> str:
        await front.speech("?session=hush-word")
        return await logged(front.nginx)

    with kept_port() as nobody, shipped.shipped([f"127.0.0.1:{nobody}"], certificate.files) as nginx:
        lonely = Front(nginx, [], certificate.trust)
        headers = {"Referer": "https://hush-page.example", "Authorization": "Bearer hush-key"}
        status, _, told = run(lonely.answer("/v1/stream?ticket=hush-ticket", headers=headers))
        assert (status, told["Retry-After"]) == (503, "1"), "clients try again"
        failed = run(logged(nginx))
    assert f"127.0.0.1:{nobody}" in failed, "the operator sees which one failed"
    assert "hush" not in run(spoken()) + failed


def test_one_address_has_two_hundred_connections_and_no_more(front):
    async def open_many(count: int) -> list[int]:
        async with (
            contextlib.AsyncExitStack() as stack,
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http,
        ):
            statuses = []
            for _ in range(count):
                try:
                    socket = http.ws_connect(front.url(), protocols=PROTOCOLS, ssl=front.trust)
                    await stack.enter_async_context(socket)
                    statuses.append(101)
                except aiohttp.WSServerHandshakeError as refusal:
                    statuses.append(refusal.status)
            return statuses

    assert run(open_many(202)) == [101] * 200 + [429] * 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_old_tls_is_refused(front):
    old = ssl.create_default_context()
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("DEFAULT@SECLEVEL=0")
    old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    old.options |= ssl.OP_NO_TLSv1_2 | ssl.OP_NO_TLSv1_3
    with (
        socket.create_connection(("127.0.0.1", front.nginx.port)) as plain,
        pytest.raises(ssl.SSLError, match="PROTOCOL_VERSION"),  # nginx's own words, by an alert
    ):
        old.wrap_socket(plain)


# What is written


def test_nginx_waits_longer_than_the_server_and_buffers_nothing():
    text = CONF.read_text("utf-8")
    waits = re.findall(r"^ +(?:proxy_read|proxy_send|send)_timeout (\d+)s;", text, re.M)
    assert len(waits) == 3
    assert all(int(wait) > max(60, Settings().limits.idle_timeout_s) for wait in waits)
    assert re.search(r"^ +proxy_buffering off;$", text, re.M)
    assert "sndbuf=32k" in (shipped.HERE / "nginx.d" / "listen.conf").read_text("utf-8")


def written(folder: Path, certificate, balance=None) -> Path:
    return shipped.write(folder, ["127.0.0.1:8765"], certificate.files, "127.0.0.1:8443", balance)


@pytest.mark.parametrize("method", ["ip_hash;", "least_conn;", "hash $abr_tts_session consistent;"])
def test_nginx_takes_the_configuration_with_each_method_that_it_names(tmp_path, certificate, method):
    assert f"{method.rstrip(';')}" in (shipped.HERE / "nginx.d" / "balance.conf").read_text("utf-8")
    good, words = shipped.check(written(tmp_path, certificate, method))
    assert good, words


def test_a_configuration_with_a_slip_is_not_taken(tmp_path, certificate):
    good, words = shipped.check(written(tmp_path, certificate, "least_con;"))
    assert not good and "least_con" in words


def test_an_nginx_that_cannot_listen_is_an_error_with_its_words(tmp_path, certificate):
    missing = tmp_path / "no.pem"
    with pytest.raises(OSError, match=r"no\.pem"), shipped.shipped(["127.0.0.1:1"], (missing, missing)):
        pass
