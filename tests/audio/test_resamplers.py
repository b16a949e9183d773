"""A resampler is chosen by name; torch is loaded when asked for, and an error says what is missing."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from abr_tts.audio.resample import (
    NAMES,
    SOXR,
    Soxr,
    StreamResampler,
    by_name,
    convert,
    resample_window,
)
from abr_tts.errors import MissingDependency
from abr_tts.units import convert_length


class Silent:
    """Gives two samples too many of silence, whatever it is fed."""

    class _Chunks:
        def __init__(self, in_rate: int, out_rate: int) -> None:
            self._rates = in_rate, out_rate

        def resample_chunk(self, samples, last):
            return np.zeros(convert_length(len(samples), *self._rates) + 2 * last, np.float32)

    def stream(self, in_rate, out_rate):
        return self._Chunks(in_rate, out_rate)

    def whole(self, samples, in_rate, out_rate):
        return np.zeros(convert_length(len(samples), in_rate, out_rate) + 2, np.float32)


def packages(folder: Path, monkeypatch, **sources: str) -> None:
    """Put packages with these sources before all others, as if they were what is installed."""
    for name, source in sources.items():
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(source, "utf-8")
    monkeypatch.syspath_prepend(str(folder))
    real = [name for name in sys.modules if name.split(".")[0] in sources]
    for name in {*real, *sources}:
        monkeypatch.setitem(sys.modules, name, None)  # so that the end of the test restores it
        del sys.modules[name]


def test_soxr_is_what_is_used_where_nothing_is_asked_for():
    assert by_name("soxr") is SOXR
    assert StreamResampler(22_050, 24_000)._stream.__class__ is SOXR.stream(22_050, 24_000).__class__
    assert Soxr() == SOXR and hash(Soxr()) == hash(SOXR), "those that are equal stand for each other"


def test_a_name_that_nothing_bears_is_refused_with_those_that_there_are():
    with pytest.raises(ValueError, match=r"'sox'.*soxr, torchaudio"):
        by_name("sox")
    assert NAMES == ("soxr", "torchaudio")


def test_what_another_resampler_gives_is_used_and_has_the_promised_length():
    signal = np.ones(1323, np.float32)
    assert np.array_equal(convert(signal, 22_050, 24_000, Silent()), np.zeros(1440, np.float32))
    frames = signal.reshape(3, 441)
    window = resample_window(*frames, 22_050, 24_000, Silent())
    assert np.array_equal(window, np.zeros(480, np.float32))
    assert np.array_equal(resample_window(*frames, 22_050, 22_050, Silent()), frames[1]), "none is needed"


@pytest.mark.parametrize("missing", ["torch", "torchaudio"])
def test_a_package_that_is_missing_is_named_with_the_extra_that_has_it(tmp_path, monkeypatch, missing):
    packages(tmp_path, monkeypatch, torch="", torchaudio="")
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingDependency, match=rf"needs .*{missing}.*pip install '\.\[torch\]'"):
        by_name("torchaudio")


@pytest.mark.parametrize("fault", ["OSError", "ImportError"])
def test_a_torchaudio_that_was_built_for_another_torch_is_told_from_one_that_is_missing(
    tmp_path, monkeypatch, fault
):
    packages(tmp_path, monkeypatch, torch="", torchaudio=f"raise {fault}('libc10_cuda.so: no such file')")
    with pytest.raises(MissingDependency, match=r"libc10_cuda\.so.*must be built for the torch"):
        by_name("torchaudio")


def test_who_does_not_choose_torchaudio_never_loads_torch(tmp_path):
    for name in ("torch", "torchaudio"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('torch was loaded')", "utf-8")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import abr_tts.server.app, abr_tts.client, abr_tts.audio.torch_resample\n"
        "from abr_tts.audio import resample\n"
        "import numpy as np\n"
        "resample.convert(np.zeros(441, np.float32), 22050, 24000, resample.by_name('soxr'))\n"
        "assert not {'torch', 'torchaudio'} & set(sys.modules)\n"
        "resample.by_name('torchaudio')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.strip()) == (1, "torch was loaded"), "and who does, loads it"
