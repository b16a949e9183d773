"""Several connections: speeches are spread over them, and the rest goes on when one is lost."""

import asyncio

import numpy as np
import pytest

from abr_tts import errors
from abr_tts.client import ClientPool

from ..browser.relay import relaying
from ..server.harness import eventually, serving_in_a_thread
from .test_reconnect import LEAD, LONG, tone


@pytest.fixture(scope="module")
def server():
    with serving_in_a_thread(engine__workers=2, **LEAD) as server:
        yield server


async def test_each_speech_goes_over_the_connection_with_the_fewest(server):
    async with ClientPool(server.url, 3) as pool:
        speeches = [pool.speak("abc " * number, rung="pcm22") for number in range(1, 7)]
        assert [client.speeches for client in pool.clients] == [2, 2, 2]
        assert len(await speeches[1].read())
        assert [client.speeches for client in pool.clients] == [2, 1, 2]
        assert pool.pick() is pool.clients[1]
        for speech in (speeches[0], *speeches[2:]):
            assert len(await speech.read())
        assert [client.speeches for client in pool.clients] == [0, 0, 0]


async def test_a_connection_that_is_away_is_used_last(server):
    async with relaying(server.port) as relay, ClientPool(f"ws://127.0.0.1:{relay.port}", 2) as pool:
        relay.refuses = True
        pool.clients[0]._line.pump._socket._response.connection.transport.abort()
        await eventually(lambda: not pool.clients[0].connected)
        assert pool.pick() is pool.clients[1]
        relay.refuses = False
        heard = await asyncio.gather(*(pool.speak(LONG, rung="pcm22").read() for _ in range(3)))
        assert all(np.array_equal(samples, tone(LONG)) for samples in heard)
        assert pool.clients[0].connected, "it was opened again by the second speech"


async def test_a_pool_that_cannot_connect_leaves_nothing_open():
    before = len(asyncio.all_tasks())
    with pytest.raises(errors.ConnectFailed):
        async with ClientPool("ws://127.0.0.1:9", 2):
            pass
    assert len(asyncio.all_tasks()) == before
    with pytest.raises(ValueError, match="1 connection or more"):
        ClientPool("ws://127.0.0.1:9", 0)
