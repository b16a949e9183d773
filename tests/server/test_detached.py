"""Streams without a connection: what they may cost at most, and how one that nobody wants is freed."""

import pytest

from abr_tts.wire import messages as m

from .harness import eventually, peer, serving
from .test_resume import RATE, begun, cut, lost, rest

CLAUSE = "xxxxxxxxx. "
CLAUSE_S = 0.7
"""Of one, rounded up."""

SHORT = {"stream__max_ahead_s": 2, "engine__clause_chars": 12, "engine__first_clause_chars": 12}


@pytest.mark.parametrize("rtf", [0.0, 0.2])
async def test_nothing_is_made_beyond_the_limit_and_a_clause_however_long_nobody_comes(rtf):
    async with serving(**SHORT, engine__options={"rate": RATE, "rtf": rtf}) as server:
        async with peer(server.url, level=2) as first:
            await begun(first, CLAUSE * 200, frames=5)
            await cut(first)
        await lost(server)
        (utterance,) = server._resumption.detached
        at_least = 2 * RATE + utterance.core.played * RATE // 48_000
        await eventually(lambda: utterance.core.produced >= at_least and server.pool.stats.busy == 0)
        said, made = server.pool.stats.said, utterance.core.produced
        assert made <= at_least + CLAUSE_S * RATE
        async with peer(server.url) as other:  # time goes by, in which the engine speaks for others
            for _ in range(5):
                await other.whole_pcm((await other.start("meanwhile", rung="pcm22")).stream)
        assert utterance.core.produced == made
        assert server.pool.stats.said == said + 5, "not a clause was asked for"
        assert utterance.held_bytes <= 2 * (made + RATE) * 2


@pytest.mark.parametrize("named", ["by its name", "by its handle"])
async def test_a_speech_that_was_cancelled_meanwhile_is_freed_as_soon_as_its_client_says_so(named):
    async with serving(**SHORT, engine__options={"rate": RATE, "rtf": 0.2}) as server:
        async with peer(server.url, level=2) as first:
            started = await begun(first, CLAUSE * 200, frames=5)
            await cut(first)
        await lost(server)
        assert (server._admission.streams, len(server._resumption.shelf)) == (1, 1)
        async with peer(server.url, level=2) as second:
            if named == "by its name":
                await second.send(rest(first, started), m.Cancel(started.stream_id))
                end = await second.first(m.StreamEnd)
            else:
                await second.send(rest(first, started))
                again = await second.first(m.StreamStarted)
                await second.send(m.Cancel(again.stream))
                end = await second.first(m.StreamEnd)
            assert end.reason == "cancelled"
            await eventually(lambda: server.pool.stats.busy == 0)
            assert (server._admission.streams, len(server._resumption.shelf)) == (0, 0)
            assert server._resumption._held == {}
            said = server.pool.stats.said
            await second.whole_pcm((await second.start("another", rung="pcm22")).stream)
            assert server.pool.stats.said == said + 1


async def test_a_name_alone_cancels_nothing_of_another_connections():
    """Without the token of an attach, whoever knows a stream's name could end it."""
    async with serving(**SHORT) as server:
        async with peer(server.url, level=2) as first:
            started = await begun(first, CLAUSE * 200, frames=5)
            await cut(first)
        await lost(server)
        async with peer(server.url, level=2) as stranger:
            await stranger.send(m.Cancel(started.stream_id))
            assert (await stranger.first(m.Error)).code == "unknown_stream"
        assert len(server._resumption.shelf) == 1
