"""
One worker seen from the parent: its process, its socket, the requests it holds, its pulse.

An asyncio protocol, so that PCM reaches the sink inside the loop's own read callback.
Knows no queue; whom to start next is the pool's business.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Optional, Protocol, Union

import numpy as np

from ..errors import EngineError, EngineLost, EngineTimeout
from . import ipc
from .held import Held, Request
from .printed import Printed, reason
from .spec import EngineSpec, Limits

log = logging.getLogger("abr_tts.engine")

UNFIT = 78
"""Exit code of an interpreter that cannot run a worker, and prints why: EX_CONFIG of sysexits.h."""

BOOTSTRAP = """
import sys
def unfit(words):
    print(words)
    sys.stdout.flush()
    sys.exit(78)
if sys.version_info < (3, 10):
    unfit(sys.executable + " is Python %d.%d; an engine's worker needs 3.10 or later" % sys.version_info[:2])
import importlib.util as u
sys.path[:] = [p for p in sys.path if p]
missing = [name for name in ("numpy", "msgpack") if u.find_spec(name) is None]
if missing:
    names = " ".join(missing)
    words = "%s has no %s, which an engine's worker needs: %s -m pip install %s"
    unfit(words % (sys.executable, " and no ".join(missing), sys.executable, names))
home = sys.argv[1]
spec = u.spec_from_file_location("abr_tts", home + "/__init__.py", submodule_search_locations=[home])
sys.modules["abr_tts"] = package = u.module_from_spec(spec)
spec.loader.exec_module(package)
from abr_tts.engine.worker import main
main(sys.argv[2:])
"""
"""
Runs the worker of *this* package under any interpreter, or has one that cannot say what it lacks. A
search path would carry our whole site-packages along, whose compiled modules another Python cannot load.
"""

PACKAGE = Path(__file__).resolve().parent.parent
"""The directory of the package `abr_tts`."""

PRINTING_S = 0.2
"""How long to wait for the end of a dead worker's output; a child of its own may hold it open."""

REAPING_S = 4.0
"""How long a killed process may take to end before we go on without it. Chosen here."""

STARTING, IDLE, BUSY, LEAVING, GONE = "starting", "idle", "busy", "leaving", "gone"


class Owner(Protocol):
    """Whom a worker reports to."""

    def worker_ready(self, worker: WorkerHandle, ready: ipc.Ready) -> None:
        """It has loaded, and is idle."""

    def worker_free(self, worker: WorkerHandle, end: Optional[ipc.End]) -> None:
        """One of its requests is over (`end` None: by a fault): it has room."""

    def worker_gone(self, worker: WorkerHandle, why: str) -> None:
        """Its process has ended; called once."""


class WorkerHandle(asyncio.Protocol):
    """
    A worker process. `await start()`, then `say` whenever there is `room`.

    It is started from the loop's own thread, which must outlive it: Linux sends the
    parent-death signal when that *thread* ends.
    """

    def __init__(self, spec: EngineSpec, limits: Limits, owner: Owner, number: int = 0) -> None:
        self.number = number
        """Which of the pool's it is, from 0; its replacement is the same."""
        self._spec = spec
        self._limits = limits
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._frames = ipc.Frames()
        self._printed = Printed()
        self._python = spec.python or sys.executable
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._transport: Optional[asyncio.Transport] = None
        self._timer: Optional[asyncio.TimerHandle] = None
        self._held: dict[int, Held] = {}
        self._deadline = self._loop.time() + limits.load_s
        self._pinged = self._heard = 0.0
        self._why = ""
        self._burial: Optional[asyncio.Task[None]] = None
        self.gone = asyncio.Event()
        self.state = STARTING
        self.ready_at: Optional[float] = None
        self.missing_dependency = False
        self.loading: Optional[ipc.Loading] = None
        """How far it said to be with loading."""
        self.last_voice = ""
        self.freed_after_s: Optional[float] = None
        """Seconds from the cancel of what ended last until that; None: that was no cancel."""
        self.served = 0

    # -- process --------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the process; `Owner.worker_ready` or `worker_gone` follows."""
        try:
            ours = self._launch()
        except OSError as error:
            self._over(f"{self._python} cannot be started: {error.strerror or error}")
            return
        assert self._process is not None
        await self._loop.connect_read_pipe(lambda: self._printed, self._process.stdout)
        await self._loop.create_unix_connection(lambda: self, sock=ours)

    def _launch(self) -> socket.socket:
        """Start the process: 1 ms or two of the loop's time, and only when a worker is new."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [self._python, "-c", BOOTSTRAP, str(PACKAGE), "--fd", str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    pass_fds=[theirs.fileno()],
                    env=os.environ | self._spec.environment(self.number),
                )
            except OSError:
                ours.close()
                raise
        return ours

    @property
    def pid(self) -> Optional[int]:
        """The process's id."""
        return self._process.pid if self._process else None

    def kill(self, why: str) -> None:
        """End the process at once; `why` becomes the reason it is gone."""
        self._why = self._why or why
        if self.state == GONE:
            return
        self.state = LEAVING
        if self._process:
            self._process.kill()
        if self._transport:
            self._transport.abort()

    async def stop(self, error: EngineError) -> None:
        """Fault the requests at hand and let it exit, or kill it; returns when the process is gone."""
        for request in [held.request for held in self._held.values() if held.request]:
            self.cancel(request)
            request.finish(error)
        if self.state in (IDLE, BUSY):
            self.state = LEAVING
            self._send(ipc.Drain())
            self._deadline = self._loop.time() + self._limits.drain_s
            self._arm()
        else:
            self.kill(error.message)
        await self.gone.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is open: load the engine."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send(ipc.Load(self._spec.kind, dict(self._spec.options), self._spec.parallel))
        self._arm()

    def connection_lost(self, exc: Optional[Exception]) -> None:
        """The process is dying or dead: fail its requests now, and report when it is buried."""
        self.state = LEAVING
        if self._timer:
            self._timer.cancel()
        self._finish(EngineLost("the engine's process ended in the middle of this text"))
        self._burial = self._loop.create_task(self._bury())

    async def _bury(self) -> None:
        """Reap the process and learn why it ended."""
        assert self._process is not None
        self._process.kill()  # a process that only closed its socket is of no use either
        pause = 0.001
        while self._process.poll() is None and pause < REAPING_S:
            await asyncio.sleep(pause)
            pause *= 2
        await self._printed.closed(PRINTING_S)
        code, last = self._process.returncode, self._printed.last()
        if code == UNFIT and last:
            self.missing_dependency = True
            self._why = self._why or last
        self._over(self._why or self._where(reason(code, last)))

    def _where(self, why: str) -> str:
        """`why`, with the interpreter where that was chosen and has never run an engine."""
        return why if self.ready_at or not self._spec.python else f"{self._python}: {why}"

    def _over(self, why: str) -> None:
        self.state = GONE
        self.gone.set()
        self._owner.worker_gone(self, why)

    # -- requests -------------------------------------------------------------------------

    @property
    def load(self) -> int:
        """Requests at hand."""
        return len(self._held)

    @property
    def room(self) -> int:
        """Requests that it can be given beside."""
        return self._spec.parallel - len(self._held) if self.state in (IDLE, BUSY) else 0

    def say(self, request: Request) -> None:
        """Speak; only while there is `room`."""
        assert self.room > 0, self.state
        self.state = BUSY
        ask = request.ask
        self._held[ask.id] = Held(request, self._limits, self._loop.time())
        self.last_voice = ask.voice
        self.served += 1
        self._send(ask)
        self._arm()

    def cancel(self, request: Request) -> None:
        """Stop speaking; the sink hears nothing more. There is room when its `End` comes."""
        held = self._held.get(request.ask.id)
        if held is None or held.request is not request:
            return
        self._send(ipc.Cancel(request.ask.id))
        held.cancel(self._loop.time())
        self._arm()

    def _finish(self, error: EngineError) -> None:
        """Fault the requests at hand."""
        for held in self._held.values():
            held.finish(error)

    # -- what it says ---------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Records from the worker; PCM goes on to the sink here and now."""
        self._heard = self._loop.time()
        try:
            for record in self._frames.feed(data):
                self._take(record)
        except ipc.IpcError as error:
            self.kill(f"it does not speak our protocol: {error}")

    def _take(self, record: ipc.Record) -> None:
        if isinstance(record, ipc.Pcm):
            self._take_pcm(record)
        elif isinstance(record, (ipc.End, ipc.Fault)):
            self._take_end(record)
        elif isinstance(record, ipc.Ready):
            if self.state != STARTING:
                raise ipc.IpcError("ready twice")
            self.state = IDLE
            self._deadline = float("inf")
            self._owner.worker_ready(self, record)  # which may raise: then it has never been ready
            self.ready_at = self._heard
            self._arm()
        elif isinstance(record, ipc.Loading):
            self.loading = record
        elif isinstance(record, ipc.Log):
            log.log(record.level, "worker %s: %s", self.pid, record.message)

    def _take_pcm(self, record: ipc.Pcm) -> None:
        held = self._held.get(record.id)
        if held is None or (request := held.request) is None:
            return  # cancelled: what was on its way
        held.heard(self._heard)
        self._arm()  # the first chunk's limit was the longer one; after that this is two comparisons
        if len(record.data) % 2:
            raise ipc.IpcError("half a sample")
        samples = np.frombuffer(record.data, "<i2").astype(np.int16, copy=False)
        if samples.size and not request.pcm(samples):
            self.cancel(request)

    def _take_end(self, record: Union[ipc.End, ipc.Fault]) -> None:
        if isinstance(record, ipc.Fault) and record.fatal:
            self._why = record.message
            self.missing_dependency = record.code == "missing_dependency"
            if self.missing_dependency and self._spec.python:
                self._why = f"in {self._python}: {record.message}"
            self.state = LEAVING
            self._finish(EngineError(f"the engine failed: {record.message}"))
            return  # it exits; connection_lost follows
        if self.state != BUSY or (held := self._held.pop(record.id, None)) is None:
            return
        self.state = BUSY if self._held else IDLE
        self.freed_after_s = held.freed_after_s(self._heard)
        # The next request is on its way to the worker before this one's sink is told.
        self._owner.worker_free(self, record if isinstance(record, ipc.End) else None)
        held.finish(EngineError(record.message) if isinstance(record, ipc.Fault) else None)

    def _send(self, record: ipc.Record) -> None:
        if self._transport and not self._transport.is_closing():
            self._transport.write(ipc.encode(record))

    # -- pulse ----------------------------------------------------------------------------

    def _arm(self) -> None:
        """Have `_check` called at the next deadline; one that moved on is noticed there."""
        due = min(self._deadline, self._pulse_due(), *(held.deadline for held in self._held.values()))
        if self._timer and not self._timer.cancelled() and self._timer.when() <= due:
            return
        if self._timer:
            self._timer.cancel()
        self._timer = self._loop.call_at(due, self._check)

    def _pulse_due(self) -> float:
        if self.ready_at is None:
            return float("inf")
        if self._pinged > self._heard:
            return self._pinged + self._limits.pong_s
        return max(self._pinged, self._heard) + self._limits.ping_s

    def _check(self) -> None:
        """Timer. The loop reads sockets before it runs timers, so being late ourselves harms nobody."""
        self._timer = None
        now = self._loop.time()
        overdue = [held for held in self._held.values() if now >= held.deadline]
        if now >= self._deadline or overdue:
            self._time_out(overdue, now)
            return
        if now >= self._pulse_due():
            if self._pinged > self._heard:
                self._finish(EngineTimeout("the engine's process no longer answers"))
                self.kill(f"no answer to a ping for {self._limits.pong_s:g} s")
                return
            self._pinged = now
            self._send(ipc.Ping(self.served))
        self._arm()

    def _time_out(self, overdue: list[Held], now: float) -> None:
        """What hangs costs the process, and with it all that it does: those requests are lost, not late."""
        if self.state == STARTING:
            why = f"the engine did not load within {self._limits.load_s:g} s"
        elif self.state == LEAVING:
            why = f"it did not exit within {self._limits.drain_s:g} s"
        else:
            why = overdue[0].hung(now)
        for held in overdue:
            held.finish(EngineTimeout(held.hung(now)))
        self.kill(why)
