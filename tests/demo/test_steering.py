"""A link whose rate is changed while bytes are under way: none lost or swapped, and the new rate holds."""

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abr_tts.control.ladder import SEGMENT_BYTES
from abr_tts.demo.path import FULL_SEGMENT, Path
from abr_tts.demo.relay import Relay
from abr_tts.sim.scenario import Direction, Scenario

PERIOD_S = 3600.0
DEAD = Direction(((0.0, 0.0), (PERIOD_S - 1, 1000.0)), 0.0)
FAST = Direction(((0.0, 100_000.0),), 0.0)


def at(kbps: float, delay_s: float = 0.0) -> Direction:
    return Direction(((0.0, kbps),), delay_s)


def path(way: Direction) -> Path:
    return Path(way, PERIOD_S, "seed", 0.0)


@given(st.lists(st.binary(min_size=1, max_size=9000), min_size=1, max_size=30), st.integers(0, 1000))
def test_every_byte_comes_out_once_and_in_order_however_it_is_steered(pieces, seed):
    rng = random.Random(seed)
    one, now, out = path(at(500, 0.05)), 0.0, b""
    for piece in pieces:
        now += rng.expovariate(5.0)
        out += one.pull(now)
        one.push(piece, now)
        if rng.random() < 0.5:
            one.steer(rng.choice([DEAD, at(16, 0.2), at(2000), at(5000, 0.01)]), now)
    one.steer(at(2000, 0.02), now)
    while not one.empty:
        due = one.get_timer()
        assert due >= now
        now = due
        out += one.pull(now)
    assert out == b"".join(pieces)


def test_what_waits_leaves_at_the_new_rate_from_then_on():
    one = path(at(1000))
    one.push(bytes(20 * SEGMENT_BYTES), 0.0)
    per_segment = FULL_SEGMENT * 8 / 1000 / 100  # seconds at 100 kbit/s
    before = len(one.pull(0.06))
    assert before == 5 * SEGMENT_BYTES  # 12 ms each
    one.steer(at(100), 0.06)
    assert len(one.pull(0.06 + 10.5 * per_segment)) == 10 * SEGMENT_BYTES


def test_a_dead_link_holds_everything_until_it_lives_again():
    one = path(DEAD)
    one.push(bytes(5000), 0.0)
    assert one.pull(100.0) == b""
    one.steer(at(1000), 100.0)
    assert one.pull(100.0) == b"" and len(one.pull(101.0)) == 5000


def test_what_has_left_the_queue_arrives_after_the_old_delay_and_nothing_overtakes_it():
    one = path(at(10_000, 1.0))
    one.push(b"first", 0.0)
    one.pull(0.5)
    one.steer(at(10_000, 0.0), 0.5)
    one.push(b"second", 0.5)
    assert one.pull(0.99) == b""
    assert one.pull(1.1) == b"firstsecond"


def test_the_queues_room_is_that_of_the_new_direction():
    one = path(at(1))
    one.push(bytes(one.room(0.0)), 0.0)
    assert one.room(0.0) == 0
    one.steer(Direction(((0.0, 1.0),), 0.0, queue_bytes=2 * 65_536), 0.0)
    assert one.room(0.0) == pytest.approx(65_536, rel=0.06)


def test_a_relay_steers_the_connections_that_are_open_and_those_that_come():
    async def echo(reader, writer):
        while data := await reader.read(1000):
            writer.write(data)
        writer.close()

    async def main():
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        relay = Relay(Scenario("dead", PERIOD_S, DEAD, DEAD), *server.sockets[0].getsockname())
        await relay.start()
        try:
            async with asyncio.timeout(10):
                reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
                writer.write(b"hello")
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(reader.readexactly(5), 0.3)
                relay.steer(Scenario("alive", PERIOD_S, FAST, FAST))
                assert await reader.readexactly(5) == b"hello" and relay.kbps == 100_000
                late_reader, late_writer = await asyncio.open_connection("127.0.0.1", relay.port)
                late_writer.write(b"there")
                assert await late_reader.readexactly(5) == b"there"
                late_writer.close()
                writer.close()
        finally:
            await relay.stop()
            server.close()

    asyncio.run(main())
