"""
libespeak-ng by ctypes: found, bound, started, and its list of voices read. Nothing is said here.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import EngineError, MissingDependency, to_install

SYNCHRONOUS = 2
"""AUDIO_OUTPUT_SYNCHRONOUS (speak_lib.h): PCM comes through the callback, inside espeak_Synth.
With AUDIO_OUTPUT_RETRIEVAL the library stalls after a cancel."""

DONT_EXIT = 0x8000
"""espeakINITIALIZE_DONT_EXIT: without it a wrong data path ends the process by exit(1)."""

CHUNK_MS = 80
"""
Length of one callback's PCM: four frames, the least of which a 22 050 Hz stream can code its first
one as Opus (`resample.lag_frames` and that frame). With a shorter chunk the listener waits for the
second; 20 ms of speech cost the engine 25 µs (measured).
"""

RATE_PARAMETER = 1
"""espeakRATE (speak_lib.h)."""

CHARS_UTF8 = 1
"""espeakCHARS_UTF8 (speak_lib.h)."""

END_PAUSE = 0x1000
"""espeakENDPAUSE: keep the pause after the last punctuation. With it clauses spoken one by
one last exactly as long as the text spoken at once (measured)."""

LONGEST_PATH = 140
"""Bytes of a data path that is passed on as it is: espeak-ng's buffer holds 159 (measured)."""

Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
"""t_espeak_callback: (PCM, samples, events) → 0 to go on, 1 to abort."""


class VoiceRecord(ctypes.Structure):
    """espeak_VOICE (speak_lib.h)."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("languages", ctypes.c_void_p),
        ("identifier", ctypes.c_char_p),
        ("gender", ctypes.c_ubyte),
        ("age", ctypes.c_ubyte),
        ("variant", ctypes.c_ubyte),
        ("reserved", ctypes.c_ubyte),
        ("score", ctypes.c_int),
        ("spare", ctypes.c_void_p),
    ]


def find(options: Mapping[str, Any]) -> tuple[str, str]:
    """
    Paths of library and data: those of `options`, else those of espeakng-loader.

    Raises:
        MissingDependency: neither set nor installed.
    """
    if options.get("library") and options.get("data"):
        return str(options["library"]), str(options["data"])
    try:
        import espeakng_loader
    except ImportError:
        words = f"the espeak engine needs espeakng-loader: {to_install('espeak')}"
        raise MissingDependency(words) from None
    library = options.get("library") or espeakng_loader.get_library_path()
    return str(library), str(options.get("data") or espeakng_loader.get_data_path())


def bind(path: str) -> ctypes.CDLL:
    """
    The library at `path`, its functions declared.

    Raises:
        MissingDependency: it is not there, or not for this machine.
    """
    try:
        lib = ctypes.CDLL(path)
    except OSError as error:
        raise MissingDependency(f"libespeak-ng cannot be loaded: {error}") from None
    if not hasattr(lib, "espeak_Initialize"):
        raise MissingDependency(f"{path} is no libespeak-ng")
    lib.espeak_Initialize.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_int]
    lib.espeak_Info.argtypes, lib.espeak_Info.restype = [ctypes.c_void_p], ctypes.c_char_p
    lib.espeak_ListVoices.argtypes = [ctypes.c_void_p]
    lib.espeak_ListVoices.restype = ctypes.POINTER(ctypes.POINTER(VoiceRecord))
    lib.espeak_SetVoiceByName.argtypes = [ctypes.c_char_p]
    lib.espeak_SetParameter.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int]
    lib.espeak_SetSynthCallback.argtypes, lib.espeak_SetSynthCallback.restype = [Callback], None
    lib.espeak_Synth.argtypes = [
        *(ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_int, ctypes.c_uint, ctypes.c_uint),
        *(ctypes.POINTER(ctypes.c_uint), ctypes.c_void_p),
    ]
    return lib


def initialize(lib: ctypes.CDLL, data: str) -> int:
    """
    Start the library with the data at `data`; returns its sample rate.

    It reads a data path from a fixed buffer, so a long one is made short by standing in
    its directory: the process is ours alone, and no link is left behind when it is killed.
    """
    path = os.fsencode(data)
    if not os.path.isfile(os.path.join(data, "phontab")):
        raise MissingDependency(f"no espeak-ng data at {data}: {to_install('espeak')}")
    if len(path) > LONGEST_PATH:
        os.chdir(data)
        path = b"."
    rate: int = lib.espeak_Initialize(SYNCHRONOUS, CHUNK_MS, path, DONT_EXIT)
    if rate <= 0:
        raise EngineError(f"espeak-ng does not start with the data at {data} (code {rate})")
    return rate


def records(array: Any) -> Iterator[VoiceRecord]:
    """The voices of espeak_ListVoices, an array of pointers with a null at its end."""
    index = 0
    while array[index]:
        yield array[index].contents
        index += 1


def tags(address: int) -> tuple[str, ...]:
    """Language tags of a voice: (priority byte, string, 0) again and again, a 0 byte at the end."""
    tags: list[str] = []
    while ctypes.string_at(address, 1) != b"\0":
        tag = ctypes.string_at(address + 1)
        tags.append(tag.decode().lower())
        address += len(tag) + 2
    return tuple(tags)
