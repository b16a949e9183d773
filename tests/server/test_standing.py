"""Connections whose key was removed, or whose token is out of date, while they are open."""

import time

import aiohttp
import pytest

from abr_tts.server.access.auth import Auth
from abr_tts.server.access.standing import LOOK_S, Standing
from abr_tts.server.config import AuthSettings
from abr_tts.wire import messages as m

from .harness import eventually, peer, serving
from .test_bearer import SECRET, token


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


class Guest:
    """Somebody inside who notes why they are sent away."""

    def __init__(self, auth: Auth, key: str = "") -> None:
        self.caller, self.words = auth.caller(bearer(key), ""), ""

    def dismiss(self, words: str) -> None:
        self.words = words


def rekeyed(auth: Auth, *keys: str) -> None:
    auth.ring = Auth(AuthSettings(keys=keys)).ring


def test_whose_key_was_removed_goes_and_the_others_stay():
    auth = Auth(AuthSettings(keys=("anna:first", "second")))
    guests = [Guest(auth, "first"), Guest(auth, "second")]
    standing = Standing(auth, lambda: guests)
    assert standing.look() == 0
    rekeyed(auth, "anna:other", "second")
    assert standing.look() == 1
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
