"""An engine runs in an interpreter of its own: what that needs, and what is said when it lacks it."""

import asyncio
import subprocess
import sys

import numpy as np
import pytest

from abr_tts.engine import tone
from abr_tts.engine.kinds import KINDS
from abr_tts.engine.parent import BOOTSTRAP, PACKAGE
from abr_tts.engine.pool import EngineSpec, Pool
from abr_tts.errors import EngineError, MissingDependency

from .cosyvoice.checkout import make_checkout, make_clip, make_weights
from .interpreters import environment, pretending, python_3_10
from .pools import running, speak


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """A real Python 3.10 with numpy, msgpack and what espeak brings along."""
    folder = tmp_path_factory.mktemp("python310")
    return environment(folder, python_3_10(), "numpy", "msgpack", "espeakng-loader>=0.2.4,<0.3")


def test_a_worker_speaks_in_a_real_python_3_10_and_says_what_this_one_says(old):
    async def main():
        async with running("espeak", python=old) as theirs, running("espeak") as ours:
            a, b = [await speak(pool, "One engine, two interpreters.").whole() for pool in (theirs, ours)]
            assert theirs.voices == ours.voices
            assert len(a) == len(b) > 10_000, "no two runs of espeak-ng are equal in every sample"
            loud = [np.abs(one.astype(float)).mean() for one in (a, b)]
            assert loud[0] == pytest.approx(loud[1], rel=0.2) and loud[0] > 300

    asyncio.run(main())


IMPORT_ALL = BOOTSTRAP.replace(
    "from abr_tts.engine.worker import main\nmain(sys.argv[2:])",
    "import importlib\nfor name in sys.argv[2:]:\n"
    "    module, cls = name.split(':')\n    getattr(importlib.import_module(module), cls)()",
)


def test_every_engine_is_made_in_a_python_3_10_that_has_none_of_its_packages(old):
    assert "importlib.import_module" in IMPORT_ALL
    here = [f"abr_tts.engine.{kind.module}:{kind.cls}" for kind in KINDS.values() if not kind.remote]
    told = subprocess.run(
        [old, "-c", IMPORT_ALL, str(PACKAGE), *here], capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr


def refusal(python, kind="tone"):
    async def main():
        with pytest.raises((EngineError, MissingDependency)) as refused:
            await asyncio.wait_for(Pool(EngineSpec(kind, python=python)).start(), 10)
        return refused.value

    return asyncio.run(main())


def test_an_interpreter_without_numpy_and_msgpack_is_refused_with_the_command_that_installs_them(tmp_path):
    python = environment(tmp_path / "bare", sys.executable)
    error = refusal(python)
    assert isinstance(error, MissingDependency)
    assert "has no numpy and no msgpack" in str(error)
    assert f"{python} -m pip install numpy msgpack" in str(error)


def test_an_interpreter_that_is_too_old_is_refused_with_its_version(tmp_path):
    error = refusal(pretending(tmp_path, (3, 9, 18)))
    assert isinstance(error, MissingDependency) and "is Python 3.9" in str(error)
    assert isinstance(refusal("/no/such/python"), EngineError)


def test_what_is_no_python_and_one_that_lacks_an_engines_package_are_named_with_their_path(old):
    assert "/bin/true: its process ended (exit code 0)" in str(refusal("/bin/true"))
    error = refusal(old, "hibari")
    assert isinstance(error, MissingDependency)
    assert str(error).startswith(f"in {old}: hibari cannot be imported")


def test_cosyvoice_speaks_in_a_real_python_3_10_as_it_does_in_this_one(old, tmp_path):
    """The fake of its classes: adapter, prompts and worker are what serves."""
    checkout, clip = make_checkout(tmp_path / "CosyVoice"), make_clip(tmp_path / "anna.wav")
    options = {
        "path": checkout,
        "model_dir": make_weights(tmp_path / "weights"),
        "voices": {"anna": {"audio": clip, "transcript": "Words."}},
    }

    async def main():
        async with (
            running("cosyvoice", python=old, **options) as theirs,
            running("cosyvoice", **options) as ours,
        ):
            assert theirs.voices == ours.voices and theirs.abilities == ours.abilities
            for voice in [one.name for one in ours.voices]:
                a, b = [await speak(pool, "Two interpreters.", voice).whole() for pool in (theirs, ours)]
                np.testing.assert_array_equal(a, b)
                assert a.size > 24_000
            speak(theirs, "n" * 400, "anna").ticket.cancel()
            assert (await speak(theirs, "and on it goes", "anna").whole()).size

    asyncio.run(main())


def test_a_worker_has_the_device_whose_turn_it_is_and_the_threads_it_may_use():
    spec = EngineSpec("tone", devices=("0", "1"), threads=3)
    assert [spec.environment(number)["CUDA_VISIBLE_DEVICES"] for number in range(4)] == ["0", "1", "0", "1"]
    assert spec.environment(0)["OMP_NUM_THREADS"] == "3"
    assert EngineSpec("tone").environment(0) == {}


def test_a_replacement_takes_over_the_device_of_the_worker_that_died():
    async def main():
        async with running(size=3, devices=("0", "1"), threads=1) as pool:
            assert devices(pool) == {0: "0", 1: "1", 2: "0"}
            victim = next(worker for worker in pool._workers if worker.number == 1)
            sink = speak(pool, "a" * 400)
            victim.kill("the test ends it")
            await pool.until(lambda: victim not in pool._workers and pool.ready == 3)
            assert devices(pool) == {0: "0", 1: "1", 2: "0"}
            sink.ticket.cancel()

    asyncio.run(main())


def devices(pool):
    """Worker's number -> the GPUs that its process may see."""
    found = {}
    for worker in pool._workers:
        with open(f"/proc/{worker.pid}/environ") as file:
            own = dict(line.split("=", 1) for line in file.read().split("\0") if "=" in line)
        assert own["OMP_NUM_THREADS"] == "1"
        found[worker.number] = own["CUDA_VISIBLE_DEVICES"]
    return found


def test_the_tone_is_the_same_whoever_computes_it(old):
    async def main():
        async with running(python=old, rate=22_050) as pool:
            wanted = tone.expected("abc", options=tone.Options(rate=22_050))
            np.testing.assert_array_equal(await speak(pool, "abc").whole(), wanted)

    asyncio.run(main())
