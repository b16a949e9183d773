"""Connections that stop reading, half-close, vanish or are told to go; and what is left of them: nothing."""

import asyncio
import os
import signal
import socket
import ssl

import aiohttp
import numpy as np
import pytest
import trustme

from abr_tts.control.controller import MOST_OUTSTANDING_BYTES
from abr_tts.engine.text import Clauser
from abr_tts.engine.tone import Options, expected
from abr_tts.server.config import load
from abr_tts.server.program import run
from abr_tts.server.pump import MOST_WAITING
from abr_tts.wire import messages as m

from .harness import TONE, eventually, go_deaf, held_python, peer, serving, tcp_socket

SENTENCE = "one two three four five six seven eight nine ten. "
REAL_TIME = {"rate": 22_050, "rtf": 1.0}
LONG = "x" * 400
"""24 s."""


def clauses(text: str) -> list[np.ndarray]:
    """What the engine makes of each clause."""
    clauser = Clauser(200, 80)
    cut = clauser.feed(text) + clauser.end()
    return [expected(clause.text, options=Options(rate=22_050)) for clause in cut]


def spoken(text: str) -> np.ndarray:
    return np.concatenate(clauses(text))


@pytest.fixture(params=["plain", "tls"])
def transport(request, tmp_path):
    """(overrides of the server, the client's TLS context)."""
    if request.param == "plain":
        return {}, None
    authority = trustme.CA()
    cert = authority.issue_cert("127.0.0.1")
    cert.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    cert.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    files = {"tls__cert_file": str(tmp_path / "cert.pem"), "tls__key_file": str(tmp_path / "key.pem")}
    return files, trusting


async def test_a_listener_who_stops_reading_pauses_the_engine_and_hears_everything_when_reading_on(transport):
    files, trusting = transport
    text = SENTENCE * 16  # 48 s, of which 30 may be made ahead
    async with serving(stream__max_ahead_s=10.0, **files) as server, peer(server.url, tls=trusting) as client:
        started = await client.start(text, rung="pcm22")
        await client.first(m.Audio)
        client.stop_reading()
        (session,) = server._front.sessions
        (utterance,) = session._utterances.values()
        ahead = 10 * 22_050
        most = ahead + max(map(len, clauses(text))) + 22_050  # and a second that was heard before
        await eventually(lambda: utterance.core.produced >= ahead and server.pool.stats.busy == 0)
        assert not await client.closed_within(0.2)
        assert ahead <= utterance.core.produced <= most < len(spoken(text))
        assert utterance.core.held_samples <= most
        sample = session._outbox.sample()
        outside = sample.unacked_bytes + sample.user_bytes + session._outbox.queued_bytes
        assert outside <= 40_000
        assert session.outstanding_bytes <= 32_768 + 4_500  # the cap and the message that crossed it
        client.go_on_reading()
        np.testing.assert_array_equal(await client.whole_pcm(started.stream), spoken(text))


CAP, LARGEST, BESIDE = MOST_OUTSTANDING_BYTES, 4_500, 300
"""Bytes on the way at most; of the largest message; of all that went before the stream."""


async def test_without_any_report_no_more_than_the_cap_is_ever_sent():
    async with serving() as server, peer(server.url, hints=False) as client:
        await client.start(SENTENCE * 8, rung="pcm22")
        await client.until(lambda: client.received > CAP - LARGEST)
        assert not await client.closed_within(0.2)
        assert CAP - LARGEST < client.received <= CAP + BESIDE
        await client.hint(client.of(m.StreamStarted)[0].stream, 0)
        await client.until(lambda: client.received > 2 * (CAP - LARGEST))


async def gone(server) -> None:
    """Nothing is left of the connection: engine, session, counts."""
    await eventually(lambda: server.pool.stats.busy == 0 and server.pool.stats.cancelled == 1)
    await eventually(lambda: not server._front.sessions)
    await eventually(lambda: (server._admission.connections, server._admission.streams) == (0, 0))
    assert server.pool.stats.samples < 22_050 * 10  # of 24 s


async def test_a_client_that_half_closes_is_gone_and_its_engine_stopped(transport):
    files, trusting = transport
    async with (
        serving(engine__options=REAL_TIME, **files) as server,
        peer(server.url, tls=trusting) as client,
    ):
        await client.start(LONG, rung="pcm22")
        await client.first(m.Audio)
        with tcp_socket(client) as sock:
            sock.shutdown(socket.SHUT_WR)
        await gone(server)


async def test_a_client_that_hangs_up_in_mid_speech_is_gone_and_its_engine_stopped(transport):
    files, trusting = transport
    async with (
        serving(engine__options=REAL_TIME, **files) as server,
        peer(server.url, tls=trusting) as client,
    ):
        await client.start(LONG, rung="pcm22")
        await client.first(m.Audio)
        client.socket._response.connection.transport.abort()
        await gone(server)


@pytest.mark.skipif(not hasattr(socket, "AF_PACKET"), reason="drops segments by a filter that Linux has")
async def test_a_client_that_vanishes_without_a_word_is_gone_after_the_idle_time():
    limits = {"limits__idle_timeout_s": 2.0, "limits__ping_s": 0.5, "limits__close_timeout_s": 0.2}
    async with serving(engine__options=REAL_TIME, **limits) as server, peer(server.url) as client:
        await client.start(LONG, rung="pcm22")
        await client.first(m.Audio)
        with tcp_socket(client) as sock:
            go_deaf(sock)
            client.hints = False
            await gone(server)


async def test_a_hundred_connections_that_come_and_go_leave_no_task_behind():
    async with serving() as server:
        before = len(asyncio.all_tasks())
        for _ in range(20):
            async with asyncio.TaskGroup() as group:
                for _ in range(5):
                    group.create_task(visit(server.url))
        await eventually(lambda: not server._front.sessions)
        await eventually(lambda: len(asyncio.all_tasks()) <= before)
        await eventually(lambda: (server._admission.streams, server.pool.stats.busy) == (0, 0))


async def visit(url: str) -> None:
    async with peer(url) as client:
        await client.start("come and go", rung="pcm22")


# ---- stopping


async def test_a_stop_lets_running_streams_finish_takes_none_and_closes_with_1012():
    async with serving(engine__options=REAL_TIME) as server, peer(server.url) as client:
        started = await client.start("x" * 12, rung="pcm22")
        await client.first(m.Audio)
        draining = asyncio.ensure_future(server.drain())
        assert (await client.first(m.GoingAway)).deadline_ms == 24_000, "less what closing takes"
        assert (await client.refused("too late")).code == "busy"
        async with aiohttp.ClientSession() as http:
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                await http.ws_connect(server.url, protocols=("abr-tts.v1",))
            assert caught.value.status == 503
            async with http.get(server.http_url + "/readyz") as answer:
                assert answer.status == 503
        np.testing.assert_array_equal(await client.whole_pcm(started.stream), spoken("x" * 12))
        await draining
        await asyncio.gather(server.stop(), client.closed())
        assert client.socket.close_code == 1012


async def test_a_drain_gives_up_at_its_deadline():
    async with serving(server__drain_s=0.2) as server, peer(server.url) as client:
        await client.start("", open=True)
        loop = asyncio.get_running_loop()
        began = loop.time()
        await server.drain()
        assert 0.1 <= loop.time() - began < 10.0  # half of it at least; the stream never ends by itself


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_the_program_with_everything_closed(number):
    served = asyncio.get_running_loop().create_future()
    running = asyncio.ensure_future(run(load(overrides=TONE | {"server.drain_s": 5.0}), served.set_result))
    server = await served
    async with peer(server.url) as client:
        started = await client.start("x" * 4, rung="pcm22")
        os.kill(os.getpid(), number)
        await client.first(m.GoingAway)
        np.testing.assert_array_equal(await client.whole_pcm(started.stream), spoken("x" * 4))
        assert await client.closed() == 1012
        await running
    with pytest.raises(OSError):
        await asyncio.open_connection("127.0.0.1", server.port)


async def test_a_second_signal_does_not_wait_for_streams():
    served = asyncio.get_running_loop().create_future()
    running = asyncio.ensure_future(run(load(overrides=TONE | {"server.drain_s": 60.0}), served.set_result))
    server = await served
    async with peer(server.url) as client:
        await client.start("", open=True)
        os.kill(os.getpid(), signal.SIGTERM)
        await client.first(m.GoingAway)
        os.kill(os.getpid(), signal.SIGTERM)
        assert await client.closed() == 1012
        await running


async def test_a_signal_while_the_engine_loads_ends_the_program_at_once(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    with held_python(tmp_path) as (python, _):
        settings = load(overrides=TONE | {"engine.python": python})
        running = asyncio.ensure_future(run(settings, lambda server: pytest.fail("it started")))
        await eventually(lambda: signal.getsignal(signal.SIGTERM) is not before)
        os.kill(os.getpid(), signal.SIGTERM)
        await running


async def test_a_fault_in_one_streams_codec_ends_that_stream_alone(monkeypatch):
    async with serving() as server, peer(server.url) as client:
        healthy = await client.start("", open=True, rung="pcm22")
        monkeypatch.setattr("abr_tts.stream.coders.take", broken)
        bad = await client.start("hello", rung="opus24")
        told = await client.first(m.Error)
        assert (told.code, told.scope, told.stream) == ("stream_failed", "stream", bad.stream)
        await client.send(m.Text(healthy.stream, SENTENCE), m.TextEnd(healthy.stream))
        np.testing.assert_array_equal(await client.whole_pcm(healthy.stream), spoken(SENTENCE))


def broken(*args, **kwargs):
    raise RuntimeError("no encoder today")


async def test_nothing_more_is_read_of_a_client_that_asks_and_does_not_read():
    most = {"limits__messages_per_s": 1_000_000.0, "limits__message_burst": 1_000_000}
    async with serving(**most) as server, peer(server.url, level=2, hints=False) as client:
        (session,) = server._front.sessions
        session._outbox._flow.full = True  # as of a socket that is full
        for number in range(3 * MOST_WAITING):
            await client.send(m.Ping(number))
        await eventually(lambda: session._outbox.waiting > MOST_WAITING)
        for _ in range(100):
            await asyncio.sleep(0)
        assert session._outbox.waiting == MOST_WAITING + 1
        session._outbox._flow.full = False
        session._outbox._pump()
        await client.first(m.Pong, value=3 * MOST_WAITING - 1)
