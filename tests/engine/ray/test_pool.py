"""The pool of actors has the face and the manners of the pool of processes. On a real local Ray."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from abr_tts.engine import tone
from abr_tts.engine.build import RAY, pool_for
from abr_tts.engine.face import READY, STARTING
from abr_tts.engine.references import RATE as CLIP_RATE
from abr_tts.engine.references import References
from abr_tts.engine.spec import EngineSpec, Limits
from abr_tts.errors import EngineError, EngineLost, EngineTimeout, MissingDependency

from ..pools import Collector

pytest.importorskip("ray", reason="pip install '.[ray]': Ray is not installed")
pytestmark = pytest.mark.usefixtures("cluster")

PATIENCE_S = 60.0
"""An actor takes a second to start, several on a busy machine."""
IMPATIENT = Limits(first_chunk_s=1.0, gap_s=0.5, cancel_s=0.5, ping_s=0.3, pong_s=1.0)
LONG = "a" * 2_000


async def until(pool, condition):
    """Wait until the pool has come to where `condition()` is true."""
    moved = asyncio.Event()
    for name in ("worker_ready", "worker_free", "worker_gone"):
        told = getattr(pool, name)

        def tell(*arguments, told=told):
            told(*arguments)
            moved.set()

        setattr(pool, name, tell)
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            moved.clear()
            await moved.wait()


@contextlib.asynccontextmanager
async def running(kind="tone", size=1, *, limits=None, cluster=None, **options):
    pool = pool_for(EngineSpec(kind, options, cluster=cluster or {}), size, limits or Limits(), pool=RAY)
    await asyncio.wait_for(pool.start(), PATIENCE_S)
    try:
        await until(pool, lambda: pool.ready == size)
        yield pool
    finally:
        await asyncio.wait_for(pool.stop(), PATIENCE_S)


def speak(pool, text, voice=None, **more):
    sink = Collector()
    sink.ticket = pool.say(text, pool.choose(voice, None, text), None, 1.0, sink, **more)
    return sink


def pids(pool):
    return {worker.pid for worker in pool._workers}


def test_every_sample_arrives_whatever_the_engine_hands_out():
    async def main():
        async with running(chunks=[1_440, 96_000, 0, 7]) as pool:
            assert pids(pool) != {os.getpid()} and pool.progress.state == READY
            for voice in ("tone", "tone-hot", "tone-nan", "tone-odd", "tone-empty", "tone-whole"):
                options = tone.Options(chunks=[1_440, 96_000, 0, 7])
                heard = await speak(pool, "abcdefghij" * 3, voice).whole()
                np.testing.assert_array_equal(heard, tone.expected("abcdefghij" * 3, voice, options=options))
            assert pool.stats.done == 6 and pool.stats.bad_samples > 0 and pool.stats.lost == 0

    asyncio.run(main())


def test_streams_at_once_never_hear_each_other_and_first_clauses_overtake():
    async def main():
        async with running(size=2, chunks=[777]) as pool:
            texts = ["n" * (3 + number % 40) for number in range(40)]
            sinks = [
                speak(pool, text, "tone-length", first=number % 5 == 0) for number, text in enumerate(texts)
            ]
            for text, sink in zip(texts, sinks, strict=True):
                np.testing.assert_array_equal(await sink.whole(), tone.expected(text, "tone-length"))
            assert len(pids(pool)) == 2

    asyncio.run(main())


def test_a_cancel_is_silent_at_once_and_the_engine_free_within_a_chunk():
    async def main():
        async with running(rtf=1.0, chunks=[1_440]) as pool:
            before = pids(pool)
            sink = speak(pool, LONG)
            await sink.started.wait()
            heard = len(sink.chunks)
            sink.ticket.cancel()
            loop = asyncio.get_running_loop()
            begin = loop.time()
            await until(pool, lambda: pool.stats.busy == 0)
            assert loop.time() - begin < 0.5, "a chunk lasts 60 ms"
            assert len(sink.chunks) == heard and not sink.over.is_set() and pool.stats.cancelled == 1
            np.testing.assert_array_equal(await speak(pool, "hi").whole(), tone.expected("hi"))
            assert pids(pool) == before

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


@pytest.mark.parametrize(
    ("voice", "error"),
    [
        ("tone-die", EngineLost),
        ("tone-hang", EngineTimeout),
        ("tone-raise", EngineError),
        ("tone-thread", EngineError),
        ("tone-freeze", EngineTimeout),
    ],
)
def test_an_actor_that_dies_hangs_or_raises_costs_its_own_request_and_is_replaced(voice, error):
    async def main():
        async with running(size=2, rtf=0.1, limits=IMPATIENT) as pool:
            before = pids(pool)
            bystander, victim = speak(pool, "b" * 60), speak(pool, "abcdefgh", voice)
            assert type(await victim.failure()) is error
            wanted = tone.expected("abcdefgh", voice)
            np.testing.assert_array_equal(victim.samples, wanted[: victim.samples.size])
            # Of a process that is killed or frozen, what Ray had not yet handed over is lost with it.
            assert voice in ("tone-die", "tone-freeze") or victim.samples.size == wanted.size
            np.testing.assert_array_equal(await bystander.whole(), tone.expected("b" * 60))
            await until(pool, lambda: pool.ready == 2 and pids(pool) != before)
            assert len(pids(pool) & before) == 1, "only the faulty one was replaced"
            np.testing.assert_array_equal(await speak(pool, "after").whole(), tone.expected("after"))
            assert (pool.stats.lost, pool.stats.faults) == (1, 1) and pool.stats.last_reason

    asyncio.run(main())


def test_an_engine_that_refuses_a_text_is_well_and_stays():
    async def main():
        async with running() as pool:
            before = pids(pool)
            assert "refuse this" in (await speak(pool, "abcd", "tone-refuse").failure()).message
            assert (await speak(pool, "ok").whole()).size and pids(pool) == before and pool.stats.lost == 0

    asyncio.run(main())


def test_an_idle_actor_that_is_killed_is_noticed_and_replaced():
    async def main():
        async with running(limits=IMPATIENT) as pool:
            before = pids(pool)
            os.kill(next(iter(before)), signal.SIGKILL)
            await until(pool, lambda: pool.ready == 1 and pids(pool) != before)
            assert "actor is gone" in pool.stats.last_reason
            np.testing.assert_array_equal(await speak(pool, "back").whole(), tone.expected("back"))

    asyncio.run(main())


def test_a_machine_that_goes_away_costs_its_own_requests_and_its_workers_start_elsewhere(cluster):
    async def main():
        far = cluster.add_node(num_cpus=1, resources={"far": 1})
        async with running(rtf=1.0, limits=IMPATIENT, cluster={"resources": {"far": 1}}) as pool:
            before = pids(pool)
            sink = speak(pool, LONG)
            await sink.started.wait()
            other = cluster.add_node(num_cpus=1, resources={"far": 1})
            cluster.remove_node(far, allow_graceful=False)
            assert isinstance(await asyncio.wait_for(failing(sink), PATIENCE_S), EngineLost | EngineTimeout)
            await until(pool, lambda: pool.ready == 1 and pids(pool) != before)
            np.testing.assert_array_equal(await speak(pool, "back").whole(), tone.expected("back"))
        cluster.remove_node(other, allow_graceful=False)

    asyncio.run(main())


async def failing(sink):
    """The error of a request that fails in its own time."""
    await sink.over.wait()
    return sink.error


def test_stop_faults_what_is_under_way():
    async def main():
        async with running(rtf=1.0) as pool:
            sinks = [speak(pool, LONG) for _ in range(3)]
            await sinks[0].started.wait()
            await pool.stop()
            for sink in [*sinks, speak(pool, "too late")]:
                assert isinstance(await sink.failure(), EngineLost)

    asyncio.run(main())


def test_workers_are_added_while_clauses_wait_and_let_go_when_they_idle():
    async def main():
        cluster = {"workers_max": 3, "queue_s": 0.05, "idle_s": 0.3}
        async with running(rtf=0.3, cluster=cluster) as pool:
            first = pids(pool)
            sinks = [speak(pool, "a" * 150) for _ in range(6)]
            await until(pool, lambda: pool.ready == 3)
            assert pool.stats.size == 3
            for sink in sinks:
                np.testing.assert_array_equal(await sink.whole(), tone.expected("a" * 150))
            await until(pool, lambda: pool.ready == 1 and pool.stats.size == 1)
            assert pool.stats.lost == 0 and pool.stats.faults == 0, "letting go is no loss"
            assert len(first) == 1
            np.testing.assert_array_equal(
                await speak(pool, "still here").whole(), tone.expected("still here")
            )

    asyncio.run(main())


@pytest.mark.parametrize(
    ("kind", "options", "error", "words"),
    [
        ("tone", {"loudness": 3}, EngineError, "no option loudness"),
        ("espeak", {"library": "/no/such.so", "data": "/no"}, MissingDependency, "/no/such.so"),
    ],
)
def test_an_engine_that_cannot_start_says_why_in_one_sentence(kind, options, error, words):
    async def main():
        pool = pool_for(EngineSpec(kind, options), 1, Limits(), pool=RAY)
        with pytest.raises(error) as refused:
            await asyncio.wait_for(pool.start(), PATIENCE_S)
        assert words in str(refused.value) and "\n" not in str(refused.value)

    asyncio.run(main())


def test_a_cluster_without_room_is_told_after_the_time_to_load():
    async def main():
        spec = EngineSpec("tone", cluster={"num_gpus": 64})
        pool = pool_for(spec, 1, Limits(load_s=1.0), pool=RAY)
        with pytest.raises(EngineError, match="did not load within 1 s"):
            await asyncio.wait_for(pool.start(), PATIENCE_S)

    asyncio.run(main())


def test_threads_of_numeric_libraries_are_set_in_the_actor():
    async def main():
        pool = pool_for(EngineSpec("tone", threads=3), 1, Limits(), pool=RAY)
        assert pool.progress.state == STARTING
        await asyncio.wait_for(pool.start(), PATIENCE_S)
        try:
            (pid,) = pids(pool)
            if sys.platform == "linux":
                environ = await asyncio.to_thread(Path(f"/proc/{pid}/environ").read_bytes)
                assert b"OMP_NUM_THREADS=3" in environ.split(b"\0")
        finally:
            await pool.stop()

    asyncio.run(main())


def test_reference_voices_and_conversion_work_as_in_a_process(tmp_path):
    clip = (9_000 * np.sin(np.arange(2 * CLIP_RATE) * 2 * np.pi * 440 / CLIP_RATE)).astype(np.int16)
    References(tmp_path).add("anna", clip, consent=True)

    async def main():
        async with running(voices_dir=str(tmp_path), converts=True) as pool:
            assert pool.abilities.clones and "anna" in [voice.name for voice in pool.voices]
            assert (await speak(pool, "ok", "anna").whole()).size
            sink = Collector()
            pool.convert(clip, pool.choose("anna", None, ""), 1.0, sink)
            assert (await sink.whole()).size

    asyncio.run(main())


OWN = """
import asyncio, sys
import numpy as np
from abr_tts.engine import tone
from abr_tts.engine.build import RAY, pool_for
from abr_tts.engine.spec import EngineSpec, Limits

class Sink:
    def __init__(self): self.chunks, self.over = [], asyncio.Event()
    def pcm(self, samples): self.chunks.append(samples)
    def end(self): self.over.set()
    def fault(self, error): sys.exit(str(error))

async def main():
    pool = pool_for(EngineSpec("tone"), 1, Limits(), pool=RAY)
    await pool.start()
    sink = Sink()
    pool.say("of our own", pool.voices[0], None, 1.0, sink)
    await sink.over.wait()
    same = np.array_equal(np.concatenate(sink.chunks), tone.expected("of our own"))
    await pool.stop()
    import ray
    print(same, ray.is_initialized())

asyncio.run(main())
"""


def test_without_an_address_a_ray_of_our_own_is_started_and_ended():
    run = subprocess.run([sys.executable, "-c", OWN], capture_output=True, text=True, timeout=120)
    assert run.stdout.split()[-2:] == ["True", "False"], run.stderr[-500:]
