"""The brake on real sockets: little waits unsent in the kernel, whatever the messages are like."""

import socket
import sys

import pytest

from abr_tts.server.sending import brake
from abr_tts.server.sending.outbox import Entry
from abr_tts.server.sending.sockets import NOTSENT_LOWAT_BYTES, unsent_bytes

from .harness import eventually
from .test_outbox import bench, contexts

__all__ = ["contexts"]  # a fixture

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="SIOCOUTQNSD is Linux's")

FRAMING_BYTES = 64
"""More than the heads of WebSocket and TLS of a message."""


def server_socket(made):
    return made.outbox._transport.get_extra_info("socket")


@pytest.mark.parametrize("size", [300, 1400, 4410, 20_000])
async def test_a_stalled_reader_leaves_less_than_the_mark_and_one_message_unsent(contexts, size):
    async with bench(contexts) as made:
        made.stall()
        for _ in range(2_000_000 // size):
            made.outbox.put(Entry(bytes(size)))
        await made.quiet()
        assert made.outbox.queued_bytes > 0
        records = -(-size // 16_384)  # TLS adds its head to each of its records
        assert 0 < unsent_bytes(server_socket(made)) < NOTSENT_LOWAT_BYTES + size + records * FRAMING_BYTES


async def test_without_the_brake_the_kernel_takes_far_more(contexts, monkeypatch):
    monkeypatch.setattr(brake, "unsent_bytes", lambda sock: 0)
    async with bench(contexts) as made:
        made.stall()
        for _ in range(2_000):
            made.outbox.put(Entry(bytes(1400)))
        await made.quiet()
        assert unsent_bytes(server_socket(made)) > 4 * NOTSENT_LOWAT_BYTES


async def test_a_reader_that_goes_on_gets_everything(contexts):
    async with bench(contexts) as made:
        made.stall()
        for number in range(2_000):
            made.outbox.put(Entry(number.to_bytes(2, "big") * 500))
        await made.quiet()
        assert made.outbox.queued_bytes > 0
        got = await made.read(2_000)
        assert [data[:2] for data in got] == [number.to_bytes(2, "big") for number in range(2_000)]
        await eventually(lambda: len(made.written) == 2_000)


async def test_a_connection_that_is_reset_while_the_brake_holds_is_closed_and_nothing_more_is_told(contexts):
    async with bench(contexts) as made:
        made.stall()
        for _ in range(2_000):
            made.outbox.put(Entry(bytes(1400)))
        await made.quiet()
        told, ours = len(made.written), server_socket(made)
        assert made.outbox._brake.holds()
        theirs = made.client._response.connection.transport.get_extra_info("socket")
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        made.client._response.connection.transport.abort()
        await made.ended.wait()
        assert len(made.written) == told
        assert made.outbox._brake._watched is None
        assert ours.fileno() == -1


async def test_a_message_to_a_reader_that_reads_goes_to_the_kernel_within_put(contexts):
    async with bench(contexts) as made:
        made.outbox.put(Entry(b"first"))
        assert made.outbox.queued_bytes == 0
        assert not made.outbox._flow.full
