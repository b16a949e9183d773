"""A pool hands every sample of a clause to its sink, once, in order, whoever else is speaking."""

import asyncio

import numpy as np
import pytest

from abr_tts.engine import face, ipc, tone
from abr_tts.engine.base import CONVERTED_RATE, Abilities
from abr_tts.engine.build import pool_for
from abr_tts.engine.kinds import KINDS
from abr_tts.engine.pool import EngineSpec, Limits, Pool
from abr_tts.errors import (
    BadField,
    Busy,
    ConfigError,
    EngineError,
    EngineLost,
    MissingDependency,
    UnknownVoice,
    Unsupported,
)

from ..server.harness import soon
from .pools import PATIENCE_S, Collector, pids, running, speak

LONG = "a" * 2_000  # two minutes of tone


@pytest.mark.parametrize("rate", [8_000, 22_050, 48_000])
def test_the_tone_arrives_sample_for_sample_at_any_rate(rate):
    async def main():
        async with running(rate=rate) as pool:
            assert {voice.sample_rate for voice in pool.voices} == {rate}
            heard = await speak(pool, "what a listener hears").whole()
            wanted = tone.expected("what a listener hears", options=tone.Options(rate=rate))
            np.testing.assert_array_equal(heard, wanted)
            assert pool.stats.samples == len(wanted)

    asyncio.run(main())


@pytest.mark.parametrize("chunks", [[0, 1, 7], [96_000], [0, 0, 100_000, 1]])
def test_any_chunk_plan_gives_the_same_samples(chunks):
    async def main():
        async with running(chunks=chunks) as pool:
            text = "x" * (3 if max(chunks) < 10 else 70)
            np.testing.assert_array_equal(await speak(pool, text).whole(), tone.expected(text))

    asyncio.run(main())


def test_faulty_samples_are_cleaned_and_counted_and_logged_once(caplog):
    async def main():
        async with running() as pool:
            text = "abcdefghij" * 3
            for voice in ("tone-hot", "tone-nan", "tone-odd", "tone-empty", "tone-whole", "tone-silence"):
                heard = await speak(pool, text, voice).whole()
                np.testing.assert_array_equal(heard, tone.expected(text, voice), err_msg=voice)
            await speak(pool, text, "tone-nan").whole()
            assert pool.stats.bad_samples == 2 * 2 * 30
            assert pool.stats.lost == 0

    asyncio.run(main())
    assert sum("not finite" in record.message for record in caplog.records) == 1


def test_samples_louder_than_full_scale_are_clipped_not_wrapped():
    heard = tone.expected("abc", "tone-hot").astype(int)
    assert heard.max() == 32_767 and heard.min() == -32_768
    assert np.abs(np.diff(heard)).max() < 20_000, "a wrapped sample jumps by full scale"


def test_a_late_engine_is_waited_for():
    async def main():
        async with running(late_s=0.3) as pool:
            loop = asyncio.get_running_loop()
            begin = loop.time()
            sink = speak(pool, "ab" * 20, "tone-late")
            await sink.started.wait()
            assert loop.time() - begin >= 0.3
            np.testing.assert_array_equal(await sink.whole(), tone.expected("ab" * 20))

    asyncio.run(main())


class Listed(Collector):
    """A sink that enters its name in a list when it first hears something."""

    def __init__(self, name, names):
        super().__init__()
        self.name, self.names = name, names

    def pcm(self, samples):
        if not self.chunks:
            self.names.append(self.name)
        super().pcm(samples)


def test_requests_beyond_the_workers_wait_in_order_and_first_clauses_overtake():
    async def main():
        async with running(rtf=0.05) as pool:
            names = []
            for name in "abCdE":
                sink = Listed(name, names)
                pool.say("abcdef", pool.voices[0], None, 1.0, sink, first=name.isupper())
            assert pool.waiting == 4
            await pool.until(lambda: pool.stats.done == 5)
            assert "".join(names) == "aCEbd"

    asyncio.run(main())


def test_first_clauses_that_never_stop_coming_do_not_starve_those_who_wait():
    async def main():
        async with running(rtf=0.05) as pool:
            names = []

            class Opener(Listed):
                """A stream under overload: as soon as one begins to speak, another wants to."""

                def pcm(self, samples):
                    if not self.chunks and len(names) < 40:
                        pool.say("ab", pool.voices[0], None, 1.0, Opener("F", names), first=True)
                    super().pcm(samples)

            for name in "ab":
                pool.say("abcdef", pool.voices[0], None, 1.0, Opener(name, names))
            for _ in range(5):
                pool.say("ab", pool.voices[0], None, 1.0, Opener("F", names), first=True)
            await pool.until(lambda: "b" in names or len(names) >= 40)
            assert "".join(names) == "aFFFb"

    asyncio.run(main())


def test_one_request_too_many_is_refused_as_busy_with_a_time_to_come_back():
    async def main():
        async with running(rtf=1.0, limits=Limits(queue=2)) as pool:
            sinks = [speak(pool, LONG) for _ in range(3)]
            with pytest.raises(Busy) as refused:
                speak(pool, "one more")
            assert refused.value.retry_after
            for sink in sinks:
                sink.ticket.cancel()
            assert (await speak(pool, "again").whole()).size

    asyncio.run(main())


def test_streams_at_once_never_hear_each_other():
    async def main():
        async with running(size=2, chunks=[777]) as pool:
            texts = ["n" * (3 + number % 40) for number in range(60)]
            sinks = [speak(pool, text, "tone-length") for text in texts]
            for text, sink in zip(texts, sinks, strict=True):
                np.testing.assert_array_equal(await sink.whole(), tone.expected(text, "tone-length"))

    asyncio.run(main())


def test_a_cancelled_request_is_silent_at_once_and_its_worker_free_within_a_chunk():
    async def main():
        async with running(rtf=1.0, chunks=[1_440]) as pool:
            before, loop = pids(pool), asyncio.get_running_loop()

            async def free_s() -> float:
                sink, cancelled = speak(pool, LONG), pool.stats.cancelled
                await sink.started.wait()
                heard = len(sink.chunks)
                sink.ticket.cancel()
                begin = loop.time()
                await pool.until(lambda: pool.stats.busy == 0)
                took_s = loop.time() - begin
                assert len(sink.chunks) == heard and not sink.over.is_set()
                assert pool.stats.cancelled == cancelled + 1
                return took_s

            await soon(free_s, 0.5)  # a chunk lasts 60 ms
            np.testing.assert_array_equal(await speak(pool, "hi").whole(), tone.expected("hi"))
            assert pids(pool) == before, "nothing had to be replaced"

    asyncio.run(main())


def test_a_request_cancelled_in_the_queue_never_reaches_a_worker():
    async def main():
        async with running(rtf=0.1) as pool:
            speaking, waiting = speak(pool, "abcdef"), speak(pool, LONG)
            waiting.ticket.cancel()
            waiting.ticket.cancel()
            last = speak(pool, "xy")
            await speaking.whole()
            await last.whole()
            assert not waiting.chunks and not waiting.over.is_set()
            assert pool.stats.cancelled == 1 and pool.stats.done == 2

    asyncio.run(main())


def test_a_sink_that_raises_costs_its_own_request_alone():
    class Broken(Collector):
        def pcm(self, samples):
            raise RuntimeError("this sink is broken")

    async def main():
        async with running(rtf=0.2) as pool:
            before = pids(pool)
            sink = Broken()
            pool.say(LONG, pool.voices[0], None, 1.0, sink)
            assert (await speak(pool, "ok").whole()).size
            assert isinstance(await sink.failure(), EngineError) and pids(pool) == before

    asyncio.run(main())


def test_stop_faults_what_is_under_way_and_leaves_no_process():
    async def main():
        async with running(size=2, rtf=1.0) as pool:
            sinks = [speak(pool, LONG) for _ in range(4)]
            await sinks[0].started.wait()
            workers = list(pool._workers)
            await pool.stop()
            for sink in sinks:
                assert isinstance(await sink.failure(), EngineLost)
            assert all(worker._process.returncode is not None for worker in workers)
            assert isinstance(await speak(pool, "too late").failure(), EngineLost)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("spec", "kind", "words"),
    [
        (EngineSpec("tone", {"loudness": 3}), EngineError, "no option loudness"),
        (EngineSpec("tone", {"chunks": [0]}), EngineError, "never come to an end"),
        (EngineSpec("espeak", {"library": "/no/such.so", "data": "/no"}), MissingDependency, "/no/such.so"),
        (EngineSpec("tone", python="/no/such/python"), EngineError, "/no/such/python cannot be started"),
        (EngineSpec("festival"), EngineError, "no engine 'festival'; there are espeak, "),
    ],
)
def test_an_engine_that_cannot_start_says_why_in_one_sentence(spec, kind, words):
    async def main():
        pool = Pool(spec)
        with pytest.raises(kind) as refused:
            await asyncio.wait_for(pool.start(), 10)
        assert words in str(refused.value) and "\n" not in str(refused.value)
        assert not pool._workers, "nothing is left behind"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("spec", "warned"), [(EngineSpec("hibari"), False), (EngineSpec("tone", {"loudness": 3}), True)]
)
def test_of_a_package_that_is_missing_the_log_tells_nothing_before_the_error(
    tmp_path, monkeypatch, caplog, spec, warned
):
    (tmp_path / "hibari.py").write_text("raise ImportError('not here')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    expected = EngineError if warned else MissingDependency
    with pytest.raises(expected, match="loudness" if warned else "hibari cannot be imported"):
        asyncio.run(asyncio.wait_for(Pool(spec, 2).start(), 10))
    assert ("WARNING" in {record.levelname for record in caplog.records}) is warned


def test_an_interpreter_without_our_libraries_is_reported_with_the_last_line_it_printed(tmp_path):
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\necho Traceback\necho \"ModuleNotFoundError: No module named 'numpy'\"\nexit 1\n"
    )
    python.chmod(0o755)

    async def main():
        with pytest.raises(EngineError, match="No module named 'numpy'"):
            await asyncio.wait_for(Pool(EngineSpec("tone", python=str(python))).start(), 10)

    asyncio.run(main())


def test_an_unknown_voice_is_refused_with_near_names():
    async def main():
        async with running() as pool:
            with pytest.raises(UnknownVoice, match="tone-hang"):
                pool.choose("tone-hnag", None, "x")

    asyncio.run(main())


def test_an_engine_that_cannot_be_told_how_and_converts_nothing_says_so_before_it_is_asked():
    async def main():
        async with running() as pool:
            voice, sink = pool.voices[0], Collector()
            with pytest.raises(Unsupported, match="told how to speak"):
                pool.say("abc", voice, None, 1.0, sink, instruct="gladly")
            with pytest.raises(Unsupported, match="converts no voices"):
                pool.convert(np.zeros(1_600, np.int16), voice, 1.0, sink)
            assert pool.stats.said == 0

    asyncio.run(main())


@pytest.mark.parametrize(("samples", "taken"), [(0, False), (1, True), (480_000, True), (480_001, False)])
def test_speech_to_convert_is_some_and_thirty_seconds_at_most(samples, taken):
    assert CONVERTED_RATE == 16_000
    audio = np.zeros(samples, np.int16)
    if taken:
        face.check_convertible(Abilities("x", converts=True), audio)
    else:
        with pytest.raises(BadField, match="30 s at most"):
            face.check_convertible(Abilities("x", converts=True), audio)


def test_a_pool_tells_how_far_it_is_from_its_start_to_its_end():
    async def main():
        pool = Pool(EngineSpec("tone"), 2)
        assert pool.progress == face.Standing(face.STARTING, "starting the tone engine", 0.0, 0.0)
        starting = asyncio.ensure_future(pool.start())
        await asyncio.sleep(0)  # `start` spawns them in its first turn
        one, other = pool._workers
        one.loading, other.loading = ipc.Loading("reading", 0.25), ipc.Loading("warming up", 0.75)
        standing = pool.progress
        assert (standing.state, standing.sentence, standing.share) == (face.LOADING, "warming up", 0.75)
        await asyncio.wait_for(starting, PATIENCE_S)
        ready = pool.progress
        assert (ready.state, ready.share) == (face.READY, 1.0) and 0 < ready.seconds < PATIENCE_S
        await pool.stop()
        assert pool.progress.state == face.STOPPED

    asyncio.run(main())


def test_a_pool_whose_engine_no_longer_starts_says_why():
    async def main():
        pool = Pool(EngineSpec("tone", {"loudness": 3}), limits=Limits(backoff_s=(60.0, 60.0)))
        with pytest.raises(EngineError):
            await asyncio.wait_for(pool.start(), 10)
        assert pool.progress.state == face.STOPPED and "no option loudness" in pool.progress.sentence

    asyncio.run(main())


def test_every_kind_of_engine_is_known_by_its_class_and_the_unknown_is_refused():
    for kind in KINDS.values():
        assert kind.sentence.endswith(".") and kind.module and kind.cls
    for arguments in ({"spec": EngineSpec("festival")}, {"spec": EngineSpec("tone"), "pool": "boats"}):
        with pytest.raises(ConfigError, match=r"festival|boats"):
            pool_for(size=1, limits=Limits(), **arguments)
    assert isinstance(pool_for(EngineSpec("tone"), 1, Limits()), Pool)
