"""The library that serves is the one meant, is what was published, and is called by its real signatures."""

import ctypes
import ctypes.util
import hashlib
import importlib.util
import platform
import shutil
import subprocess
import sys

import pytest

from abr_tts.audio import libopus
from abr_tts.errors import MissingDependency, OpusError

PUBLISHED = (platform.system(), platform.machine()) in libopus.BUNDLED_SHA256
needs_bundle = pytest.mark.skipif(not PUBLISHED, reason="no wheel of opuslib-next-bundled for this platform")


@pytest.fixture
def fresh():
    """Loading as a new process does it, without what earlier loads remember."""
    libopus._load.cache_clear()
    yield
    libopus._load.cache_clear()


@needs_bundle
def test_the_bundled_library_serves_and_its_hash_is_the_published_one():
    library = libopus.load()
    with open(library.path, "rb") as file:
        assert hashlib.sha256(file.read()).hexdigest() == library.sha256
    assert (library.source, library.verified, library.version) == ("bundled", True, "libopus 1.6.1")


def test_a_path_is_loaded_once():
    assert libopus.load() is libopus.load()


def test_the_bundle_is_found_without_importing_its_package():
    code = "import sys; from abr_tts.audio.opus import load; load(); print('opuslib_next' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(("system", "name"), libopus.BUNDLED_FILE.items())
def test_the_bundle_is_found_as_the_wheel_of_each_system_lays_it_out(system, name, tmp_path, monkeypatch):
    file = tmp_path / "a_bundle" / "_native" / name
    file.parent.mkdir(parents=True)
    file.touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(libopus, "BUNDLE", "a_bundle")
    monkeypatch.setattr(platform, "system", lambda: system)
    assert libopus.bundled_path() == file


@needs_bundle
def test_opuslib_is_bound_to_the_same_library_and_its_import_warns_of_nothing(tmp_path):
    code = (
        "import ctypes.util; before = ctypes.util.find_library\n"
        "from abr_tts.audio.opus import load; library = load()\n"
        "import opuslib.api as api; same = before is ctypes.util.find_library\n"
        "print(api.libopus._name == library.path, same)"
    )
    compiled_anew = ["-W", "always::SyntaxWarning", "-X", f"pycache_prefix={tmp_path}"]
    done = subprocess.run([sys.executable, *compiled_anew, "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("True True", "")


@needs_bundle
def test_a_configured_path_is_used_before_the_bundle(tmp_path, fresh):
    copy = shutil.copy(libopus.bundled_path(), tmp_path)
    library = libopus.load(str(copy))
    assert (library.path, library.source, library.verified) == (str(copy), "configured", True)


def test_a_configured_path_without_a_file_is_told_and_nothing_else_is_tried(fresh):
    with pytest.raises(MissingDependency, match=r"no libopus at /nowhere/libopus\.so"):
        libopus.load("/nowhere/libopus.so")


def test_a_configured_file_that_is_no_library_is_told(tmp_path, fresh):
    text = tmp_path / "libopus.so"
    text.write_text("not a library")
    with pytest.raises(OpusError, match=r"libopus\.so is not a libopus"):
        libopus.load(str(text))


def test_a_library_that_is_not_libopus_is_told(fresh):
    other = ctypes.util.find_library("c")
    if other is None or platform.system() == "Windows":
        pytest.skip("no other library to offer")
    with pytest.raises(OpusError, match="is not a libopus"):
        libopus._load(other, "system")


@needs_bundle
def test_a_bundled_library_with_another_hash_is_refused(tmp_path, monkeypatch, fresh):
    copy = tmp_path / libopus.bundled_path().name
    copy.write_bytes(libopus.bundled_path().read_bytes() + b"\0")
    monkeypatch.setattr(libopus, "bundled_path", lambda: copy)
    with pytest.raises(OpusError, match=r"SHA-256 is .* reinstall"):
        libopus.load()


@needs_bundle
def test_without_a_bundle_the_systems_library_serves(monkeypatch, fresh):
    system = str(libopus.bundled_path())
    monkeypatch.setattr(libopus, "BUNDLE", "no_such_package")
    monkeypatch.setattr(ctypes.util, "find_library", {"opus": system}.get)
    library = libopus.load()
    assert (library.source, library.path) == ("system", system)


def test_without_any_library_the_message_says_how_to_get_one(monkeypatch, fresh):
    monkeypatch.setattr(libopus, "BUNDLE", "no_such_package")
    monkeypatch.setattr(ctypes.util, "find_library", lambda name: None)
    with pytest.raises(MissingDependency, match="pip install opuslib-next-bundled"):
        libopus.load()


def test_without_opuslib_the_message_says_how_to_get_it(monkeypatch, fresh):
    monkeypatch.setitem(sys.modules, "opuslib", None)
    with pytest.raises(MissingDependency, match="pip install opuslib"):
        libopus.load()


def test_errors_speak_libopus_own_words():
    error = libopus.load().error("cannot", -1)
    assert (str(error), error.number) == ("cannot: invalid argument", -1)


def test_variadic_calls_declare_their_fixed_arguments_alone():
    """On Apple's arm64, ctypes passes as variadic exactly what lies beyond `argtypes`."""
    handle = libopus.load().handle
    for name in ("opus_encoder_ctl", "opus_decoder_ctl"):
        assert getattr(handle, name).argtypes == (ctypes.c_void_p, ctypes.c_int)
    assert importlib.util.find_spec("opuslib") is not None
    import opuslib.api.encoder

    assert opuslib.api.encoder.libopus_ctl.argtypes is None
