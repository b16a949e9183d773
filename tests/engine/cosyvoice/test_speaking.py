"""CosyVoice's sound through a real worker process: every sample, in the pieces that it plans."""

import asyncio

import numpy as np
import pytest

from abr_tts.audio.pcm import to_int16
from abr_tts.engine.base import Voice
from abr_tts.engine.pool import Limits
from abr_tts.errors import EngineError, UnknownVoice

from ..pools import Collector
from . import fake
from .engines import pool_of, say

LONG = "n" * 60
"""240 tokens, 9.6 s: two pieces and a rest even of the longest plan."""

FULL = 16_384
"""Samples of the worker's longest message: a piece of CosyVoice arrives as several."""


def pieces(sink):
    """Samples of each piece, put together again from the worker's messages."""
    sizes, size = [], 0
    for chunk in sink.chunks:
        size += chunk.size
        if chunk.size != FULL:
            sizes, size = [*sizes, size], 0
    return [*sizes, size] if size else sizes


def expected(text, plan, version=2):
    """The int16 samples of one sentence in pieces of `plan` samples."""
    rate, a_second = (22_050, 50) if version == 1 else (24_000, 25)
    total = fake.TOKENS_A_CHAR * len(text) * rate // a_second
    out, at = [], 0
    for size in [*plan, total - sum(plan)]:
        out.append(fake.sound(at, at + size, at == 0)[0])
        at += size
    return to_int16(np.concatenate(out))


def run(main):
    asyncio.run(main)


def say_as(pool, voice):
    """As a listener whose voice was there a moment ago."""
    sink = Collector(pool.moved)
    sink.ticket = pool.say("n", voice, None, 1.0, sink)
    return sink


@pytest.mark.parametrize(
    "version, factor, plan",
    [
        (1, 1, [38_808] * 2),
        (2, 1, [20_160] + [24_000] * 8),
        (2, 2, [20_160, 48_000, 96_000]),
        (3, 1, [20_160] + [24_000] * 8),
    ],
)
def test_every_request_has_the_chunk_plan_of_the_first_and_no_sample_is_wrapped(
    checkout, weights, version, factor, plan
):
    async def main():
        async with pool_of(checkout, weights[version], stream_scale_factor=factor) as pool:
            for _ in range(3):
                sink = say(pool, LONG)
                samples = await sink.whole()
                wanted = expected(LONG, plan, version)
                np.testing.assert_array_equal(samples, wanted)
                assert pieces(sink)[: len(plan)] == plan
                assert samples.max() == 32_767 and samples.min() == -32_768

    run(main())


def test_three_requests_at_once_keep_their_chunk_plans(checkout, weights):
    async def main():
        async with pool_of(checkout, weights[2]) as pool:
            sinks = [say(pool, LONG + "abc"[number]) for number in range(3)]
            for sink in sinks:
                assert (await sink.whole()).size == 61 * fake.TOKENS_A_CHAR * 960
                assert pieces(sink)[:3] == [20_160, 24_000, 24_000]

    run(main())


@pytest.mark.parametrize("speed", [0.5, 1.25, 2.0])
def test_a_speed_is_never_ignored(checkout, weights, speed):
    """The fake, like the original, does at another speed what it is told only for the whole sentence."""

    async def main():
        async with pool_of(checkout, weights[2]) as pool:
            sink = say(pool, LONG, speed=speed)
            assert (await sink.whole()).size == pytest.approx(60 * fake.TOKENS_A_CHAR * 960 / speed, abs=960)
            assert len(pieces(sink)) == 1

    run(main())


@pytest.mark.parametrize("speed, heard", [(0.1, 0.5), (9.0, 2.0)])
def test_a_speed_beyond_its_bounds_is_taken_to_them(checkout, weights, speed, heard):
    async def main():
        async with pool_of(checkout, weights[2]) as pool:
            assert (await say(pool, "nnnn", speed=speed).whole()).size == round(16 * 960 / heard)

    run(main())


def test_without_streaming_a_sentence_comes_whole(checkout, weights):
    async def main():
        async with pool_of(checkout, weights[2], stream=False) as pool:
            sink = say(pool, LONG)
            assert (await sink.whole()).size == 60 * fake.TOKENS_A_CHAR * 960
            assert len(pieces(sink)) == 1

    run(main())


def test_by_default_each_sentence_begins_and_ends_in_silence_and_keeps_its_length(checkout, weights):
    async def main():
        guarded = {"fade_in_ms": 20.0, "tail_guard_ms": 40.0}
        async with pool_of(checkout, weights[2], **guarded) as pool:
            samples = await say(pool, "nnnnnnnnn.mmmmmmmmm.").whole()
            begin, second, total = 0, 40 * 960, 80 * 960
            assert samples.size == total
            plain = np.abs(expected("n" * 20, []))[480:960].max()
            for at in (begin, second, second - 24, total - 24):
                assert np.abs(samples[at : at + 24]).max() < 0.05 * plain
            assert np.abs(samples[second + 480 : second + 960]).max() == plain

    run(main())


@pytest.mark.parametrize("text", ["", "   ", "\n", "…", "。。。", "?!", "😀😀"])
def test_what_cannot_be_pronounced_is_silence_of_length_0(checkout, weights, text):
    async def main():
        async with pool_of(checkout, weights[2]) as pool:
            assert (await say(pool, text).whole()).size == 0
            assert (await say(pool, "n").whole()).size

    run(main())


def test_a_voice_that_the_model_does_not_have_is_refused_and_the_worker_is_well(checkout, weights):
    async def main():
        async with pool_of(checkout, weights[2]) as pool:
            with pytest.raises(UnknownVoice):
                say(pool, "n", "nobody")
            refused = await say_as(pool, Voice("nobody", (), 24_000)).failure()
            assert type(refused) is EngineError and "nobody" in refused.message
            assert (await say(pool, "n").whole()).size and pool.stats.lost == 0

    run(main())


def test_a_key_error_at_the_first_next_is_refused_and_the_worker_is_well(checkout, weights):
    async def main():
        async with pool_of(checkout, weights[2]) as pool:
            refused = await say(pool, "choke").failure()
            assert type(refused) is EngineError
            assert refused.message == "CosyVoice cannot speak this: KeyError: 'embedding'"
            assert (await say(pool, "n").whole()).size and pool.stats.lost == 0

    run(main())


def test_the_engine_is_warm_before_it_is_ready(checkout, weights):
    async def main():
        async with pool_of(checkout, weights[2], warm_up="raise", limits=Limits(load_s=5)):
            pass

    with pytest.raises(EngineError, match="the language model failed"):
        run(main())
