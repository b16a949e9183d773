"""A call as a session sees it, gRPC's part played by hand: what is written, what ends it, how it left."""

import asyncio

import pytest

from abr_tts.server.sending.outbox import Entry

from ..harness import eventually
from .outsider import grpc, pb

line_module = pytest.importorskip("abr_tts.server.grpc.line")

CLOSE_S = 0.1


class Context:
    """What of `grpc.aio.ServicerContext` is used; `taking` is whether HTTP/2 has room."""

    def __init__(self) -> None:
        self.incoming: asyncio.Queue = asyncio.Queue()
        self.written: list[bytes] = []
        self.taking = asyncio.Event()
        self.taking.set()
        self.gone = False

    async def read(self):
        return await self.incoming.get()

    async def write(self, data: bytes) -> None:
        await self.taking.wait()
        if self.gone:
            raise RuntimeError("the call is gone")
        self.written.append(data)


class Told:
    def __init__(self) -> None:
        self.context = Context()
        self.line = line_module.CallLine(self.context, CLOSE_S)
        self.told: list[bytes] = []
        self.outbox = self.line.open(lambda entry, at: self.told.append(entry.data))

    def ping(self, value: int = 0) -> bytes:
        return pb.ClientMessage(ping={"value": value}).SerializeToString()

    def pong(self) -> bytes:
        return pb.ClientMessage(pong={"value": 0}).SerializeToString()


async def test_messages_are_written_in_order_and_told_of_once_they_are_taken():
    told = Told()
    told.context.taking.clear()
    for number in range(3):
        told.outbox.put(Entry(bytes([number])))
    await asyncio.sleep(0)
    assert (told.context.written, told.told) == ([], [])
    told.context.taking.set()
    await eventually(lambda: len(told.told) == 3)
    assert told.context.written == told.told == [b"\0", b"\1", b"\2"]


async def test_what_waits_of_an_owner_is_dropped_and_what_is_being_written_is_not():
    told, mine, other = Told(), object(), object()
    told.context.taking.clear()
    for owner in (mine, mine, other):
        told.outbox.put(Entry(b"mine" if owner is mine else b"other", owner))
    await asyncio.sleep(0)
    told.outbox.discard(mine)
    told.context.taking.set()
    await eventually(lambda: len(told.told) == 2)
    assert told.told == [b"mine", b"other"]


async def test_a_close_between_two_reads_ends_the_next_one_once_the_ping_is_answered():
    told = Told()
    told.outbox.put(Entry(b"last"))
    told.outbox.close(1012, "over")
    told.outbox.put(Entry(b"too late"))
    await told.outbox.wait_closed()
    reading = asyncio.ensure_future(told.line.receive())
    told.context.incoming.put_nowait(told.ping())
    told.context.incoming.put_nowait(b"\xff\xff")
    told.context.incoming.put_nowait(told.pong())
    assert await reading is None
    assert told.context.incoming.empty() and told.line.close_code is None
    last, ping = told.context.written
    assert last == b"last" and pb.ServerMessage.FromString(ping).HasField("ping")


@pytest.mark.parametrize("reads_already", [False, True])
async def test_a_client_that_does_not_answer_is_waited_for_no_longer_than_a_close_may_take(reads_already):
    told = Told()
    reading = asyncio.ensure_future(told.line.receive()) if reads_already else None
    await asyncio.sleep(0)
    told.outbox.close(1008, "wrong")
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert await (reading or told.line.receive()) is None
    assert CLOSE_S / 2 < loop.time() - began < 100 * CLOSE_S


async def test_a_client_that_takes_nothing_is_cut_off_and_not_waited_for():
    told = Told()
    told.context.taking.clear()
    told.outbox.put(Entry(b"stuck"))
    told.outbox.close(1012, "over")
    await told.outbox.wait_closed()
    assert told.outbox.cut and told.told == []
    assert await told.line.receive() is None


async def test_without_a_fault_no_ping_is_sent():
    told = Told()
    told.outbox.put(Entry(b"last"))
    told.outbox.close(1000, "")
    await told.outbox.wait_closed()
    assert told.context.written == [b"last"]


async def test_the_end_of_its_messages_is_a_goodbye_and_a_cancelled_call_is_none():
    told = Told()
    told.context.incoming.put_nowait(told.ping(5))
    assert await told.line.receive() == told.ping(5)
    told.context.incoming.put_nowait(grpc.aio.EOF)
    assert await told.line.receive() is None
    assert told.line.close_code == 1000
    for after_the_end in (False, True):
        told = Told()
        if after_the_end:
            told.context.incoming.put_nowait(grpc.aio.EOF)
        reading = asyncio.ensure_future(told.line.receive())
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert told.line.close_code == 1006
        await told.outbox.wait_closed()


async def test_a_call_that_is_gone_drops_what_waits():
    told = Told()
    told.context.gone = True
    told.outbox.put(Entry(b"one"))
    told.outbox.put(Entry(b"two"))
    await told.outbox.wait_closed()
    told.outbox.put(Entry(b"three"))
    await asyncio.sleep(0)
    assert (told.context.written, told.told) == ([], [])
