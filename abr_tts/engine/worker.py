"""
The child process: one engine, one request at a time unless told otherwise, on one end of a socket pair.

Two threads. The main one computes, so that PCM goes from the engine's callback straight
into the socket, and waits there when the parent does not read: nothing is buffered here.
The other one listens, so that pings are answered and cancels noticed meanwhile, and ends
the process when the parent is gone. For several requests at once there is a thread for
each that computes, and the main one only reads. Must run under Python 3.10 with numpy and
msgpack alone; knows no asyncio and no streams.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import logging
import os
import queue
import select
import signal
import socket
import sys
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any, NoReturn, Optional, Union

from ..errors import EngineError
from . import ipc, work
from .base import Engine

LISTEN_MS = 100
"""How long the listening thread goes on watching after the main one has stopped computing: long
enough not to be woken for every clause of a fast engine. Chosen here."""

READ = 65_536
"""Bytes read from the socket at once; requests are far shorter, but for speech to be converted."""


class _Asked:
    """A request that was read and has not ended."""

    cancelled = False


class Worker:
    """Serves one connection until it is drained or the parent is gone."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._frames = ipc.Frames()
        self._inbox: deque[ipc.Record] = deque()
        self._reading = threading.Lock()
        self._sending = threading.Lock()
        self._computing = threading.Event()
        self._asked: dict[int, _Asked] = {}
        self._parallel = 1
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
                if self._parallel > 1:
                    self._computing.clear()
                    self._share_out()
                    return
            elif isinstance(record, (ipc.Say, ipc.Convert)):
                self._speak(record)
            self._computing.clear()

    def _share_out(self) -> None:
        """Read until drained, and have requests done by as many threads as may compute at once."""
        jobs: queue.SimpleQueue[Optional[ipc.Record]] = queue.SimpleQueue()
        lanes = [
            threading.Thread(target=self._compute, args=(jobs,), name=f"lane {number}", daemon=True)
            for number in range(self._parallel)
        ]
        for lane in lanes:
            lane.start()
        while True:
            while not self._inbox:
                self._read()
            record = self._inbox.popleft()
            if isinstance(record, ipc.Drain):
                break
            jobs.put(record)
        for _ in lanes:
            jobs.put(None)
        for lane in lanes:
            lane.join()

    def _compute(self, jobs: queue.SimpleQueue[Optional[ipc.Record]]) -> None:
        while (record := jobs.get()) is not None:
            if isinstance(record, (ipc.Say, ipc.Convert)):
                self._speak(record)

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
            self._fail(self._any, error)
        except OSError:
            data = b""
        if not data:
            os._exit(0)  # the parent is gone; the engine may be deep in C and must not keep us

    def _take(self, record: ipc.Record) -> None:
        if isinstance(record, ipc.Ping):
            self._send(ipc.Pong(record.value))
        elif isinstance(record, ipc.Cancel):
            if (asked := self._asked.get(record.id)) is not None:
                asked.cancelled = True
        else:
            if isinstance(record, (ipc.Say, ipc.Convert)):
                self._asked[record.id] = _Asked()
            self._inbox.append(record)

    def _load(self, load: ipc.Load) -> None:
        try:
            engine = work.make(load.kind)
            engine.load(load.options, work.Telling(self._send))
            work.check_parallel(engine, load.parallel)
            ready = work.ready(engine)
        except Exception as error:
            self._fail(0, error)
        self._engine, self._parallel = engine, load.parallel
        self._send(ready)

    def _speak(self, ask: Union[ipc.Say, ipc.Convert]) -> None:
        assert self._engine is not None, "the parent asks after Ready"
        out = work.Outlet(self, ask.id)
        try:
            if self.wanted(ask.id):
                work.ask(self._engine, ask, out)
        except EngineError as error:
            last: ipc.Record = ipc.Fault(ask.id, error.code, error.message, fatal=False)
        except Exception as error:
            self._fail(ask.id, error)
        else:
            last = ipc.End(ask.id, out.samples, out.bad)
        del self._asked[ask.id]
        self._send(last)

    def wanted(self, request: int) -> bool:
        """Whether the parent still waits for this request."""
        asked = self._asked.get(request)
        return asked is None or not asked.cancelled

    @property
    def _any(self) -> int:
        """One of the requests at hand, all of which end with the process; 0: there is none."""
        return next(iter(list(self._asked)), 0)

    def pcm(self, request: int, data: memoryview) -> None:
        """Send PCM16 bytes from where they lie; blocks while the parent does not read."""
        head = ipc.pcm_head(request, len(data))
        try:
            with self._sending:
                sent = self._sock.sendmsg([head, data])
                if sent < len(head) + len(data):
                    rest = sent - len(head)
                    self._sock.sendall(head[sent:])
                    self._sock.sendall(data[max(rest, 0) :])
        except OSError:
            os._exit(0)  # the parent is gone

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
        self._send(work.fatal(request, error, self._send))
        os._exit(1)

    def _on_thread_exception(self, args: Any) -> None:
        """An engine's own thread died: what it should have made will never come."""
        self._fail(self._any, args.exc_value or args.exc_type())


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
