"""
The child process: one engine, one request at a time, on one end of a socket pair.

Two threads. The main one computes, so that PCM goes from the engine's callback straight
into the socket, and waits there when the parent does not read: nothing is buffered here.
The other one listens, so that pings are answered and cancels noticed meanwhile, and ends
the process when the parent is gone. Must run under Python 3.10 with numpy and msgpack
alone; knows no asyncio and no streams.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib
import logging
import os
import select
import signal
import socket
import sys
import threading
import traceback
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NoReturn, Optional, cast

import numpy as np
import numpy.typing as npt

from ..audio.pcm import ByteJoiner, count_bad, encode_pcm16, to_int16
from ..errors import AbrError, EngineError, MissingDependency
from . import ipc
from .base import Chunk, Engine, Samples

ENGINES = {"espeak": ("espeak", "Espeak"), "tone": ("tone", "Tone")}
"""Kind → module beside this one and class in it. Imported when loaded: each needs libraries of its own."""

PIECE = 16_384
"""Samples in one frame at most: an engine may hand out seconds at once, and a cancel must not wait."""

LISTEN_MS = 100
"""How long the listening thread goes on watching after the main one has stopped computing: long
enough not to be woken for every clause of a fast engine. Chosen here."""

LONGEST_REASON, LONGEST_LOG = 500, 8_000
"""Characters of an exception that reach a listener's error message, and the log. Chosen here."""

READ = 65_536
"""Bytes read from the socket at once; requests are far shorter."""


class Worker:
    """Serves one connection until it is drained or the parent is gone."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._frames = ipc.Frames()
        self._inbox: deque[ipc.Record] = deque()
        self._reading = threading.Lock()
        self._sending = threading.Lock()
        self._computing = threading.Event()
        self._current = 0
        self._cancelled = 0
        self._engine: Optional[Engine] = None
        self._told_bad = False

    def run(self) -> None:
        """Work until drained."""
        threading.excepthook = self._on_thread_exception
        threading.Thread(target=self._listen, name="listen", daemon=True).start()
        while True:
            while not self._inbox:
                self._read()
            record = self._inbox.popleft()
            if isinstance(record, ipc.Drain):
                return
            self._computing.set()
            if isinstance(record, ipc.Load):
                self._load(record)
            elif isinstance(record, ipc.Say):
                self._say(record)
            self._computing.clear()

    def _listen(self) -> None:
        """
        The listening thread: reads whenever the main one computes.

        The main thread reads for itself while it is idle, because handing a request from
        one thread to the other costs a wake-up, 30 µs idle and a millisecond under load.
        """
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        while True:
            self._computing.wait()
            if poll.poll(LISTEN_MS) and self._computing.is_set():
                self._read(socket.MSG_DONTWAIT)

    def _read(self, flags: int = 0) -> None:
        """Read once: pings are answered and cancels noted here and now, by either thread."""
        try:
            with self._reading:
                if self._inbox and not flags:
                    return  # the other thread read it while we waited for the lock
                data = self._sock.recv(READ, flags)
                for record in self._frames.feed(data):
                    self._take(record)
        except BlockingIOError:
            return  # the other thread was faster
        except ipc.IpcError as error:
            self._fail(self._current, error)
        except OSError:
            data = b""
        if not data:
            os._exit(0)  # the parent is gone; the engine may be deep in C and must not keep us

    def _take(self, record: ipc.Record) -> None:
        if isinstance(record, ipc.Ping):
            self._send(ipc.Pong(record.value))
        elif isinstance(record, ipc.Cancel):
            self._cancelled = record.id
        else:
            self._inbox.append(record)

    def _load(self, load: ipc.Load) -> None:
        try:
            if load.kind not in ENGINES:
                raise EngineError(f"no engine {load.kind!r}; there are {', '.join(ENGINES)}")
            module, name = ENGINES[load.kind]
            engine: Engine = getattr(importlib.import_module(f"{__package__}.{module}"), name)()
            engine.load(load.options)
        except Exception as error:
            self._fail(0, error)
        self._engine = engine
        voices = tuple((v.name, v.languages, v.sample_rate, v.description) for v in engine.voices)
        self._send(ipc.Ready(engine.voices[0].sample_rate, voices, asdict(engine.abilities)))

    def _say(self, say: ipc.Say) -> None:
        assert self._engine is not None, "the parent sends Say after Ready"
        out = _Outlet(self, say.id)
        self._current = say.id
        try:
            if self.wanted(say.id):
                self._engine.say(say.text, say.voice, say.language, say.speed, out)
        except EngineError as error:
            self._send(ipc.Fault(say.id, error.code, error.message, fatal=False))
        except Exception as error:
            self._fail(say.id, error)
        else:
            self._send(ipc.End(say.id, out.samples, out.bad))
        self._current = 0

    def wanted(self, request: int) -> bool:
        """Whether the parent still waits for this request, the only one that it has given us."""
        return request != self._cancelled

    def pcm(self, request: int, data: bytes) -> None:
        """Send PCM; blocks while the parent does not read."""
        self._send(ipc.Pcm(request, data))

    def tell_bad(self, count: int) -> None:
        """Log that samples were not finite: once in the life of a worker."""
        if not self._told_bad:
            self._told_bad = True
            self._send(
                ipc.Log(logging.WARNING, f"the engine made {count} samples that are not finite; silenced")
            )

    def _send(self, record: ipc.Record) -> None:
        data = ipc.encode(record)
        try:
            with self._sending:
                self._sock.sendall(data)
        except OSError:
            os._exit(0)  # the parent is gone

    def _fail(self, request: int, error: BaseException) -> NoReturn:
        """Report what cannot be survived, and leave."""
        expected = isinstance(error, (AbrError, MissingDependency, ImportError))
        if not expected:
            lines = "".join(traceback.format_exception(type(error), error, error.__traceback__))
            self._send(ipc.Log(logging.ERROR, lines[-LONGEST_LOG:]))
        words = str(error) if expected else f"{type(error).__name__}: {error}"
        message = " ".join(words.split())[:LONGEST_REASON]
        code = (
            "missing_dependency" if isinstance(error, (ImportError, MissingDependency)) else "engine_failed"
        )
        self._send(ipc.Fault(request, code, message, fatal=True))
        os._exit(1)

    def _on_thread_exception(self, args: Any) -> None:
        """An engine's own thread died: what it should have made will never come."""
        self._fail(self._current, args.exc_value or args.exc_type())


class _Outlet:
    """`base.Emit` of one request: any chunk becomes PCM16 frames of at most `PIECE` samples."""

    def __init__(self, worker: Worker, request: int) -> None:
        self._worker = worker
        self._request = request
        self._joiner = ByteJoiner()
        self.samples = 0
        self.bad = 0

    def __call__(self, chunk: Chunk) -> bool:
        data = chunk if isinstance(chunk, bytes) and not (len(chunk) % 2 or self._joiner.rest) else None
        if data is None:
            data = encode_pcm16(self._samples(chunk))
        for at in range(0, len(data), 2 * PIECE):
            if not self._worker.wanted(self._request):
                return False
            self._worker.pcm(self._request, data[at : at + 2 * PIECE])
        self.samples += len(data) // 2
        return self._worker.wanted(self._request)

    def _samples(self, chunk: Chunk) -> Samples:
        if isinstance(chunk, bytes):
            return self._joiner.push(chunk)
        if chunk.dtype == np.int16:
            return cast(Samples, chunk)
        floats = cast("npt.NDArray[np.float32]", chunk)
        if bad := count_bad(floats):
            self.bad += bad
            self._worker.tell_bad(bad)
        return to_int16(floats)


def die_with_parent() -> None:
    """Ask Linux to kill this process when the parent's thread ends; elsewhere the socket tells."""
    if sys.platform == "linux":
        set_death_signal = 1  # PR_SET_PDEATHSIG, linux/prctl.h
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL, 0, 0, 0)


def main(argv: Optional[Sequence[str]] = None) -> None:
    """`python -m abr_tts.engine.worker --fd N`: serve the socket that was inherited as N."""
    parser = argparse.ArgumentParser(prog="abr_tts.engine.worker")
    parser.add_argument("--fd", type=int, required=True, help="inherited end of a Unix socket pair")
    arguments = parser.parse_args(argv)
    # Ctrl-C and systemd signal the whole group; when we stop is for the parent to say.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    die_with_parent()
    with socket.socket(fileno=arguments.fd) as sock:
        Worker(sock).run()


if __name__ == "__main__":
    main()
