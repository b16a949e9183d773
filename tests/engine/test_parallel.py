"""One worker speaks several texts at once: each is its own, and what costs the process costs all of them."""

import asyncio
import os
import signal

import numpy as np
import pytest

from abr_tts.engine import tone
from abr_tts.engine.build import pool_for
from abr_tts.engine.kinds import KINDS
from abr_tts.engine.pool import EngineSpec, Limits
from abr_tts.errors import ConfigError, EngineLost, EngineTimeout

from .pools import pids, running, speak

LONG = "a" * 2_000
"""Two minutes of tone."""

TEXTS = ["what a listener hears", "b" * 30, "a clause", "yet another one"]

IMPATIENT = Limits(first_chunk_s=5.0, gap_s=0.6, cancel_s=0.6)


def run(main):
    asyncio.run(main())


@pytest.mark.parametrize("size, parallel", [(1, 2), (1, 4), (2, 3)])
def test_texts_at_once_never_hear_each_other(size, parallel):
    async def main():
        async with running(size=size, parallel=parallel, rtf=0.1) as pool:
            for _ in range(3):
                sinks = [speak(pool, text, "tone-length") for text in TEXTS * 2]
                for sink, text in zip(sinks, TEXTS * 2, strict=True):
                    np.testing.assert_array_equal(await sink.whole(), tone.expected(text, "tone-length"))
            assert len(pids(pool)) == size and pool.stats.done == 24

    run(main)


def test_as_many_begin_as_may_and_one_more_waits_for_the_first_that_ends():
    async def main():
        async with running(parallel=3, rtf=1.0) as pool:
            sinks = [speak(pool, LONG) for _ in range(4)]
            assert pool.waiting == 1 and pool.stats.busy == 1
            for sink in sinks[:3]:
                await asyncio.wait_for(sink.started.wait(), 10)
            assert not sinks[3].started.is_set()
            sinks[1].ticket.cancel()
            await asyncio.wait_for(sinks[3].started.wait(), 10)
            assert pool.waiting == 0

    run(main)


def test_the_least_busy_worker_is_given_the_next_text():
    async def main():
        async with running(size=2, parallel=3, rtf=1.0) as pool:
            for _ in range(4):
                speak(pool, LONG)
            assert [worker.load for worker in pool._workers] == [2, 2]
            speak(pool, LONG)
            assert sorted(worker.load for worker in pool._workers) == [2, 3]
            assert sum(worker.room for worker in pool._workers) == 1

    run(main)


def test_a_cancel_ends_its_own_text_and_the_others_are_whole():
    async def main():
        async with running(parallel=3, rtf=0.2) as pool:
            told = []
            pool.freed = told.append
            one, gone, two = speak(pool, "a" * 40), speak(pool, LONG), speak(pool, "b" * 40)
            await asyncio.wait_for(gone.started.wait(), 10)
            gone.ticket.cancel()
            heard = len(gone.chunks)
            for sink, letter in ((one, "a"), (two, "b")):
                np.testing.assert_array_equal(await sink.whole(), tone.expected(letter * 40))
            await pool.until(lambda: pool.stats.busy == 0)
            assert len(gone.chunks) == heard and len(told) == 1 and told[0] < 1.0
            assert pool.stats.lost == 0

    run(main)


def test_a_refusal_costs_its_own_text_alone():
    async def main():
        async with running(parallel=2, rtf=0.2) as pool:
            other, refused = speak(pool, "a" * 40), speak(pool, "abcd", "tone-refuse")
            assert "asked to refuse" in (await refused.failure()).message
            np.testing.assert_array_equal(await other.whole(), tone.expected("a" * 40))
            assert pool.stats.lost == 0

    run(main)


def test_a_killed_worker_fails_all_that_it_spoke_and_nobody_else():
    async def main():
        async with running(size=2, parallel=3, rtf=0.5) as pool:
            sinks = [speak(pool, "a" * 60) for _ in range(6)]
            victim = next(iter(pool._workers))
            lost = [sink for sink in sinks if sink.ticket.worker is victim]
            for sink in sinks:
                await asyncio.wait_for(sink.started.wait(), 10)
            os.kill(victim.pid, signal.SIGKILL)
            for sink in lost:
                assert type(await sink.failure()) is EngineLost
            for sink in set(sinks) - set(lost):
                np.testing.assert_array_equal(await sink.whole(), tone.expected("a" * 60))
            await pool.until(lambda: pool.ready == 2)
            assert (len(lost), pool.stats.faults, pool.stats.lost) == (3, 3, 1)

    run(main)


def test_a_text_that_hangs_is_told_so_and_those_beside_it_are_lost():
    async def main():
        async with running(parallel=2, rtf=0.5, limits=IMPATIENT) as pool:
            before = pids(pool)
            other, hung = speak(pool, LONG), speak(pool, "abcd", "tone-hang")
            assert type(await hung.failure()) is EngineTimeout
            assert type(await other.failure()) is EngineLost
            await pool.until(lambda: pool.ready == 1)
            assert not pids(pool) & before
            assert (await speak(pool, "again").whole()).size

    run(main)


def test_a_stop_faults_all_that_is_spoken():
    async def main():
        async with running(parallel=3, rtf=1.0) as pool:
            sinks = [speak(pool, LONG) for _ in range(4)]
            await asyncio.wait_for(sinks[0].started.wait(), 10)
        assert {type(await sink.failure()) for sink in sinks} == {EngineLost}

    run(main)


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if not kind.parallel])
def test_an_engine_that_speaks_one_text_at_a_time_refuses_more_before_it_starts(kind):
    with pytest.raises(ConfigError, match=r"engine\.parallel = 2: .*engine\.workers"):
        pool_for(EngineSpec(kind, parallel=2), 1, Limits())


def test_an_actor_speaks_one_text_at_a_time():
    with pytest.raises(ConfigError, match=r"engine\.parallel = 2: an actor"):
        pool_for(EngineSpec("tone", parallel=2), 1, Limits(), pool="ray")
