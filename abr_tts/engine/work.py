"""
What a worker does with its engine, in whatever process it lives: make it, ask it, tell of it.

Shared by the worker process (`worker`) and Ray's actor (`ray.actor`), which differ in how a record goes
to the parent. Must run under Python 3.10 with numpy and msgpack alone.
"""

from __future__ import annotations

import importlib
import logging
import os
import traceback
from collections.abc import Callable
from dataclasses import asdict
from typing import Protocol, Union, cast

import numpy as np
import numpy.typing as npt

from ..audio.pcm import ByteJoiner, check_samples, count_bad, decode_pcm16, to_int16
from ..errors import AbrError, EngineError, MissingDependency
from . import ipc
from .base import Chunk, Converter, Emit, Engine, Line, Samples
from .kinds import KINDS

PIECE = 16_384
"""Samples in one frame at most: an engine may hand out seconds at once, and a cancel must not wait."""

LONGEST_REASON, LONGEST_LOG = 500, 8_000
"""Characters of an exception that reach a listener's error message, and the log. Chosen here."""

STEP = 0.01
"""Share of loading after which it is told again how far it is: a bar on a screen has no more steps."""

UNTOLD = {"ORT_DISABLE_TELEMETRY": "1"}
"""Variables that keep an engine's libraries from telling their makers about us. ONNX Runtime from 1.29 on
sends an identifier of the machine and the names and hashes of models to Microsoft, and keeps both in the
home folder (microsoft/onnxruntime pull requests 27379 and 29843)."""


def make(name: str) -> Engine:
    """
    The engine of this kind, not loaded. What its libraries would tell their makers they do not, unless the
    operator has set one of `UNTOLD` himself.

    Raises:
        EngineError: there is none that speaks in a worker.
    """
    for variable, value in UNTOLD.items():
        os.environ.setdefault(variable, value)
    kind = KINDS.get(name)
    if kind is None or kind.remote:
        here = ", ".join(name for name, kind in KINDS.items() if not kind.remote)
        raise EngineError(f"no engine {name!r}; there are {here}")
    engine: Engine = getattr(importlib.import_module(f"{__package__}.{kind.module}"), kind.cls)()
    return engine


def check_parallel(engine: Engine, parallel: int) -> None:
    """
    Whether a loaded engine can speak so many texts at once.

    Raises:
        EngineError: it cannot, as it was loaded.
    """
    if parallel > 1 and (why := engine.abilities.alone):
        raise EngineError(f"engine.parallel = {parallel}: {why}")


def ready(engine: Engine) -> ipc.Ready:
    """What a loaded engine has."""
    voices = tuple((v.name, v.languages, v.sample_rate, v.description) for v in engine.voices)
    return ipc.Ready(engine.sample_rate, voices, asdict(engine.abilities))


def ask(engine: Engine, request: Union[ipc.Say, ipc.Convert], emit: Emit) -> None:
    """
    Have `engine` do what `request` says.

    Raises:
        EngineError: it cannot; otherwise as `base.Engine.say`.
    """
    if isinstance(request, ipc.Say):
        line = Line(request.text, request.voice, request.language, request.speed, request.instruct)
        engine.say(line, emit)
    elif engine.abilities.converts:
        audio = decode_pcm16(request.audio)
        cast(Converter, engine).convert(audio, request.voice, request.speed, emit)
    else:
        raise EngineError("this engine converts no voices")


def fatal(request: int, error: BaseException, log: Callable[[ipc.Record], None]) -> ipc.Fault:
    """What cannot be survived, in a sentence; what nobody expected goes to `log` in full before."""
    expected = isinstance(error, (AbrError, MissingDependency, ImportError))
    if not expected:
        lines = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        log(ipc.Log(logging.ERROR, lines[-LONGEST_LOG:]))
    words = str(error) if expected else f"{type(error).__name__}: {error}"
    missing = isinstance(error, (ImportError, MissingDependency))
    code = "missing_dependency" if missing else "engine_failed"
    return ipc.Fault(request, code, " ".join(words.split())[:LONGEST_REASON], fatal=True)


class Telling:
    """`base.Progress`: tells the parent by `send`, but not of every thousandth."""

    def __init__(self, send: Callable[[ipc.Record], None]) -> None:
        self._send = send
        self._told = ("", -1.0)

    def __call__(self, sentence: str, share: float) -> None:
        """How far it is; see `base.Progress`."""
        before, at = self._told
        share = min(max(float(share), 0.0), 1.0)
        if sentence != before or share - at >= STEP:
            self._told = (sentence, share)
            self._send(ipc.Loading(sentence[:LONGEST_REASON], share))


class Hearer(Protocol):
    """Who takes the PCM of requests."""

    def wanted(self, request: int) -> bool:
        """Whether somebody still waits for this request."""

    def pcm(self, request: int, data: memoryview) -> None:
        """The next PCM16 bytes, little-endian; they are the engine's own and may change afterwards."""

    def tell_bad(self, count: int) -> None:
        """So many samples of a chunk were not finite."""


class Outlet:
    """`base.Emit` of one request: any chunk becomes PCM16 frames of at most `PIECE` samples."""

    def __init__(self, hearer: Hearer, request: int) -> None:
        self._hearer = hearer
        self._request = request
        self._joiner = ByteJoiner()
        self.samples = 0
        self.bad = 0

    def __call__(self, chunk: Chunk) -> bool:
        """The next chunk; see `base.Emit`."""
        data = _bytes_of(chunk if self._is_whole(chunk) else self._samples(chunk))
        for at in range(0, len(data), 2 * PIECE):
            if not self._hearer.wanted(self._request):
                return False
            self._hearer.pcm(self._request, data[at : at + 2 * PIECE])
        self.samples += len(data) // 2
        return self._hearer.wanted(self._request)

    def _is_whole(self, chunk: Chunk) -> bool:
        """Whether these are bytes of whole samples."""
        return isinstance(chunk, bytes) and not (len(chunk) % 2 or self._joiner.rest)

    def _samples(self, chunk: Chunk) -> Samples:
        if isinstance(chunk, bytes):
            return self._joiner.push(chunk)
        if chunk.dtype == np.int16:
            return cast(Samples, chunk)
        floats = cast("npt.NDArray[np.float32]", chunk)
        if bad := count_bad(floats):
            self.bad += bad
            self._hearer.tell_bad(bad)
        return to_int16(floats)


def _bytes_of(chunk: Chunk) -> memoryview:
    """PCM16 as bytes, little-endian, where it lies."""
    if isinstance(chunk, bytes):
        return memoryview(chunk)
    check_samples(chunk, np.int16)
    if not chunk.size:
        return memoryview(b"")  # an array of none cannot be cast
    return np.ascontiguousarray(chunk, "<i2").data.cast("B")
