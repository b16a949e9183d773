"""Several generations at once on one model: plans, words, prompts and cancels stay each one's own."""

import asyncio

import numpy as np
import pytest

from abr_tts.engine.references import read_wav
from abr_tts.errors import EngineError

from ..pools import Collector, pids
from . import fake
from .engines import pool_of, say, state
from .test_speaking import LONG, expected, pieces

FREE_S = 0.2
TRIES = 3
SLOW = "slow " + "n" * 100


def run(main):
    asyncio.run(main())


async def until_all_speak(pool, sinks):
    for sink in sinks:
        await asyncio.wait_for(sink.started.wait(), 10)
    assert pool.waiting == 0


@pytest.mark.parametrize("version, plan", [(1, [38_808] * 2), (2, [20_160] + [24_000] * 8)])
def test_three_generations_at_once_keep_their_chunk_plans(checkout, weights, version, plan):
    async def main():
        async with pool_of(checkout, weights[version], parallel=3) as pool:
            for _ in range(2):
                sinks = [say(pool, LONG) for _ in range(3)]
                assert pool.waiting == 0
                for sink in sinks:
                    np.testing.assert_array_equal(await sink.whole(), expected(LONG, plan, version))
                    assert pieces(sink)[: len(plan)] == plan
            assert (await state(pool))[:2] == (0, 0)

    run(main)


def test_they_do_run_at_once(checkout, weights):
    """Nine slow sentences of 0.4 s each, one after the other or three at a time."""

    async def main(parallel):
        async with pool_of(checkout, weights[2], parallel=parallel) as pool:
            begin = asyncio.get_running_loop().time()
            for sink in [say(pool, "slow n") for _ in range(9)]:
                await sink.whole()
            return asyncio.get_running_loop().time() - begin

    assert asyncio.run(main(3)) < 0.7 * asyncio.run(main(1))


def test_pieces_that_grow_are_counted_together_and_so_refused_where_several_speak(checkout, weights):
    async def main():
        with pytest.raises(EngineError, match=r"engine\.parallel = 2: with stream_scale_factor = 2"):
            async with pool_of(checkout, weights[2], parallel=2, stream_scale_factor=2):
                pass
        async with pool_of(checkout, weights[1], parallel=2, stream_scale_factor=2) as pool:
            assert (await say(pool, "nnnn").whole()).size == 16 * 441, "the first version counts each apart"

    run(main)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_cancel_stops_one_in_time_and_leaves_the_others_alone(checkout, weights, version):
    async def main():
        async with pool_of(checkout, weights[version], parallel=3) as pool:
            before, rate = pids(pool), 441 if version == 1 else 960
            for _ in range(TRIES):
                taken = []
                pool.freed = taken.append
                kept = [say(pool, SLOW), say(pool, SLOW)]
                gone = say(pool, "hang " + "n" * 60)
                await until_all_speak(pool, [*kept, gone])
                gone.ticket.cancel()
                for sink in kept:
                    assert (await sink.whole()).size == len(SLOW) * fake.TOKENS_A_CHAR * rate
                assert (await state(pool))[:2] == (0, 0)
                if len(taken) == 1 and taken[0] <= FREE_S:
                    break
            assert len(taken) == 1 and taken[0] <= FREE_S
            assert pids(pool) == before and pool.stats.lost == 0

    run(main)


def test_a_cancel_inside_the_flow_leaves_the_others_flow_alone(checkout, weights):
    async def main():
        async with pool_of(checkout, weights[2], parallel=2) as pool:
            kept, gone = say(pool, "steep nnn"), say(pool, "steep " + "n" * 60)
            await asyncio.sleep(0)
            gone.ticket.cancel()
            assert (await kept.whole()).size == 9 * fake.TOKENS_A_CHAR * 960
            assert (await state(pool))[:2] == (0, 0) and pool.stats.lost == 0

    run(main)


def test_thirty_cancels_among_others_leak_no_entry_and_no_thread(checkout, weights):
    async def main():
        async with pool_of(checkout, weights[2], parallel=3) as pool:
            before = pids(pool)
            for _ in range(10):
                sinks = [say(pool, text + "n" * 40) for text in ("slow ", "hang ", "hang ")]
                await asyncio.wait_for(sinks[1].started.wait(), 10)
                for sink in sinks:
                    sink.ticket.cancel()
                await pool.until(lambda: pool.stats.busy == 0)
            assert (await state(pool))[:2] == (0, 0)
            assert pids(pool) == before and pool.stats.lost == 0 and pool.stats.cancelled == 30

    run(main)


@pytest.mark.parametrize("old", [True, False])
def test_one_voice_speaks_several_texts_at_once(checkout, old_checkout, weights, clip, old):
    """The old signatures write each call's text into the prompt's entry, and delete parts of it."""

    async def main():
        voices = {"anna": {"audio": clip, "transcript": "hello"}, "bert": {"audio": clip}}
        async with pool_of(old_checkout if old else checkout, weights[2], parallel=4, voices=voices) as pool:
            speakers = (await state(pool))[3]
            for _ in range(5):
                sinks = [
                    (count, say(pool, "n" * count, voice)) for count in (4, 9) for voice in ("anna", "bert")
                ]
                for count, sink in sinks:
                    assert (await sink.whole()).size == count * fake.TOKENS_A_CHAR * 960
            assert (await state(pool))[2:] == (2, speakers), "each prompt is computed once"

    run(main)


def test_speech_is_converted_beside_speech(checkout, weights, clip):
    async def main():
        async with pool_of(checkout, weights[2], parallel=2, voices={"anna": {"audio": clip}}) as pool:
            sink = Collector(pool.moved)
            spoken = say(pool, LONG)
            pool.convert(read_wav(clip), pool.choose("anna", None, "n"), 1.0, sink)
            assert (await sink.whole()).size == 50 * 960
            np.testing.assert_array_equal(await spoken.whole(), expected(LONG, [20_160] + [24_000] * 8))

    run(main)


def test_an_exception_in_one_s_thread_is_told_to_all_and_the_worker_replaced(checkout, weights):
    async def main():
        async with pool_of(checkout, weights[2], parallel=2) as pool:
            before = pids(pool)
            sinks = [say(pool, SLOW), say(pool, "raise " + "n" * 60)]
            for sink in sinks:
                assert "the language model failed" in (await sink.failure()).message
            await pool.until(lambda: pool.ready == 1)
            assert not pids(pool) & before

    run(main)
