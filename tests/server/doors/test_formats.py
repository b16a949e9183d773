"""Samples to formats: the same bytes however they come, at the rates that each format has."""

import asyncio
import subprocess
import sys

import numpy as np
import pytest

from abr_tts.audio import encoded
from abr_tts.audio.pcm import to_float, to_int16
from abr_tts.audio.resample import convert
from abr_tts.errors import MissingDependency
from abr_tts.server.doors import formats
from abr_tts.server.doors.formats import FORMS, find, in_thread, make
from abr_tts.server.speech.workshop import Workshop

from ..harness import serving

START = """
import asyncio, json, sys

if sys.argv[1] == "without":
    sys.modules["av"] = None

from abr_tts.server.app import Server
from abr_tts.server.config import load
from abr_tts.server.doors.formats import in_thread

ENGINE = {"engine.kind": "tone", "engine.workers": 1, "server.port": 0, "server.codec_threads": 1}

async def main():
    server = Server(load(overrides=ENGINE | json.loads(sys.argv[2])))
    await server.start()
    assert server.door.ready
    # One thread, in order: what the start gave it is done before this.
    await in_thread(server._workshop, lambda: None)
    print("loaded" if sys.modules.get("av") else "not loaded")
    await server.stop()

asyncio.run(main())
"""
"""A server that nobody has asked for mp3; it tells whether PyAV is loaded all the same."""

WITHIN_S = 60
"""Seconds for it; it takes one."""


def noise(samples: int) -> np.ndarray:
    return np.random.default_rng(1).integers(-9_000, 9_000, samples, dtype=np.int16)


def through(container, samples: np.ndarray, cut: int) -> bytes:
    pieces = [container.push(samples[at : at + cut]) for at in range(0, len(samples), cut)]
    return b"".join([container.begin(), *pieces, container.finish()])


@pytest.mark.parametrize("name", ["pcm", "wav", "mp3", "aac", "flac"])
@pytest.mark.parametrize("rates", [(22_050, 24_000), (24_000, 24_000), (24_000, 16_000)])
def test_the_bytes_do_not_depend_on_the_pieces(name, rates):
    if find(name).needs_av:
        pytest.importorskip("av")
    samples = noise(rates[0])
    whole = through(make(name, *rates), samples, len(samples))
    assert through(make(name, *rates), samples, 441) == through(make(name, *rates), samples, 1_000) == whole


def test_pcm_is_resampled_as_in_one_shot():
    samples = noise(10_000)
    made = np.frombuffer(through(make("pcm", 22_050, 24_000), samples, 441), "<i2")
    assert np.array_equal(made, to_int16(convert(to_float(samples), 22_050, 24_000)))


def test_pcm_at_the_engines_own_rate_is_not_touched():
    samples = noise(1_000)
    assert through(make("pcm", 24_000, 24_000), samples, 100) == samples.astype("<i2").tobytes()


def test_a_wav_whose_length_is_known_says_it():
    head = make("wav", 22_050, 24_000, whole=22_050).begin()
    assert int.from_bytes(head[40:44], "little") == 48_000


@pytest.mark.parametrize(
    ("name", "rate"), [("pcm", 7_999), ("wav", 48_001), ("mp3", 10_000), ("aac", 96_000)]
)
def test_a_rate_that_a_format_lacks_is_refused(name, rate):
    assert not FORMS[name].has(rate)
    with pytest.raises(ValueError, match=f"{rate} Hz"):
        make(name, 24_000, rate)


@pytest.mark.parametrize("rate", [8_000, 48_000])
def test_every_format_but_opus_has_the_lowest_and_the_highest_rate(rate):
    assert [name for name, form in FORMS.items() if not form.has(rate)] == (
        [] if rate == 48_000 else ["opus"]
    )


def test_there_is_no_other_format():
    with pytest.raises(KeyError):
        find("ogg")
    assert formats.LOWEST_HZ < formats.HIGHEST_HZ


async def test_what_is_done_on_a_thread_comes_back_with_its_value_or_its_error():
    workshop = Workshop(1)
    workshop.start()
    try:
        async with asyncio.timeout(5):
            assert await in_thread(workshop, lambda: 7) == 7
            with pytest.raises(ZeroDivisionError):
                await in_thread(workshop, lambda: 1 // 0)
    finally:
        workshop.stop()


@pytest.mark.parametrize(
    ("installed", "settings", "told"),
    [
        ("with", "{}", "loaded"),
        ("with", '{"dashscope.enabled": false}', "loaded"),
        ("with", '{"openai.enabled": false}', "loaded"),
        ("with", '{"openai.enabled": false, "dashscope.enabled": false}', "not loaded"),
        ("without", "{}", "not loaded"),
    ],
)
def test_what_makes_mp3_is_loaded_before_anybody_asks_where_a_door_needs_it(installed, settings, told):
    pytest.importorskip("av")
    command = [sys.executable, "-c", START, installed, settings]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN_S)
    assert (done.stdout.strip(), done.returncode) == (told, 0), done.stderr


async def test_a_library_that_cannot_be_loaded_is_told_and_the_server_starts(monkeypatch, caplog):
    def broken():
        raise MissingDependency(encoded.NEEDS_AV)

    monkeypatch.setattr(encoded, "available", lambda: True)
    monkeypatch.setattr(encoded, "_library", broken)
    async with serving(server__codec_threads=1) as server:
        await in_thread(server._workshop, lambda: None)
        assert server.door.ready and encoded.NEEDS_AV in caplog.text
