"""
A pool of workers: the queue before them, the voices they have, their replacement when they die.

The parent's side, on one event loop, without locks. Knows nothing of streams; a request is
one clause.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Optional, Union

from ..audio.pcm import encode_pcm16
from ..errors import Busy, EngineError, EngineLost, MissingDependency
from . import face, ipc
from .base import Abilities, Line, Samples, Sink, Voice
from .face import PoolStats, Standing, check_convertible
from .parent import BUSY, IDLE, STARTING, WorkerHandle
from .queue import Queue
from .references import References
from .spec import EngineSpec, Limits
from .ticket import Counts, Ticket
from .voiced import Voiced
from .voices import Catalogue

__all__ = ["EngineSpec", "Limits", "Pool", "PoolStats", "Ticket"]

log = logging.getLogger("abr_tts.engine")

STABLE_S = 1.0
"""A worker that lived this long after loading is replaced at once; a shorter life counts as a
failed start and is followed by a pause. Chosen here."""

RETRY_S = 1.0
"""What a refused request is told to wait: a clause is spoken in well under it. A guess."""


class Pool(Voiced[Ticket]):
    """
    `size` workers of one engine. `await start()`, then `say`; at the end `await stop()`.

    A worker that dies, hangs or raises costs its own requests and is replaced.
    """

    def __init__(self, spec: EngineSpec, size: int = 1, *, limits: Optional[Limits] = None) -> None:
        if size < 1:
            raise ValueError(f"a pool needs at least one worker, not {size}")
        super().__init__(Abilities(spec.kind))
        self.spec = spec
        self.size = size
        self.limits = limits or Limits()
        self._workers: set[WorkerHandle] = set()
        self._queue: Queue[Ticket] = Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._pauses: set[asyncio.TimerHandle] = set()
        self._first: Optional[asyncio.Future[None]] = None
        self._stopping = False
        self._out_of_service = ""
        self._failures = 0
        self._next_id = 0
        self._reason = ""
        self._count = Counts()
        self._began = 0.0
        self._took: Optional[float] = None
        self.freed: Callable[[float], None] = lambda seconds: None
        """Is told of each worker that is free after a cancel, with the seconds since."""

    # -- life -----------------------------------------------------------------------------

    async def start(self) -> None:
        """
        Start every worker; returns as soon as one is ready.

        Raises:
            MissingDependency: a library or model is not installed; says how to get it.
            EngineError: no worker starts, for the reason given.
        """
        loop = asyncio.get_running_loop()
        self._began, self._first = loop.time(), loop.create_future()
        for number in range(self.size):
            self._spawn(number)
        try:
            await self._first
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Fault what is under way, end every worker; returns when their processes are gone."""
        self._stopping = True
        self._out_of_service = self._out_of_service or "the engine is shutting down"
        for pause in self._pauses:
            pause.cancel()
        self._fault_waiting()
        await asyncio.gather(*self._tasks)
        error = EngineLost(self._out_of_service)
        await asyncio.gather(*(worker.stop(error) for worker in list(self._workers)))

    def _spawn(self, number: int) -> None:
        loop = asyncio.get_running_loop()
        worker = WorkerHandle(self.spec, self.limits, self, number)
        self._workers.add(worker)
        task = loop.create_task(worker.start())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _spawn_later(self, number: int, pause: float) -> None:
        def spawn() -> None:
            self._pauses.discard(handle)
            self._spawn(number)

        handle = asyncio.get_running_loop().call_later(pause, spawn)
        self._pauses.add(handle)

    def worker_ready(self, worker: WorkerHandle, ready: ipc.Ready) -> None:
        """A worker has loaded (see `parent.Owner`)."""
        if not self.voices:
            try:
                abilities = Abilities(**ready.abilities)
                voices = [Voice(name, tuple(tags), rate, text) for name, tags, rate, text in ready.voices]
            except (TypeError, ValueError) as error:
                raise ipc.IpcError(f"an engine of another version: {error}") from None
            self.abilities = abilities
            folder = self.spec.options.get("voices_dir") if self.abilities.clones else None
            references = References(folder) if folder else None
            self._catalogue = Catalogue(voices, self.abilities, references, ready.rate)
        self._out_of_service = ""
        if self._first and not self._first.done():
            self._took = asyncio.get_running_loop().time() - self._began
            self._first.set_result(None)
        self._dispatch(worker)

    def worker_free(self, worker: WorkerHandle, end: Optional[ipc.End]) -> None:
        """A worker has done a request (see `parent.Owner`)."""
        self._failures = 0
        if end is not None:
            self._count.bad_samples += end.bad
        if worker.freed_after_s is not None:
            self.freed(worker.freed_after_s)
        self._dispatch(worker)

    def worker_gone(self, worker: WorkerHandle, why: str) -> None:
        """A worker has ended (see `parent.Owner`): start another, later each time it fails at once."""
        self._workers.discard(worker)
        if self._stopping:
            return
        self._count.lost += 1
        self._reason = why
        # What a worker lacks before any has loaded is no loss: `start` is going to raise it.
        told = worker.missing_dependency and self._took is None
        log.log(logging.DEBUG if told else logging.WARNING, "engine worker %s lost: %s", worker.pid, why)
        pause = self._pause(worker)
        none_loaded = worker.ready_at is None and not any(other.ready_at for other in self._workers)
        if none_loaded and self._failures >= self.size:
            self._go_out_of_service(worker, why)
        self._spawn_later(worker.number, pause)

    def _pause(self, worker: WorkerHandle) -> float:
        """Seconds before the replacement of `worker` is started."""
        now = asyncio.get_running_loop().time()
        if worker.ready_at is not None and now - worker.ready_at >= STABLE_S:
            self._failures = 0
            return 0.0
        first, longest = self.limits.backoff_s
        self._failures += 1
        return float(min(first * 2 ** min(self._failures - 1, 30), longest))

    def _go_out_of_service(self, worker: WorkerHandle, reason: str) -> None:
        """No worker starts: nobody would serve those who wait, so tell them now."""
        self._out_of_service = f"no {self.spec.kind} engine starts: {reason}"
        self._fault_waiting()
        if self._first and not self._first.done():
            missing = worker.missing_dependency
            self._first.set_exception(
                MissingDependency(reason) if missing else EngineError(self._out_of_service)
            )

    def _fault_waiting(self) -> None:
        for ticket in self._queue.clear():
            ticket.finish(EngineLost(self._out_of_service))

    # -- requests -------------------------------------------------------------------------

    def _speak(self, line: Line, sink: Sink, first: bool) -> Ticket:
        ask = ipc.Say(self._number(), line.text, line.voice, line.language, line.speed, line.instruct)
        return self._ask(ask, sink, first)

    def convert(self, audio: Samples, voice: Voice, speed: float, sink: Sink) -> Ticket:
        """Say what is said in `audio` in another voice; see `face.Speaking.convert`."""
        check_convertible(self.abilities, audio)
        return self._ask(ipc.Convert(self._number(), encode_pcm16(audio), voice.name, speed), sink, True)

    def _number(self) -> int:
        """The next request's number, if it may come."""
        if self.waiting >= self.limits.queue:
            raise Busy(f"{self.waiting} requests wait for the engine", retry_after=RETRY_S)
        self._next_id += 1
        return self._next_id

    def _ask(self, ask: Union[ipc.Say, ipc.Convert], sink: Sink, first: bool) -> Ticket:
        self._count.said += 1
        ticket = Ticket(self._on_cancel, self._count, ask, sink)
        free = [worker for worker in self._workers if worker.room]
        if self._out_of_service:
            error = EngineLost(self._out_of_service)
            asyncio.get_running_loop().call_soon(ticket.finish, error)
        elif free:
            # The least busy; one that spoke this voice last need not load it; then the least used.
            best = min(free, key=lambda worker: (worker.load, worker.last_voice != ask.voice, worker.served))
            self._give(best, ticket)
        else:
            self._queue.add(ticket, first)
        return ticket

    def _dispatch(self, worker: WorkerHandle) -> None:
        """Give a worker the next requests, as many as wait and it has room for."""
        while worker.room and (ticket := self._queue.take()) is not None:
            self._give(worker, ticket)

    def _give(self, worker: WorkerHandle, ticket: Ticket) -> None:
        ticket.worker, ticket.given_at = worker, asyncio.get_running_loop().time()
        worker.say(ticket)

    def _on_cancel(self, ticket: Ticket) -> None:
        if ticket.worker is not None:
            ticket.worker.cancel(ticket)
        else:
            self._queue.remove(ticket)

    @property
    def ready(self) -> int:
        """Workers that can be given a request or are at one."""
        return sum(worker.state in (IDLE, BUSY) for worker in self._workers)

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the workers, to look at what they use."""
        return tuple(worker.pid for worker in self._workers if worker.pid is not None)

    @property
    def waiting(self) -> int:
        """Requests without a worker yet."""
        return len(self._queue)

    @property
    def progress(self) -> Standing:
        """How far it is: of the workers that load, the one that is furthest; see `face.Standing`."""
        now = asyncio.get_running_loop().time()
        seconds = now - self._began if self._began else 0.0
        if self._stopping:
            return Standing(face.STOPPED, self._out_of_service, 0.0, seconds)
        if self.ready:
            return Standing(face.READY, "", 1.0, seconds if self._took is None else self._took)
        if self._out_of_service:
            return Standing(face.FAILED, self._out_of_service, 0.0, seconds)
        told = [worker.loading for worker in self._workers if worker.loading]
        if not told:
            return Standing(face.STARTING, f"starting the {self.spec.kind} engine", 0.0, seconds)
        furthest = max(told, key=lambda loading: loading.share)
        return Standing(face.LOADING, furthest.sentence, furthest.share, seconds)

    @property
    def stats(self) -> PoolStats:
        """Where it stands; cheap, to be asked whenever metrics are."""
        states = [worker.state for worker in self._workers]
        return PoolStats(
            size=self.size,
            ready=self.ready,
            busy=states.count(BUSY),
            starting=states.count(STARTING),
            waiting=self.waiting,
            last_reason=self._reason,
            **vars(self._count),
        )
