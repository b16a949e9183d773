"""The server and its engine's processes: a dead one costs one stream, and /readyz tells how far they are."""

import asyncio
import os
import signal

import aiohttp
import pytest

from abr_tts.errors import ConfigError
from abr_tts.server.app import Server
from abr_tts.server.config import EngineSettings, Settings, load
from abr_tts.server.speech.synthesis import _spec, threads
from abr_tts.wire import messages as m

from .harness import TONE, WAIT_S, held_python, peer, serving

pytest.importorskip("espeakng_loader", reason="pip install '.[espeak]'")

STREAMS = 20
SENTENCE = "the quick brown fox jumps over the lazy dog and runs on "


async def test_a_worker_killed_under_twenty_streams_fails_its_own_and_the_pool_is_whole_again():
    engine = {"engine__kind": "espeak", "engine__workers": 2, "engine__clause_chars": 10_000}
    limits = {"limits__streams_per_connection": STREAMS, "limits__messages_per_s": 1_000_000.0}
    async with serving(**engine, engine__options={}, **limits) as server:
        pool = server.pool
        await true(lambda: pool.ready == 2)
        async with peer(server.url, hints=True) as client:
            streams = [await client.start(f"{n} " + SENTENCE * 4, rung="pcm22") for n in range(STREAMS)]
            await true(lambda: victim(pool))
            os.kill(victim(pool).pid, signal.SIGKILL)
            await true(lambda: pool.stats.lost and pool.ready == 2)
            handles = {stream.stream for stream in streams}
            ends = await client.until(lambda: complete(client, handles), 3 * WAIT_S)
        lost = [end for end in ends if isinstance(end, m.Error)]
        assert [error.code for error in lost] == ["engine_lost"], "the one that the worker held"
        assert all(end.length > 20_000 for end in ends if isinstance(end, m.StreamEnd))


async def true(condition):
    """Wait until it is; asked every millisecond, since a pool has no event for it."""
    async with asyncio.timeout(2 * WAIT_S):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


def victim(pool):
    """A worker that has a request; None if none has."""
    return next((w for w in pool._workers if w.load), None)


def complete(client, handles):
    """How each stream ended, once all have."""
    told = (one for one in client.messages if isinstance(one, m.StreamEnd | m.Error))
    ends = {one.stream: one for one in told if isinstance(one, m.StreamEnd) or one.scope == "stream"}
    return list(ends.values()) if set(ends) == handles else None


async def test_readyz_tells_what_is_being_loaded_and_how_long_it_took(tmp_path):
    with held_python(tmp_path) as (python, go_on):
        server = Server(load(overrides=TONE | {"engine.python": python}))
        starting = asyncio.ensure_future(server.start())
        await server.listening.wait()
        first = await readyz(server)
        assert first["loading"]["state"] == "starting" and first["loading"]["share"] < 1
        assert "tone" in first["loading"]["sentence"] and not first["ready"]
        go_on()
        await starting
        last = (await readyz(server))["loading"]
        assert (last["state"], last["sentence"], last["share"]) == ("ready", "", 1.0)
        assert first["loading"]["seconds"] < last["seconds"] < WAIT_S
        await server.stop()


async def readyz(server):
    async with aiohttp.ClientSession() as http, http.get(server.http_url + "/readyz") as answer:
        return await answer.json()


def test_an_engine_gets_its_options_untouched_and_workers_share_the_cores(monkeypatch):
    options = {"device": "cuda:1", "fp16": True, "load_vllm": False, "load_trt": True, "nested": {"a": [1]}}
    engine = EngineSettings(options=options, devices=("0", "1"), workers=4, threads=2)
    spec = _spec(engine, 4)
    assert spec.options == options
    assert [spec.environment(n)["CUDA_VISIBLE_DEVICES"] for n in range(3)] == ["0", "1", "0"]
    assert spec.environment(0)["OMP_NUM_THREADS"] == "2"
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    assert threads(1) == 0 and threads(10_000) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert threads(10_000) == 0, "the operator has chosen"


def test_a_folder_of_voices_is_told_only_to_engines_that_speak_with_them(tmp_path):
    assert "voices_dir" not in _spec(EngineSettings(kind="espeak", voices_dir=tmp_path), 1).options
    told = _spec(EngineSettings(kind="cosyvoice", voices_dir=tmp_path), 1).options
    assert told == {"voices_dir": str(tmp_path)}


def test_an_engine_or_a_pool_that_does_not_exist_is_refused_with_those_that_do():
    for name, word in (("kind", "festival"), ("pool", "boats")):
        with pytest.raises(ConfigError, match=word):
            Settings(engine=EngineSettings(**{name: word}))
