"""Connections whose key was removed, or whose token is out of date, while they are open."""

import asyncio
import json
import time

import aiohttp
import pytest

from abr_tts.server.access.auth import Auth
from abr_tts.server.access.standing import LOOK_S, Standing
from abr_tts.server.config import AuthSettings
from abr_tts.wire import messages as m

from .dashscope.client import finish, go_on, run
from .dashscope.raw import raw
from .harness import WAIT_S, eventually, peer, serving
from .openai_world import SPEECH, asking, wish
from .test_bearer import SECRET, token


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


class Guest:
    """Somebody inside who notes why they are sent away."""

    def __init__(self, auth: Auth, key: str = "") -> None:
        self.caller, self.words = auth.caller(bearer(key), ""), ""

    def dismiss(self, words: str) -> None:
        self.words += words


def rekeyed(auth: Auth, *keys: str) -> None:
    auth.ring = Auth(AuthSettings(keys=keys)).ring


def test_whose_key_was_removed_goes_and_the_others_stay():
    auth = Auth(AuthSettings(keys=("anna:first", "second")))
    guests = [Guest(auth, "first"), Guest(auth, "second")]
    standing = Standing(auth, lambda: guests)
    assert standing.look() == 0
    rekeyed(auth, "anna:other", "second")
    assert [standing.look(), standing.look()] == [1, 0], "one who takes a while to go is told once"
    assert [guest.words for guest in guests] == ["its key was removed", ""]


def test_where_nothing_is_revoked_everybody_stays():
    auth = Auth(AuthSettings(keys=("first",), revoke=False))
    guest = Guest(auth, "first")
    rekeyed(auth, "second")
    assert Standing(auth, lambda: [guest]).look() == 0


def test_who_came_without_a_key_where_none_was_asked_for_stays():
    auth = Auth(AuthSettings())
    guest = Guest(auth)
    rekeyed(auth, "first")
    assert Standing(auth, lambda: [guest]).look() == 0


@pytest.mark.parametrize(("beyond_s", "gone"), [(0.0, 0), (29.9, 0), (30.1, 1)])
def test_who_came_by_a_token_stays_for_the_slack_of_clocks_and_a_grace_beyond_its_time(
    tmp_path, beyond_s, gone
):
    path = tmp_path / "jwt"
    path.write_text(SECRET)
    auth = Auth(AuthSettings(jwt_file=path, jwt_leeway_s=10.0, jwt_grace_s=20.0))
    exp = round(time.time()) + 60
    guest = Guest(auth, token(SECRET, "HS256", exp=exp))
    assert Standing(auth, lambda: [guest], lambda: exp + beyond_s).look() == gone
    assert guest.words == ("its token is out of date" if gone else "")


# ---- real servers


async def test_a_listener_whose_key_is_removed_is_told_and_closed_and_another_one_hears_on(tmp_path):
    path = tmp_path / "keys"
    path.write_text("first\nsecond\n")
    async with (
        serving(auth__keys_file=str(path)) as server,
        peer(server.url, headers=bearer("first"), level=2) as gone,
        peer(server.url, headers=bearer("second")) as stays,
    ):
        started = await gone.start("", open=True)
        path.write_text("second\n")
        server.reload()
        told = await gone.first(m.Error, scope="connection")
        assert (told.code, "removed" in told.message) == ("unauthorized", True)
        assert await gone.closed() == 1008
        assert started.stream_id not in server._resumption._held, "nothing is kept for it"
        await eventually(lambda: server._admission.streams == 0)
        assert len(await stays.whole_pcm((await stays.start("hears on", rung="pcm22")).stream)) > 0
        assert server.metrics.errors.labels("unauthorized")._value.get() == 1


async def test_a_ticket_of_a_removed_key_opens_nothing_and_what_it_has_opened_is_closed(tmp_path):
    path = tmp_path / "keys"
    path.write_text("first\nsecond\n")

    async def ticket(http: aiohttp.ClientSession, url: str) -> str:
        async with http.post(f"{url}/v1/tickets", headers=bearer("first")) as answer:
            return (await answer.json())["ticket"]

    async with serving(auth__keys_file=str(path)) as server, aiohttp.ClientSession() as http:
        used, unused = [await ticket(http, server.http_url) for _ in range(2)]
        async with peer(f"{server.url}?ticket={used}") as client:
            path.write_text("second\n")
            server.reload()
            assert await client.closed() == 1008
        with pytest.raises(aiohttp.WSServerHandshakeError, match="401"):
            async with peer(f"{server.url}?ticket={unused}"):
                pass


async def test_a_connection_ends_after_its_tokens_time(tmp_path):
    path = tmp_path / "jwt"
    path.write_text(SECRET)
    settings = {"auth__jwt_file": str(path), "auth__jwt_leeway_s": 0.0, "auth__jwt_grace_s": 0.0}
    async with serving(**settings) as server:
        key = token(SECRET, "HS256", exp=round(time.time()) + 2)
        async with peer(server.url, headers=bearer(key)) as client:
            assert await client.closed_within(2 + 3 * LOOK_S)
            assert client.socket.close_code == 1008


# ---- at the other doors, who does not read

LONG = ". ".join(["Forty characters take over two seconds"] * 60)
"""More than the sockets of a reader who does not read take."""


def revoking(tmp_path, **settings) -> dict:
    """Settings of a server from whose file `first` is removed by `revoke`; only a close ends a silence."""
    path = tmp_path / "keys"
    path.write_text("first\nsecond\n")
    return settings | {"auth__keys_file": str(path), "limits__idle_timeout_s": 600.0}


def revoke(server) -> None:
    server.settings.auth.keys_file.write_text("second\n")
    server.reload()


async def asked(server, **fields) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A request at the OpenAI door, of whose answer nothing is read but its first line."""
    body = json.dumps(wish(LONG, sample_rate=48_000, **fields)).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1_024)
    head = f"POST {SPEECH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer first\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    await asyncio.wait_for(reader.readuntil(b"\r\n"), WAIT_S)
    return reader, writer


async def stuck(server) -> None:
    """Until its one reader holds up what is sent to it."""
    (visit,) = server.door.sessions
    sent: list[int] = []

    def still() -> bool:
        sent.append(sum(speech._received for speech in visit.speeches))
        return sent[-1] > 0 and len(sent) > 20 and sent[-1] == sent[-20]

    await eventually(still)


async def gone(server, within_s: float) -> None:
    """Its one reader is not there any more, and nothing of it is left."""
    await eventually(lambda: not server.door.sessions, LOOK_S + within_s)
    assert server._admission.connections == server._admission.streams == 0
    await eventually(lambda: server.pool.stats.busy == 0)  # the worker's own answer may be on its way


@pytest.mark.parametrize("stream", [True, False], ids=["as it is made", "whole"])
async def test_who_reads_no_answer_of_openai_is_let_go_of_as_soon_as_the_key_is_gone(tmp_path, stream):
    async with asking(**revoking(tmp_path)) as (server, _):
        _, writer = await asked(server, stream=stream)
        if stream:
            await stuck(server)
        revoke(server)
        await gone(server, 1.0)
        writer.close()
        assert server.metrics.closed.labels(1008)._value.get() == 1


async def test_who_reads_no_events_has_the_time_of_a_goodbye_to_read_why(tmp_path):
    async with asking(**revoking(tmp_path, limits__close_timeout_s=1.5)) as (server, _):
        _, writer = await asked(server, stream_format="sse")
        await stuck(server)
        revoke(server)
        await gone(server, 1.5 + 1.0)
        writer.close()


async def test_who_reads_late_is_told_why_in_the_last_event(tmp_path):
    async with asking(**revoking(tmp_path)) as (server, _):
        reader, writer = await asked(server, stream_format="sse")
        await stuck(server)
        revoke(server)
        await eventually(lambda: server.metrics.errors.labels("unauthorized")._value.get() == 1)
        body = b""
        async with asyncio.timeout(WAIT_S):
            while b"invalid_api_key" not in body:
                more = await reader.read(65_536)
                assert more, body
                body = body[-300:] + more
        writer.close()


async def test_who_reads_nothing_of_dashscopes_has_the_time_of_a_goodbye(tmp_path):
    settings = revoking(tmp_path, limits__close_timeout_s=1.0)
    async with serving(**settings) as server, raw(server, key="first") as client:
        await client.send(run(sample_rate=48_000))
        await client.event("task-started")
        client.stop_reading()
        client.socket._response.connection.transport.pause_reading()
        await client.send(go_on(LONG), finish())
        await stuck(server)
        revoke(server)
        await gone(server, 1.0 + 1.0)
