"""A client that comes with tickets instead of a key."""

import aiohttp
import pytest

from abr_tts.client import Client
from abr_tts.errors import ConnectFailed

from ..server.harness import eventually, serving

KEYS = {"auth__keys": ("anna:first-key",)}


async def new_ticket(server) -> str:
    headers = {"Authorization": "Bearer first-key"}
    async with (
        aiohttp.ClientSession() as http,
        http.post(server.http_url + "/v1/tickets", headers=headers) as answer,
    ):
        return (await answer.json())["ticket"]


async def heard(client: Client) -> int:
    return sum([len(chunk) async for chunk in client.speak("hello")])


async def test_a_ticket_opens_one_connection_and_is_not_shown_when_it_does_not():
    async with serving(**KEYS) as server:
        ticket = await new_ticket(server)
        async with Client(server.url, ticket=ticket) as client:
            assert await heard(client) > 0
        with pytest.raises(ConnectFailed) as caught:
            await Client(server.url, ticket=ticket).connect()
        assert caught.value.final and ticket not in str(caught.value)


async def test_a_function_gets_a_ticket_for_each_connection():
    got = []
    async with serving(**KEYS) as server:

        async def get() -> str:
            got.append(await new_ticket(server))
            return got[-1]

        async with Client(server.url, ticket=get) as client:
            first = await heard(client)
            await client._line.pump._socket.close(code=4001)
            await eventually(lambda: not client.connected)
            assert await heard(client) == first
    assert len(got) == 2 and got[0] != got[1]
