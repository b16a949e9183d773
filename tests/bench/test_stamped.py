"""The worker that notes when its engine hands out each chunk: the real one, and what it notes is true."""

import asyncio
import time

import numpy as np
import pytest

from abr_tts.engine.pool import EngineSpec, Pool
from abr_tts.engine.tone import Options, expected

OPTIONS = {"rate": 22_050}


class Hearer:
    """A sink that notes when each piece came."""

    def __init__(self):
        self.pieces, self.came, self.over = [], [], asyncio.Event()

    def pcm(self, samples):
        self.pieces.append(samples)
        self.came.append(time.monotonic())

    def end(self):
        self.over.set()

    def fault(self, error):
        raise AssertionError(error)


def say(folder, texts, **setup):
    """What was heard of each text, by a worker of a real pool, and what it has noted."""
    import stamped

    async def run():
        pool = Pool(EngineSpec("tone", OPTIONS, python=stamped.interpreter(folder, **setup)))
        await pool.start()
        heard = {}
        for text in texts:
            hearer = heard[text] = Hearer()
            hearer.asked = time.monotonic()
            pool.say(text, pool.voices[0], None, 1.0, hearer)
            async with asyncio.timeout(20):
                await hearer.over.wait()
        await pool.stop()
        return heard

    heard = asyncio.run(run())
    return heard, stamped.read(folder)


def test_each_chunk_is_noted_with_its_place_before_it_is_heard(tmp_path):
    heard, notes = say(tmp_path, ["one two three", "four"])
    assert set(notes) == set(heard)
    for text, hearer in heard.items():
        note, wanted = notes[text], expected(text, options=Options(**OPTIONS))
        assert np.array_equal(np.concatenate(hearer.pieces), wanted), "it speaks as it does without a watch"
        times, places = zip(*note["chunks"], strict=True)
        assert note["samples"] == len(wanted)
        assert places[0] == 0 and sorted(set(places)) == list(places)
        assert list(times) == sorted(times)
        assert hearer.asked <= note["asked"] <= times[0] <= hearer.came[0]


def test_each_text_has_the_pace_of_its_number(tmp_path):
    factors = [0.0, 0.5]
    texts = ["000000 fast" + "x" * 9, "000001 slow" + "x" * 9]
    _, notes = say(tmp_path, texts, real_time_factors=factors)
    took = {text: notes[text]["chunks"][-1][0] - notes[text]["asked"] for text in texts}
    sound_s = notes[texts[1]]["samples"] / OPTIONS["rate"]
    last_s = sound_s - notes[texts[1]]["chunks"][-1][1] / OPTIONS["rate"]
    assert took[texts[1]] >= 0.5 * (sound_s - last_s) * 0.9
    assert took[texts[0]] < took[texts[1]] / 2


def test_a_worker_that_begins_otherwise_is_told_and_not_watched_in_vain(tmp_path):
    import subprocess

    import stamped

    program = stamped.interpreter(tmp_path)
    done = subprocess.run([program, "-c", "print('no worker')"], capture_output=True, text=True)
    assert done.returncode != 0 and "the worker begins otherwise" in done.stderr


def test_nothing_said_is_nothing_noted(tmp_path):
    import stamped

    stamped.interpreter(tmp_path)
    assert stamped.read(tmp_path) == {}
    with pytest.raises(FileNotFoundError):
        stamped.read(tmp_path / "elsewhere")
