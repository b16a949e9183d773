"""Several servers: the least busy one is asked, and one that fails is left alone until a trial succeeds."""

import asyncio
import contextlib
import logging

import numpy as np
import pytest

from abr_tts.engine.build import pool_for
from abr_tts.engine.face import FAILED, LOADING, READY
from abr_tts.engine.remote.hosts import CLOSED, OPEN
from abr_tts.engine.spec import EngineSpec, Limits
from abr_tts.errors import Busy, EngineError

from ...server.harness import eventually
from ..pools import PATIENCE_S, Collector
from .fakes import HANG, RESET, Answer, Script, asking, http_server, speech

SOUND = speech(1.0)
DOWN, WELL = Answer(status=500), Answer.whole(SOUND)


def ask(pool, text="Good evening.", **more):
    sink = Collector()
    sink.ticket = pool.say(text, pool.voices[0], None, 1.0, sink, **more)
    return sink


@contextlib.asynccontextmanager
async def farm(*scripts, **options):
    """A pool over one server for each script."""
    async with contextlib.AsyncExitStack() as stack:
        urls = [await stack.enter_async_context(http_server(script)) for script in scripts]
        yield await stack.enter_async_context(asking(urls, **options))


def states(pool):
    return [server.state for server in pool.stats.servers]


def test_requests_are_spread_over_the_servers():
    async def main():
        scripts = [Script(WELL), Script(WELL), Script(WELL)]
        async with farm(*scripts, parallel=2) as pool:
            assert pool.ready == 6
            for sink in [ask(pool) for _ in range(6)]:
                await sink.whole()
            assert [len(script.asked) for script in scripts] == [2, 2, 2]

    asyncio.run(main())


def test_a_server_that_fails_is_left_alone_and_nobody_notices():
    async def main():
        bad, good = Script(DOWN), Script(WELL)
        async with farm(bad, good, breaker_failures=3, breaker_open_s=60) as pool:
            for _ in range(12):
                np.testing.assert_array_equal(await ask(pool).whole(), SOUND)
            assert len(bad.asked) == 3 and states(pool) == [OPEN, CLOSED]
            assert pool.stats.faults == 0 and pool.stats.lost == 1 and pool.ready == 4
            assert pool.progress.state == READY
            assert "1 of 2 servers are left alone" in pool.progress.sentence

    asyncio.run(main())


@pytest.mark.parametrize("broken", [DOWN, RESET], ids=["500", "reset"])
def test_when_every_server_fails_requests_are_refused_at_once_with_the_time_to_come_back(broken):
    async def main():
        script = Script(broken)
        async with farm(script, breaker_failures=2, breaker_open_s=30, retries=0) as pool:
            for _ in range(2):
                assert isinstance(await ask(pool).failure(), EngineError)
            with pytest.raises(Busy, match="out of service") as refused:
                ask(pool)
            assert 29 < refused.value.retry_after <= 30 and len(script.asked) == 2
            assert pool.ready == 0 and pool.progress.state == FAILED

    asyncio.run(main())


def test_those_who_wait_are_told_when_the_last_server_is_given_up():
    async def main():
        script = Script(DOWN)
        async with farm(script, breaker_failures=1, breaker_open_s=30, retries=0, parallel=1) as pool:
            sinks = [ask(pool) for _ in range(4)]
            for sink in sinks:
                assert 29 < (await sink.failure()).retry_after <= 30
            assert len(script.asked) == 1 and pool.waiting == 0

    asyncio.run(main())


def test_a_server_that_is_back_is_taken_into_service_by_one_trial():
    async def main():
        script = Script(DOWN, DOWN, WELL)
        async with farm(script, breaker_failures=1, breaker_open_s=0.2, retries=0, parallel=3) as pool:
            await ask(pool).failure()
            with pytest.raises(Busy) as refused:
                ask(pool)
            await asyncio.sleep(refused.value.retry_after)  # as the listener is told to
            assert pool.ready == 1, "half-open: a load balancer sends somebody"
            await ask(pool).failure()
            with pytest.raises(Busy):
                ask(pool)
            await asyncio.sleep(0.2)
            sinks = [ask(pool) for _ in range(3)]
            assert pool.stats.busy == 1 and pool.waiting == 2, "one at a time until it has shown itself"
            for sink in sinks:
                await sink.whole()
            assert states(pool) == [CLOSED] and pool.ready == 3

    asyncio.run(main())


def test_a_cancelled_trial_decides_nothing_and_the_next_one_does():
    async def main():
        script = Script(DOWN, HANG, WELL)
        async with farm(script, breaker_failures=1, breaker_open_s=0.05, retries=0) as pool:
            await ask(pool).failure()
            await asyncio.sleep(0.06)
            trial, waiting = ask(pool), ask(pool)
            await script.until(lambda: len(script.asked) == 2)
            trial.ticket.cancel()
            np.testing.assert_array_equal(await waiting.whole(), SOUND)
            assert states(pool) == [CLOSED]

    asyncio.run(main())


def test_a_time_out_counts_against_the_server_and_is_not_tried_again():
    async def main():
        slow, good = Script(HANG), Script(WELL)
        limits = Limits(first_chunk_s=1.5, gap_s=1.5)
        async with farm(slow, good, breaker_failures=1, breaker_open_s=60, limits=limits) as pool:
            first, second = ask(pool), ask(pool)
            assert "no sound" in (await first.failure()).message
            np.testing.assert_array_equal(await second.whole(), SOUND)
            assert len(good.asked) == 1 and states(pool) == [OPEN, CLOSED]

    asyncio.run(main())


def test_a_dead_server_beside_a_living_one_does_not_keep_us_from_starting(unused_port):
    async def main():
        async with (
            http_server(Script(WELL)) as url,
            asking([f"http://127.0.0.1:{unused_port}", url]) as pool,
        ):
            np.testing.assert_array_equal(await ask(pool).whole(), SOUND)

    asyncio.run(main())


class Told(logging.Handler):
    """Sets an event when something is logged."""

    def __init__(self):
        super().__init__()
        self.event = asyncio.Event()

    def emit(self, record):
        self.event.set()


def test_a_server_that_comes_late_is_waited_for_and_the_wait_is_told(unused_port, monkeypatch):
    monkeypatch.setattr("abr_tts.engine.remote.pool.GREET_S", 0.05)

    async def main():
        pool = pool_for(EngineSpec("openai", {"url": f"http://127.0.0.1:{unused_port}"}), 1, Limits())
        told = Told()
        logging.getLogger("abr_tts.engine").addHandler(told)
        try:
            starting = asyncio.ensure_future(pool.start())
            await asyncio.wait_for(told.event.wait(), PATIENCE_S)
            await eventually(lambda: pool.progress.sentence)
        finally:
            logging.getLogger("abr_tts.engine").removeHandler(told)
        assert pool.progress.state == LOADING and pool.ready == 0
        assert "waiting for a server: the engine's server cannot be reached" in pool.progress.sentence
        async with http_server(Script(WELL), port=unused_port):
            await asyncio.wait_for(starting, PATIENCE_S)
            assert pool.progress.state == READY and not pool.progress.sentence
            np.testing.assert_array_equal(await ask(pool).whole(), SOUND)
            await pool.stop()

    asyncio.run(main())
