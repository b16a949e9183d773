"""Tickets: got with a key, good for one connection, soon, and for no more than they say."""

import asyncio
import time

import aiohttp
import jwt
import pytest

from abr_tts.server.access.tickets import Grant, Tickets
from abr_tts.wire import messages as m

from .harness import WAIT_S, eventually, peer, serving

ANNA = Grant("anna", "digest")
KEYS = {"auth__keys": ("anna:first-key", "second-key"), "auth__origins": ("https://app.example",)}
FIRST = {"Authorization": "Bearer first-key"}


def test_a_ticket_opens_once_and_only_until_its_time():
    tickets = Tickets(60.0, 10, 10)
    early, late = tickets.issue(ANNA, 0.0), tickets.issue(ANNA, 0.0)
    assert tickets.look(early, "", 59.9) == ANNA
    assert tickets.use(early, "", 59.9) == ANNA
    assert tickets.use(early, "", 59.9) is None
    assert tickets.use(late, "", 60.0) is None
    assert len(tickets) == 0


def test_as_many_are_out_as_may_be_and_not_one_more():
    tickets = Tickets(60.0, 2, 2)
    first = tickets.issue(ANNA, 0.0)
    assert first and tickets.issue(ANNA, 10.0)
    assert tickets.issue(ANNA, 20.0) is None
    assert tickets.soonest_s(ANNA, 20.0) == 40.0
    assert tickets.use(first, "", 20.0)
    assert tickets.issue(ANNA, 20.0)
    assert tickets.issue(ANNA, 69.9) is None
    assert tickets.issue(ANNA, 70.0)


def test_a_key_has_its_share_and_leaves_the_rest_to_others():
    tickets, others = Tickets(60.0, 4, 2), Grant("", "other")
    assert tickets.issue(others, 0.0)
    first = tickets.issue(ANNA, 10.0)
    assert first and tickets.issue(ANNA, 10.0)
    assert tickets.issue(ANNA, 20.0) is None
    assert tickets.soonest_s(ANNA, 20.0) == 50.0
    assert tickets.issue(others, 20.0)
    assert tickets.use(first, "", 20.0)
    assert tickets.issue(ANNA, 20.0)
    assert tickets.issue(ANNA, 69.9) is None
    assert tickets.issue(ANNA, 70.0)


def test_where_there_are_no_keys_nobody_has_a_share():
    tickets = Tickets(60.0, 3, 1)
    assert tickets.issue(Grant("", ""), 0.0) and tickets.issue(Grant("", ""), 0.0)


def test_a_ticket_of_a_page_opens_for_that_page_alone_and_is_not_used_up_by_another():
    tickets = Tickets(60.0, 10, 10)
    ticket = tickets.issue(Grant("", "", origin="https://app.example"), 0.0)
    assert tickets.use(ticket, "https://evil.example", 0.0) is None
    assert tickets.use(ticket, "", 0.0) is None
    assert tickets.use(ticket, "https://app.example", 0.0)


@pytest.mark.parametrize("guess", ["", "x", "x" * 1_000_000, "é", "\udc80"])
def test_what_is_no_ticket_opens_nothing(guess):
    tickets = Tickets(60.0, 10, 10)
    tickets.issue(ANNA, 0.0)
    assert tickets.use(guess, "", 0.0) is None


# ---- over HTTP


async def post(server, headers=FIRST, **body):
    async with (
        aiohttp.ClientSession() as http,
        http.post(server.http_url + "/v1/tickets", json=body, headers=headers) as answer,
    ):
        text = await answer.text()
        assert answer.content_type == "application/json", text
        return answer.status, await answer.json(), answer.headers


async def ticket_of(server, **body) -> str:
    status, answer, _ = await post(server, **body)
    assert status == 200, answer
    return answer["ticket"]


async def refused_with(url: str, **headers) -> int:
    async with aiohttp.ClientSession() as http:
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            await http.ws_connect(url, protocols=("abr-tts.v1",), headers=headers)
        return caught.value.status


async def test_a_ticket_lets_a_page_in_once_under_the_name_of_its_key():
    async with serving(**KEYS) as server:
        status, answer, headers = await post(server)
        assert (status, answer["expires_s"], headers["Cache-Control"]) == (200, 60.0, "no-store")
        url = f"{server.url}?ticket={answer['ticket']}"
        async with peer(url) as client:
            await client.start("hello", rung="pcm22")
            (session,) = server._front.sessions
            assert session._caller.key_name == "anna"
        assert await refused_with(url) == 401


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer third-key"}])
async def test_without_a_key_there_is_no_ticket(headers):
    async with serving(**KEYS) as server:
        assert (await post(server, headers=headers))[0] == 401


async def test_a_ticket_gets_no_ticket_and_a_bad_one_is_not_helped_by_a_good_key():
    async with serving(**KEYS) as server:
        ticket = await ticket_of(server)
        async with (
            aiohttp.ClientSession() as http,
            http.post(f"{server.http_url}/v1/tickets?ticket={ticket}") as answer,
        ):
            assert answer.status == 401
        assert await refused_with(f"{server.url}?ticket=none", **FIRST) == 401


async def test_asking_without_an_upgrade_does_not_use_a_ticket_up():
    async with serving(**KEYS) as server:
        url = f"{server.url}?ticket={await ticket_of(server)}"
        async with aiohttp.ClientSession() as http, http.get(url.replace("ws", "http", 1)) as answer:
            assert answer.status == 426
        async with peer(url):
            pass


async def test_origins_bind_with_tickets_too():
    async with serving(**KEYS) as server:
        bound = f"{server.url}?ticket={await ticket_of(server, origin='https://app.example/')}"
        assert await refused_with(bound, Origin="https://evil.example") == 403
        assert await refused_with(bound, Origin=server.http_url) == 401
        async with peer(bound, headers={"Origin": "https://app.example"}):
            pass
        free = f"{server.url}?ticket={await ticket_of(server)}"
        assert await refused_with(free, Origin="https://evil.example") == 403


async def test_a_ticket_lets_its_connection_ask_for_so_many_speeches_and_characters():
    async with serving(**KEYS) as server:
        ticket = await ticket_of(server, streams=3, chars=10)
        async with peer(f"{server.url}?ticket={ticket}") as client:
            await client.start("12345", rung="pcm22")
            told = await client.refused("123456")
            assert (told.code, told.detail["limit"], told.detail["name"]) == ("text_too_long", 5, "ticket")
            opened = await client.start("", open=True)
            await client.send(m.Text(opened.stream, "1234"), m.Text(opened.stream, "56"))
            told = await client.first(m.Error, stream=opened.stream)
            assert (told.code, told.detail["limit"]) == ("text_too_long", 1)
            await client.start("1", rung="pcm22")
            told = await client.refused("x")
            assert (told.code, told.detail["limit"]) == ("too_many_streams", 0)


@pytest.mark.parametrize(
    "body",
    [{"origin": "app.example"}, {"origin": 7}, {"streams": 0}, {"streams": True}, {"chars": 1.5},
     {"key": "x"}, {"chars": 10_000_001}],
)  # fmt: skip
async def test_a_wish_that_cannot_be_is_refused_in_words(body):
    async with serving(**KEYS) as server:
        status, answer, _ = await post(server, **body)
        assert status == 400 and answer["error"]


async def test_more_tickets_than_may_be_out_are_told_to_come_back_and_counted():
    async with serving(**KEYS, auth__tickets=2) as server:
        await asyncio.gather(ticket_of(server), ticket_of(server))
        status, _, headers = await post(server)
        assert (status, headers["Retry-After"]) == (429, "60")
        assert 'limits_hit_total{limit="tickets"} 1.0' in server.metrics.text().decode()


async def test_a_key_that_has_its_share_is_refused_and_another_is_not():
    async with serving(**KEYS, auth__tickets_per_key=1) as server:
        await ticket_of(server)
        assert (await post(server))[0] == 429
        status, _, _ = await post(server, headers={"Authorization": "Bearer second-key"})
        assert status == 200


async def test_a_server_may_give_none():
    async with serving(**KEYS, auth__ticket_s=0) as server:
        assert (await post(server))[0] == 404


async def test_a_body_that_does_not_come_is_not_waited_for():
    async with serving(**KEYS, limits__hello_timeout_s=0.3) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        head = b"POST /v1/tickets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer first-key\r\n"
        writer.write(head + b"Content-Length: 9\r\n\r\n{")
        async with asyncio.timeout(WAIT_S):
            assert (await reader.readline()).split()[1] == b"408"
        writer.close()


async def test_a_ticket_that_opened_nothing_is_good_for_another_attempt():
    async with serving(**KEYS, limits__connections_per_key=1) as server, aiohttp.ClientSession() as http:
        async with http.post(f"{server.http_url}/v1/tickets", headers=FIRST) as answer:
            url = f"{server.url}?ticket={(await answer.json())['ticket']}"
        first = await http.ws_connect(server.url, protocols=("abr-tts.v1",), headers=FIRST)
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await http.ws_connect(url, protocols=("abr-tts.v1",))
        assert refused.value.status == 429
        await first.close()
        await eventually(lambda: not server.door.sessions)
        second = await http.ws_connect(url, protocols=("abr-tts.v1",))
        await second.close()
        with pytest.raises(aiohttp.WSServerHandshakeError) as used:
            await http.ws_connect(url, protocols=("abr-tts.v1",))
        assert used.value.status == 401


async def test_renewed_tokens_of_one_sub_have_one_share_of_tickets_and_another_sub_has_its_own(tmp_path):
    secret = "0123456789abcdef0123456789abcdef"
    (tmp_path / "jwt").write_text(secret)

    def bearer(sub: str, number: int) -> dict[str, str]:
        claims = {"sub": sub, "exp": time.time() + 60 + number, "jti": str(number)}
        return {"Authorization": f"Bearer {jwt.encode(claims, secret, 'HS256')}"}

    async with serving(auth__jwt_file=str(tmp_path / "jwt"), auth__tickets_per_key=2) as server:
        statuses = [(await post(server, headers=bearer("anna", number)))[0] for number in range(3)]
        assert statuses == [200, 200, 429]
        assert (await post(server, headers=bearer("bert", 0)))[0] == 200
        assert 'limits_hit_total{limit="tickets"} 1.0' in server.metrics.text().decode()
