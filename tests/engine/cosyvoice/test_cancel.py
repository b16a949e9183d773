"""A model without a cancel is stopped within 0.2 s, leaves nothing behind, and a sick one is replaced."""

import asyncio
import threading
import time
from typing import ClassVar

import pytest

from abr_tts.engine.base import Line
from abr_tts.engine.pool import Limits
from abr_tts.errors import EngineError, EngineTimeout

from ..pools import pids
from . import fake
from .engines import loaded, pool_of, say, state

FREE_S = 0.2
"""Most that may pass from a cancel until the model is free."""

IMPATIENT = Limits(first_chunk_s=1.0, gap_s=0.5, cancel_s=2.0)
REPLACED_S = 4.0


TRIES = 3
"""How often a cancel may be tried until one is in time: others use this machine too."""


async def frees(pool, text, *, heard=True, **more):
    """Whether a cancel of `text`, after its first sound or before, frees the model in time."""
    for _ in range(TRIES):
        sink = say(pool, text, **more)
        if heard:
            await asyncio.wait_for(sink.started.wait(), 10)
        else:
            await pool.until(lambda: pool.stats.busy == 1)
        seconds = await freed(pool, sink)
        assert heard or not sink.chunks
        if seconds <= FREE_S:
            return True
    return False


async def freed(pool, sink):
    """Seconds from cancelling `sink` until the worker is idle."""
    begin = time.monotonic()
    sink.ticket.cancel()
    await pool.until(lambda: pool.stats.busy == 0)
    return time.monotonic() - begin


def run(main):
    asyncio.run(main())


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("text", ["slow " + "n" * 100, "hang " + "n" * 60])
def test_a_cancel_in_mid_sentence_frees_the_model(checkout, weights, version, text):
    async def main():
        async with pool_of(checkout, weights[version]) as pool:
            before = pids(pool)
            assert await frees(pool, text)
            assert (await state(pool))[:2] == (0, 0)
            assert (await say(pool, "nnnn").whole()).size == 16 * (441 if version == 1 else 960)
            assert pids(pool) == before

    run(main)


def test_a_cancel_before_the_first_sound_frees_the_model(checkout, weights):
    async def main():
        async with pool_of(checkout, weights[2]) as pool:
            assert await frees(pool, "slow " + "n" * 100, heard=False)
            assert (await state(pool))[:2] == (0, 0)

    run(main)


def test_a_cancel_inside_the_flow_need_not_wait_for_its_end(checkout, weights, monkeypatch):
    """A piece takes 300 steps of 10 ms; the listener goes after ten of them."""
    engine = loaded(checkout, weights[2], monkeypatch)
    flow = engine._variant.model.model.flow.decoder.estimator
    heard = []
    engine.say(Line("steep " + "n" * 60, "中文女"), lambda chunk: heard.append(chunk) or flow.steps < 10)
    assert 10 <= flow.steps < 150, "with a watch every 20 ms some 12"
    assert sum(map(len, heard)) == 0
    inner = engine._variant.model.model
    assert not (inner.tts_speech_token_dict or inner.llm_end_dict or inner.hift_cache_dict)
    before = flow.steps
    engine.say(Line("nnnn", "中文女"), lambda chunk: True)
    assert flow.steps == before + 1, "the flow is as good as before"


def test_a_sentence_that_is_made_whole_is_cancelled_as_fast(checkout, weights):
    async def main():
        async with pool_of(checkout, weights[2]) as pool:
            assert await frees(pool, "slow " + "n" * 100, heard=False, speed=1.5)
            assert (await state(pool))[:2] == (0, 0)

    run(main)


def test_fifty_cancels_leak_no_entry_and_no_thread(checkout, weights):
    async def main():
        async with pool_of(checkout, weights[2]) as pool:
            before = pids(pool)
            for number in range(50):
                sink = say(pool, ("hang " if number % 2 else "slow ") + "n" * 40)
                if number % 2:
                    await asyncio.wait_for(sink.started.wait(), 10)
                await freed(pool, sink)
            assert (await state(pool))[:2] == (0, 0)
            assert pids(pool) == before and pool.stats.lost == 0
            assert pool.stats.cancelled == 50

    run(main)


def test_the_second_sentence_of_a_clause_is_cancelled_too(checkout, weights):
    async def main():
        async with pool_of(checkout, weights[2]) as pool:
            sink = say(pool, "nnnnnnnnnn.slow " + "n" * 60)
            first = 11 * fake.TOKENS_A_CHAR * 960
            await pool.until(lambda: len(sink.samples) > first)
            await freed(pool, sink)
            assert (await state(pool))[:2] == (0, 0)

    run(main)


@pytest.mark.parametrize(
    "text, words",
    [("raise " + "n" * 60, "the language model failed"), ("explode " + "n" * 60, "device-side assert")],
)
def test_an_exception_of_its_own_thread_or_vocoder_is_told_at_once_and_the_worker_replaced(
    checkout, weights, text, words
):
    async def main():
        patient = Limits(first_chunk_s=60, gap_s=60)
        async with pool_of(checkout, weights[2], limits=patient) as pool:
            before = pids(pool)
            begin = time.monotonic()
            error = await say(pool, text).failure()
            assert type(error) is EngineError and words in error.message
            assert time.monotonic() - begin < 5, "not by the time-out"
            async with asyncio.timeout(REPLACED_S):
                await pool.until(lambda: pool.ready == 1)
            assert not pids(pool) & before
            assert (await say(pool, "nnnn").whole()).size == 16 * 960

    run(main)


def test_cosyvoice_3_without_its_mark_would_hang_and_with_ours_it_speaks(checkout, weights):
    async def main():
        async with pool_of(checkout, weights[3], limits=IMPATIENT) as pool:
            assert (await say(pool, "nnnn").whole()).size == 16 * 960
            # A listener's own mark ends nothing: it is taken out.
            assert (await say(pool, "nn<|endofprompt|>nn").whole()).size == 5 * 4 * 960

    run(main)


def test_a_hung_language_model_ends_by_the_time_out_and_a_fresh_worker_follows(checkout, weights):
    async def main():
        async with pool_of(checkout, weights[2], limits=IMPATIENT) as pool:
            before = pids(pool)
            begin = time.monotonic()
            assert type(await say(pool, "hang " + "n" * 60).failure()) is EngineTimeout
            assert time.monotonic() - begin < 3
            async with asyncio.timeout(REPLACED_S):
                await pool.until(lambda: pool.ready == 1)
            assert not pids(pool) & before
            assert (await say(pool, "nnnn").whole()).size == 16 * 960

    run(main)


def test_a_listener_who_goes_in_the_midst_of_a_long_piece_is_noticed_while_it_is_sent(checkout, weights):
    """A piece of 4 s is three or more messages; a cancel between two of them ends it there."""

    async def main():
        async with pool_of(checkout, weights[2], stream=False) as pool:
            assert await frees(pool, "n" * 100)
            assert (await state(pool))[:2] == (0, 0) and pool.stats.lost == 0

    run(main)


def test_a_request_that_vllm_works_at_is_aborted_there(checkout, weights, monkeypatch):
    """vLLM knows no dict of CosyVoice's; a fake of the three names that CosyVoice uses of it."""

    class Llm:
        lock = threading.Lock()
        vllm_output_queue: ClassVar = {}
        aborted: ClassVar = []

        class vllm:
            @staticmethod
            def abort_request(requests):
                assert Llm.lock.locked(), "CosyVoice's threads step it under this lock"
                Llm.aborted += requests

    engine = loaded(checkout, weights[2], monkeypatch)
    inner = engine._variant.model.model
    inner.llm = Llm

    def gone(chunk):
        Llm.vllm_output_queue.update(dict.fromkeys(inner.llm_end_dict, "queue"))
        return not inner.llm_end_dict

    engine.say(Line("hang " + "n" * 60, "中文女"), gone)
    assert len(set(Llm.aborted)) == 1 and not Llm.vllm_output_queue
