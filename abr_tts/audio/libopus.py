"""
Finding libopus, making sure of it, and declaring its functions.

opuslib 3.0.1 looks for the library once, at import, and only where the system's linker
looks. Here the search comes first: a configured path, else the library that
opuslib-next-bundled carries, else the system's; then opuslib is imported so that it finds
the same one. Knows files and C signatures; it must not know what is encoded or why.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import hashlib
import importlib
import importlib.util
import platform
import warnings
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import MissingDependency, OpusError

BUNDLE = "opuslib_next"
"""The package that opuslib-next-bundled installs; it is found, never imported."""

BUNDLED_FILE = {"Linux": "libopus.so", "Darwin": "libopus.dylib", "Windows": "opus.dll"}
"""Name of the bundled library under `_native`, by platform.system()."""

BUNDLED_SHA256 = {
    ("Linux", "x86_64"): "9c7698bb05b8c5a88fddf65870eb6496314c743813f06a562b21440ded124413",
    ("Linux", "aarch64"): "884a01fd6cd0255ba5a1f98948f93fb06bff5ac68fbe699a8dd2156e2d543847",
    ("Darwin", "x86_64"): "06a19a810816c74b1b86ab4f9d8401f523d700d721936384ff63ad133e94822c",
    ("Darwin", "arm64"): "7b292cc54640abc2d35d5d501f9c1331d1715d8e0e41e1fcde4c5ae7959d4091",
    ("Windows", "AMD64"): "d553adca7b939b9bf2eb9daa85f68c3c41154b97acb61238342fa8c387df05cc",
}
"""SHA-256 of the library in each wheel of opuslib-next-bundled 0.1.1 on PyPI, by
platform.system() and platform.machine(): pyproject can pin a version, but not a hash."""

BUNDLED_VERSION = "libopus 1.6.1"
"""What those files are: the wheel's repository builds xiph/opus at the tag v1.6.1, but without
git, so that the library itself only says `libopus unknown`."""

HOW_TO_GET = "pip install opuslib-next-bundled==0.1.1 carries one; so do apt's libopus0 and brew's opus"
"""What a person may do when no library is found."""

_POINTER, _INT, _INT32 = ctypes.c_void_p, ctypes.c_int, ctypes.c_int32

SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "opus_get_version_string": (ctypes.c_char_p, ()),
    "opus_strerror": (ctypes.c_char_p, (_INT,)),
    "opus_encoder_create": (_POINTER, (_INT32, _INT, _INT, _POINTER)),
    "opus_encoder_destroy": (None, (_POINTER,)),
    "opus_encoder_ctl": (_INT, (_POINTER, _INT)),
    "opus_encode_float": (_INT32, (_POINTER, _POINTER, _INT, _POINTER, _INT32)),
    "opus_decoder_create": (_POINTER, (_INT32, _INT, _POINTER)),
    "opus_decoder_destroy": (None, (_POINTER,)),
    "opus_decoder_ctl": (_INT, (_POINTER, _INT)),
    "opus_decode_float": (_INT, (_POINTER, ctypes.c_char_p, _INT32, _POINTER, _INT, _INT)),
}
"""
Result and arguments of every function used (opus.h of libopus 1.6).

The two `ctl` functions are variadic: only their fixed arguments are declared. ctypes takes
what is passed beyond `argtypes` as variadic, which Apple's arm64 puts on the stack instead
of in registers (CPython issue 92892); undeclared, libopus reads garbage there.
"""


@dataclass(frozen=True, slots=True)
class Library:
    """One loaded libopus."""

    path: str
    """Where it was found; for the system's, the name that the linker resolves."""
    version: str
    """What it says of itself, such as `libopus 1.5.2`; for the bundled one, BUNDLED_VERSION."""
    source: str
    """`configured`, `bundled` or `system`."""
    sha256: str | None
    """Of the file, in hex; None when only the linker knows which file it is."""
    verified: bool
    """Its SHA-256 is one of BUNDLED_SHA256."""
    handle: Any = field(repr=False, compare=False)
    """The ctypes library, with every one of SIGNATURES declared."""
    numbers: ModuleType = field(repr=False, compare=False)
    """opuslib, for the constants of opus_defines.h; its calls are not used."""
    complexity: int = 9
    """How hard encoders of streams work, 0 to 10 (see `opus.Encoder`)."""

    def error(self, what: str, number: int) -> OpusError:
        """An exception that says what failed, in libopus' own words."""
        return OpusError(f"{what}: {self.handle.opus_strerror(number).decode()}", number)


def load(path: str | None = None) -> Library:
    """
    Find and load libopus: `path` if given, else the bundled one, else the system's.

    Each path is loaded once a process; later calls return the same object.

    Raises:
        MissingDependency: none is there, or the one at `path` is not.
        OpusError: it is there and is not a libopus, or the bundled one is not the file
            that was published.
    """
    if path is not None:
        return _load(str(path), "configured")
    bundled = bundled_path()
    if bundled is not None:
        return _load(str(bundled), "bundled")
    system = ctypes.util.find_library("opus")
    if system is None:
        raise MissingDependency(f"no libopus on this machine: {HOW_TO_GET}")
    return _load(system, "system")


def bundled_path() -> Path | None:
    """The library that opuslib-next-bundled installed, or None where there is none."""
    spec = importlib.util.find_spec(BUNDLE)
    name = BUNDLED_FILE.get(platform.system())
    if spec is None or name is None:
        return None
    for folder in spec.submodule_search_locations or ():
        path = Path(folder, "_native", name)
        if path.is_file():
            return path
    return None


@cache
def _load(path: str, source: str) -> Library:
    sha256 = _sha256(path, source)
    verified = sha256 is not None and sha256 in BUNDLED_SHA256.values()
    if source == "bundled":
        _check_bundled(path, sha256)
    try:
        handle = ctypes.CDLL(path)
        _declare(handle)
    except (OSError, AttributeError) as error:
        raise OpusError(f"{path} is not a libopus that this Python can load: {error}", 0) from error
    version = BUNDLED_VERSION if verified else handle.opus_get_version_string().decode()
    return Library(path, version, source, sha256, verified, handle, _import_opuslib(path))


def _sha256(path: str, source: str) -> str | None:
    file = Path(path)
    if file.is_file():
        return hashlib.sha256(file.read_bytes()).hexdigest()
    if source == "configured":
        raise MissingDependency(f"there is no libopus at {path}, the configured path; {HOW_TO_GET}")
    return None


def _check_bundled(path: str, sha256: str | None) -> None:
    """
    Refuse a bundled library that is not the published one.

    A platform without a published wheel has no hash to compare with: somebody built that one.
    """
    expected = BUNDLED_SHA256.get((platform.system(), platform.machine()))
    if expected is not None and sha256 != expected:
        raise OpusError(
            f"{path} is not the libopus that opuslib-next-bundled 0.1.1 published: its SHA-256 is {sha256}, "
            f"not {expected}; reinstall the package, or configure the path of a library that you trust",
            0,
        )


def _declare(handle: ctypes.CDLL) -> None:
    for name, (result, arguments) in SIGNATURES.items():
        function = getattr(handle, name)
        function.restype = result
        function.argtypes = arguments


def _import_opuslib(path: str) -> ModuleType:
    """
    Import opuslib so that it binds the library at `path`, or take it as it is already imported.

    It finds its library while it is imported and raises a bare Exception if it cannot, so
    `find_library` answers for us during that import only. Its `is not 0` comparisons warn
    when they are compiled.
    """
    find_library = ctypes.util.find_library

    def find(name: str) -> str | None:
        return path if name == "opus" else find_library(name)

    ctypes.util.find_library = find
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return importlib.import_module("opuslib")
    except ImportError as error:
        raise MissingDependency("opuslib is not installed: pip install opuslib==3.0.1") from error
    finally:
        ctypes.util.find_library = find_library
