"""A worker that dies, hangs or raises costs its own request alone, and is replaced."""

import asyncio
import os
import random
import re
import signal

import numpy as np
import pytest

from abr_tts.engine import tone
from abr_tts.engine.pool import Limits
from abr_tts.errors import EngineError, EngineLost, EngineTimeout

from .pools import pids, running, speak

IMPATIENT = Limits(first_chunk_s=1.0, gap_s=0.8, cancel_s=0.8, ping_s=0.2, pong_s=0.8, drain_s=0.3)
REPLACED_S = 10.0
LONG = "a" * 2_000


FAULTS = {
    "tone-die": EngineLost,
    "tone-hang": EngineTimeout,
    "tone-raise": EngineError,
    "tone-thread": EngineError,
    "tone-freeze": EngineTimeout,
}


def test_a_fault_in_mid_utterance_ends_one_request_and_the_worker_is_replaced():
    async def main():
        async with running(size=2, rtf=0.2, limits=IMPATIENT) as pool:
            for number, (voice, error) in enumerate(FAULTS.items(), 1):
                bystander = speak(pool, "b" * 30)
                victim = speak(pool, "abcdefgh", voice)
                before = pids(pool)
                assert type(await victim.failure()) is error, voice
                np.testing.assert_array_equal(victim.samples, tone.expected("abcdefgh", voice))
                async with asyncio.timeout(REPLACED_S):
                    await pool.until(lambda: pool.ready == 2)
                assert len(pids(pool) & before) == 1, "only the faulty one was replaced"
                np.testing.assert_array_equal(await bystander.whole(), tone.expected("b" * 30))
                for sink in [speak(pool, "after"), speak(pool, "after")]:
                    np.testing.assert_array_equal(await sink.whole(), tone.expected("after"))
                stats = pool.stats
                assert (stats.lost, stats.faults, stats.done) == (number, number, 3 * number)
                assert stats.last_reason

    asyncio.run(main())


def test_a_gap_that_is_too_long_is_noticed_then_and_not_at_the_next_pulse():
    async def main():
        unhurried = Limits(gap_s=0.2, first_chunk_s=600.0, ping_s=600.0, pong_s=600.0)
        async with running(limits=unhurried) as pool:
            sink = speak(pool, "abcdefgh", "tone-hang")
            assert isinstance(await sink.failure(), EngineTimeout), "else it is heard of in ten minutes"
            np.testing.assert_array_equal(sink.samples, tone.expected("abcdefgh", "tone-hang"))

    asyncio.run(main())


def test_an_engine_that_never_begins_is_given_up_after_the_first_chunks_limit_and_replaced():
    async def main():
        patient = Limits(first_chunk_s=0.3, gap_s=600.0)
        async with running(first_delay_s=600.0, limits=patient) as pool:
            before = pids(pool)
            told = await speak(pool, "abc").failure()
            assert isinstance(told, EngineTimeout) and told.message == "the engine made no sound for 0.3 s"
            await pool.until(lambda: pool.ready == 1 and not pids(pool) & before)

    asyncio.run(main())


def test_an_exception_of_the_engine_is_logged_in_full_and_told_in_short(caplog):
    async def main():
        async with running() as pool:
            told = (await speak(pool, "abcd", "tone-raise").failure()).message
            assert told == "the engine failed: RuntimeError: the tone engine was asked to raise"

    asyncio.run(main())
    assert any("Traceback" in record.message and "_stop" in record.message for record in caplog.records)


def test_an_engine_that_refuses_a_text_keeps_its_worker():
    async def main():
        async with running() as pool:
            before = pids(pool)
            refused = await speak(pool, "abcd", "tone-refuse").failure()
            assert type(refused) is EngineError and "asked to refuse" in refused.message
            assert (await speak(pool, "abcd").whole()).size
            assert pids(pool) == before and pool.stats.lost == 0

    asyncio.run(main())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_worker_killed_from_outside_is_replaced_and_those_who_wait_are_served(number):
    async def main():
        async with running(rtf=1.0) as pool:
            victim, waiting = speak(pool, LONG), speak(pool, "next")
            await victim.started.wait()
            os.kill(*pids(pool), number)
            assert isinstance(await victim.failure(), EngineLost)
            async with asyncio.timeout(REPLACED_S):
                np.testing.assert_array_equal(await waiting.whole(), tone.expected("next"))
            assert f"signal {int(number)}" in pool.stats.last_reason

    asyncio.run(main())


def test_an_idle_worker_that_stops_answering_is_replaced():
    async def main():
        async with running(limits=IMPATIENT) as pool:
            before = pids(pool)
            os.kill(*before, signal.SIGSTOP)
            await pool.until(lambda: pool.ready == 1 and not pids(pool) & before)
            assert "ping" in pool.stats.last_reason
            assert (await speak(pool, "ok").whole()).size

    asyncio.run(main())


def test_an_engine_that_ignores_a_cancel_is_replaced():
    async def main():
        async with running(limits=IMPATIENT) as pool:
            before = pids(pool)
            sink = speak(pool, "abcdefgh", "tone-hang")
            await pool.until(lambda: len(sink.samples) == tone.samples_of("abcdefgh", "tone-hang"))
            sink.ticket.cancel()
            assert (await speak(pool, "ok").whole()).size
            assert not pids(pool) & before and not sink.over.is_set()

    asyncio.run(main())


def test_a_slow_engine_answers_pings_while_it_computes_and_is_left_in_peace():
    async def main():
        limits = Limits(ping_s=0.05, pong_s=2.0)
        async with running(first_delay_s=2.5, limits=limits) as pool:
            before = pids(pool)
            np.testing.assert_array_equal(await speak(pool, "abcd").whole(), tone.expected("abcd"))
            assert pids(pool) == before

    asyncio.run(main())


def test_a_parent_that_was_busy_itself_blames_nobody():
    async def main():
        async with running(rtf=0.05, chunks=[480], limits=IMPATIENT) as pool:
            sink = speak(pool, "a" * 200)
            await sink.started.wait()
            # Block the loop for longer than every limit, as a garbage collection might.
            signal.sigtimedwait([], 1.3)
            np.testing.assert_array_equal(await sink.whole(), tone.expected("a" * 200))
            assert pool.stats.lost == 0

    asyncio.run(main())


def test_an_engine_that_no_longer_starts_is_tried_again_and_those_who_wait_are_told(tmp_path):
    broken, python = tmp_path / "broken", tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\n[ -e {broken} ] && echo "the model is gone" && exit 3\nexec {os.sys.executable} "$@"\n'
    )
    python.chmod(0o755)

    async def main():
        limits = Limits(backoff_s=(0.01, 0.1))
        async with running(python=str(python), rtf=1.0, limits=limits) as pool:
            broken.touch()
            speaking, waiting = speak(pool, LONG), speak(pool, "next")
            await speaking.started.wait()
            os.kill(*pids(pool), signal.SIGKILL)
            assert isinstance(await speaking.failure(), EngineLost)
            assert "the model is gone" in (await waiting.failure()).message
            await pool.until(lambda: pool.stats.lost >= 4)
            assert "exit code 3" in pool.stats.last_reason and pool.ready == 0
            assert "the model is gone" in (await speak(pool, "meanwhile").failure()).message
            broken.unlink()
            await pool.until(lambda: pool.ready == 1)
            assert (await speak(pool, "back").whole()).size

    asyncio.run(main())


@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_every_sink_hears_whole_clauses_or_one_fault(seed):
    """Say, cancel and kill at random: what ends well is exact, and nothing comes after an end."""

    async def main():
        dice = random.Random(seed)
        async with running(size=2, chunks=[480], rtf=0.02, limits=Limits(backoff_s=(0.01, 0.05))) as pool:
            sinks = []
            for _ in range(60):
                act = dice.random()
                if act < 0.7:
                    text = "r" * dice.randint(1, 40)
                    sinks.append((text, speak(pool, text, "tone-length", first=dice.random() < 0.3)))
                elif act < 0.9:
                    dice.choice(sinks)[1].ticket.cancel() if sinks else None
                elif pool.ready:
                    os.kill(dice.choice([w.pid for w in pool._workers if w.pid]), signal.SIGKILL)
                await asyncio.sleep(dice.choice([0, 0, 0.004]))
            await pool.until(lambda: all(sink.ticket.over for _, sink in sinks))
            for text, sink in sinks:
                wanted = tone.expected(text, "tone-length")
                assert not sink.broken
                np.testing.assert_array_equal(sink.samples, wanted[: len(sink.samples)])
                if sink.over.is_set() and sink.error is None:
                    assert len(sink.samples) == len(wanted)
            stats = pool.stats
            assert stats.said == len(sinks) == stats.done + stats.faults + stats.cancelled

    asyncio.run(main())


def test_a_cancel_may_take_as_long_as_the_chunk_at_hand_and_no_longer():
    """A model that computes seconds of speech in one piece notices a cancel between two of them."""

    async def main():
        async with running(limits=Limits(gap_s=0.6, cancel_s=0.01)) as pool:
            sink = speak(pool, "abcdefgh", "tone-hang")
            await pool.until(lambda: len(sink.samples) == tone.samples_of("abcdefgh", "tone-hang"))
            sink.ticket.cancel()
            await speak(pool, "served by another").whole()
            granted = re.fullmatch(r"it went on for ([\d.]+) s after a cancel", pool.stats.last_reason)
            assert 0.3 < float(granted[1]) < 5

    asyncio.run(main())
