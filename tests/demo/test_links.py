"""The page's own link: through real sockets, spoilt while it speaks, and nobody else's business."""

import asyncio
import contextlib
import json
import uuid

import aiohttp
import pytest

from abr_tts.demo.links import LEAST_KBPS, MOST_KBPS, MOST_LINKS, MOST_USERS, Links
from abr_tts.server.app import Server
from abr_tts.server.config import load
from abr_tts.wire import messages as m

from ..server.harness import TONE, eventually, peer

LINK = "a-links-id"


@contextlib.asynccontextmanager
async def demonstrating(**overrides):
    """A server whose pages may spoil their links."""
    server = Server(load(overrides=TONE | {k.replace("__", "."): v for k, v in overrides.items()}))
    Links(server).open()
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def put(server, link: str = LINK, headers=None, **body) -> tuple[int, str]:
    url = f"{server.http_url}/demo/links/{link}"
    async with aiohttp.ClientSession() as http, http.put(url, json=body, headers=headers) as answer:
        return answer.status, await answer.text()


def through(server, link: str = LINK, **more):
    return peer(f"{server.http_url.replace('http', 'ws')}/demo/links/{link}/stream", **more)


def run(coroutine):
    async def limited():
        async with asyncio.timeout(30):
            return await coroutine

    return asyncio.run(limited())


def test_speech_comes_through_a_link_bit_for_bit():
    async def main():
        async with demonstrating() as server, through(server) as near, peer(server.url) as direct:
            started = [await one.start("One two three.", rung="pcm22") for one in (near, direct)]
            heard = [await one.whole_pcm(s.stream) for one, s in zip((near, direct), started, strict=True)]
            assert len(heard[0]) > 5_000 and (heard[0] == heard[1]).all()

    run(main())


def test_a_link_that_dies_while_it_speaks_holds_everything_and_lets_it_through_later():
    async def main():
        async with demonstrating() as server, through(server) as near, peer(server.url) as direct:
            assert (await put(server, kbps=0))[0] == 200
            await near.send(m.StreamStart(str(uuid.uuid4()), "One two three.", rung="pcm22"))
            other = await direct.start("One two three.", rung="pcm22")
            await direct.first(m.StreamEnd, stream=other.stream)  # nobody else's link is touched
            assert near.of(m.StreamStarted) == []
            assert (await put(server, kbps=5000))[0] == 200
            started = await near.first(m.StreamStarted)
            assert len(await near.whole_pcm(started.stream)) > 5_000

    run(main())


def test_a_links_rate_bounds_what_arrives():
    async def main():
        async with demonstrating() as server:
            await put(server, kbps=200, delay_ms=20)
            async with through(server) as near:
                begin = near.received
                at = asyncio.get_running_loop().time()
                await near.start("one two three four five six seven eight. " * 4, rung="pcm22")
                await near.until(lambda: near.received - begin > 75_000)
                return (near.received - begin) * 8 / 1000 / (asyncio.get_running_loop().time() - at)

    # Some 4 % go into TCP's headers, and a queue's worth comes from both kernels.
    assert 120 < run(main()) <= 210


def test_the_servers_close_code_reaches_the_page():
    async def main():
        async with demonstrating() as server, through(server, hello=False) as near:
            await near.socket.send_bytes(b"\xc1")
            direct_code = await near.closed()
            async with peer(server.url, hello=False) as direct:
                await direct.socket.send_bytes(b"\xc1")
                assert direct_code == await direct.closed()

    run(main())


@pytest.mark.parametrize(
    ("link", "body", "status"),
    [
        (LINK, {"kbps": MOST_KBPS, "delay_ms": 2000}, 200),
        (LINK, {}, 200),
        (LINK, {"kbps": MOST_KBPS + 1}, 400),
        (LINK, {"delay_ms": 2001}, 400),
        (LINK, {"kbps": -1}, 400),
        (LINK, {"kbps": 1e-300}, 400),
        (LINK, {"kbps": 0.999}, 400),
        (LINK, {"kbps": LEAST_KBPS}, 200),
        (LINK, {"kbps": float("nan")}, 400),
        (LINK, {"kbps": True}, 400),
        (LINK, {"kbps": "40"}, 400),
        (LINK, {"loss": 0.1}, 400),
        ("a" * 8, {}, 200),
        ("a" * 7, {}, 400),
        ("a" * 64, {}, 200),
        ("a" * 65, {}, 400),
        ("a.b.c.d.e", {}, 400),
    ],
)
def test_bounds_of_a_link_are_kept_and_told(link, body, status):
    async def main():
        async with demonstrating() as server:
            return await put(server, link, **body)

    got, words = run(main())
    assert got == status, words
    if status == 200:
        assert json.loads(words).keys() == {"kbps", "delay_ms"}


def test_links_are_many_and_not_endless_and_one_in_use_is_not_taken_away():
    async def main():
        async with demonstrating() as server:
            await put(server, kbps=123)
            async with through(server) as near:
                for number in range(MOST_LINKS):
                    assert (await put(server, f"another-{number}"))[0] == 200
                assert json.loads((await put(server))[1])["kbps"] == 123
                await near.start("One.", rung="pcm22")
            forgotten = json.loads((await put(server, "another-0", delay_ms=1))[1])
            assert forgotten == {"kbps": MOST_KBPS, "delay_ms": 1}

    run(main())


def test_one_link_takes_some_connections_and_not_one_more():
    async def main():
        async with demonstrating() as server, contextlib.AsyncExitStack() as stack:
            for _ in range(MOST_USERS):
                await stack.enter_async_context(through(server))
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                async with through(server):
                    pass
            assert (refused.value.status, refused.value.headers["Retry-After"]) == (503, "10")
            async with through(server, "another-link"):
                pass

    run(main())


def test_a_page_on_a_dead_link_is_told_to_try_again(monkeypatch):
    async def main():
        async with demonstrating() as server:
            await put(server, kbps=0)
            with monkeypatch.context() as soon:
                soon.setattr("abr_tts.demo.links.JOIN_S", 0.1)
                with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                    async with through(server):
                        pass
            assert refused.value.status == 503
            await put(server, kbps=5_000)
            async with through(server) as near:
                await near.start("One.", rung="pcm22")

    run(main())


def test_keys_and_origins_bind_here_as_at_the_front_door():
    async def main():
        async with demonstrating(auth__keys=("a-key",)) as server:
            assert (await put(server))[0] == 401
            headers = {"Authorization": "Bearer a-key"}
            assert (await put(server, headers=headers))[0] == 200
            foreign = headers | {"Origin": "https://elsewhere.example"}
            assert (await put(server, headers=foreign))[0] == 403
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                async with through(server):
                    pass
            assert refused.value.status == 401
            async with through(server, protocols=("abr-tts.v1", "abr-tts.key.a-key")) as near:
                await near.start("One.", rung="pcm22")

    run(main())


def test_a_page_fetches_the_decisions_of_its_own_stream_and_guesses_no_other(tmp_path):
    async def main():
        async with demonstrating(record__dir=str(tmp_path)) as server, aiohttp.ClientSession() as http:
            async with through(server) as near:
                started = await near.start("One two three.")
                await near.first(m.StreamEnd, stream=started.stream)
            url = f"{server.http_url}/demo/traces/"
            await eventually(lambda: b'"end"' in b"".join(p.read_bytes() for p in tmp_path.iterdir()))
            async with http.get(url + started.stream_id.upper()) as answer:
                lines = (await answer.text()).splitlines()
                assert answer.status == 200 and "attachment" in answer.headers["Content-Disposition"]
            assert "policy_sha256" in json.loads(lines[0]) and json.loads(lines[-1])["end"]
            assert "three" not in "".join(lines)
            for wrong in (str(uuid.uuid4()), "*", "..%2f..%2fetc%2fpasswd", started.stream_id[:-1] + "*"):
                async with http.get(url + wrong) as answer:
                    assert answer.status == 404

    run(main())


def test_without_the_demonstration_there_is_no_such_door():
    async def main():
        server = Server(load(overrides=TONE))
        await server.start()
        try:
            assert (await put(server))[0] == 404
            async with (
                aiohttp.ClientSession() as http,
                http.get(f"{server.http_url}/page.json") as answer,
            ):
                assert not (await answer.json()).get("demo")
        finally:
            await server.stop()

    run(main())


def test_a_server_with_a_dead_link_stops_in_time():
    async def main():
        loop = asyncio.get_running_loop()
        async with demonstrating(limits__close_timeout_s=0.2) as server, through(server) as near:
            await near.start("one two three four five. " * 3, rung="pcm22")
            await put(server, kbps=0)
            begin = loop.time()
            await server.stop()
            assert loop.time() - begin < 5

    run(main())
