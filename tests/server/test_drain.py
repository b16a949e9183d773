"""A program that is told to stop while a hundred streams play."""

import asyncio
import contextlib
import signal

import pytest

from abr_tts.wire import messages as m

from .harness import WAIT_S, Peer, eventually, peer, serving, soon
from .test_reload import ready, running

STREAMS = 100
CHARS = 60
"""3.6 s of tone: as PCM of 16 kHz more than may be on the way to a listener who reports nothing."""

DRAIN_S, CLOSE_S = 15.0, 1.0


def flags(**settings) -> list[str]:
    given = [f"{name.replace('__', '.')}={value}" for name, value in settings.items()]
    return [part for one in given for part in ("--set", one)]


@contextlib.asynccontextmanager
async def crowd(server, streams: int):
    """Clients with a stream each, of which they have some sound and wait for more."""
    async with contextlib.AsyncExitStack() as stack:
        clients = []
        for _ in range(streams):
            client = await stack.enter_async_context(peer(server.url, hints=False))
            await client.start("x" * CHARS, rung="pcm16k")
            clients.append(client)
        for client in clients:
            await client.first(m.Audio)
        yield clients


async def hear_on(client: Peer) -> None:
    """Report from now on, so that the rest comes."""
    client.hints = True
    for started in client.of(m.StreamStarted):
        await client.hint(started.stream, client._played[started.stream])


async def test_a_hundred_streams_end_whole_and_the_program_ends_within_its_time():
    settings = flags(server__drain_s=DRAIN_S, limits__waiting_streams=200)
    async with running(*settings) as server, crowd(server, STREAMS) as clients:
        loop = asyncio.get_running_loop()
        server.process.send_signal(signal.SIGTERM)
        began = loop.time()
        for client in clients:
            told = await client.first(m.GoingAway)
            assert told.deadline_ms == (DRAIN_S - 6.0) * 1000, "when they are closed, not when all is over"
            assert client.of(m.StreamEnd) == []
        status, said = await ready(server)
        assert (status, said["draining"], said["streams"]) == (503, True, STREAMS)
        refused = await clients[0].refused("too late")
        assert (refused.code, refused.retry_after) == ("busy", 0.0)
        for client in clients:
            await hear_on(client)
        for client in clients:
            assert await client.closed() == 1012
            ends = client.of(m.StreamEnd, reason="done")
            assert [end.length for end in ends] == [CHARS * 1440]
        assert await asyncio.wait_for(server.process.wait(), DRAIN_S) == 0
        assert loop.time() - began < DRAIN_S


async def test_listeners_who_hear_nothing_on_do_not_keep_the_program():
    settings = flags(server__drain_s=4.0, limits__close_timeout_s=CLOSE_S)

    async def ending() -> float:
        async with running(*settings) as server, crowd(server, 1) as (client,):
            loop = asyncio.get_running_loop()
            client.stop_reading()
            server.process.send_signal(signal.SIGTERM)
            began = loop.time()
            assert await asyncio.wait_for(server.process.wait(), WAIT_S) == 0
            return loop.time() - began

    await soon(ending, 4.0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_ends_the_program_at_once(number):
    settings = flags(server__drain_s=600, limits__close_timeout_s=CLOSE_S)
    async with running(*settings) as server, crowd(server, 1) as (client,):
        server.process.send_signal(signal.SIGTERM)
        await client.first(m.GoingAway)
        server.process.send_signal(number)
        assert await client.closed() == 1012
        assert await asyncio.wait_for(server.process.wait(), WAIT_S) == 0


async def test_who_greets_while_the_server_stops_is_told_so():
    async with serving() as server, peer(server.url) as busy:
        await busy.start("A long text. " * 200, rung="pcm22")
        async with peer(server.url, hello=False) as late:
            stopping = asyncio.ensure_future(server.drain())
            await eventually(lambda: server.door.draining)
            await late.send(m.Hello(codecs=("pcm16",)))
            await late.first(m.Welcome)
            await late.first(m.GoingAway)
            stopping.cancel()
