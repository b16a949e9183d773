"""
One actor seen from the server: the request it holds, its pulse, its end.

The counterpart of `parent.WorkerHandle`, with the same face towards the pool.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Optional, cast

import numpy as np

from ...errors import EngineError, EngineLost, EngineTimeout
from .. import ipc
from ..held import Request
from ..parent import BUSY, GONE, IDLE, LEAVING, STARTING, Owner, WorkerHandle
from ..spec import Limits
from .cluster import Connection

log = logging.getLogger("abr_tts.engine")


class _Over(Exception):
    """The actor is of no more use; the message is why."""


class Member:
    """An actor. `await start()`, then `say` whenever `state` is IDLE."""

    def __init__(self, connection: Connection, limits: Limits, owner: Owner, number: int) -> None:
        self.number = number
        """Which of the pool's it is, from 0."""
        self._connection = connection
        self._limits = limits
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._actor: Any = None
        self._life: Optional[asyncio.Task[None]] = None
        self._request: Optional[Request] = None
        self._work: Optional[asyncio.Task[None]] = None
        self._why = ""
        self._deadline = 0.0
        """When the next sound of the request at hand is due."""
        self.gone = asyncio.Event()
        self.state = STARTING
        self.ready_at: Optional[float] = None
        self.missing_dependency = False
        self.loading: Optional[ipc.Loading] = None
        self.last_voice = ""
        self.served = 0
        self.freed_after_s: Optional[float] = None
        self.pid: Optional[int] = None
        self.idle_since = 0.0
        self.retired = False
        """It was let go: nobody takes its place."""

    @property
    def _me(self) -> WorkerHandle:
        """As the pool types it."""
        return cast(WorkerHandle, self)

    async def start(self) -> None:
        """Have the actor started; `Owner.worker_ready` or `worker_gone` follows."""
        self._life = self._loop.create_task(self._live())

    # -- life -----------------------------------------------------------------------------

    async def _live(self) -> None:
        why = ""
        try:
            self._actor = self._connection.actor(self.number)
            await self._load()
            while True:
                await asyncio.sleep(self._limits.ping_s)
                await self._ping()
        except _Over as over:
            why = str(over)
        except asyncio.CancelledError:
            pass  # `kill` has said why
        except Exception as error:
            log.exception("actor %d", self.number)
            why = f"{type(error).__name__} in what watches it"
        await self._bury(self._why or why)

    async def _load(self) -> None:
        ready: Optional[ipc.Ready] = None
        try:
            async with asyncio.timeout(self._limits.load_s):
                self.pid = await self._actor.ping.remote()
                async for ref in self._actor.load.remote():
                    record = await ref
                    if isinstance(record, ipc.Fault):
                        self.missing_dependency = record.code == "missing_dependency"
                        raise _Over(record.message)
                    if isinstance(record, ipc.Ready):
                        ready = record
                    else:
                        self._note(record)
        except TimeoutError:
            raise _Over(f"the engine did not load within {self._limits.load_s:g} s") from None
        except self._connection.error as error:
            raise _Over(self._told(error)) from None
        if ready is None:
            raise _Over("its loading came to no end")
        self.state, self.ready_at = IDLE, self._loop.time()
        self.idle_since = self.ready_at
        self._owner.worker_ready(self._me, ready)

    def _note(self, record: Any) -> None:
        if isinstance(record, ipc.Loading):
            self.loading = record
        elif isinstance(record, ipc.Log):
            log.log(record.level, "actor %d: %s", self.number, record.message)

    async def _ping(self) -> None:
        try:
            async with asyncio.timeout(self._limits.pong_s):
                await self._actor.ping.remote()
        except TimeoutError:
            self._fail(EngineTimeout("the engine's actor no longer answers"))
            raise _Over(f"no answer to a ping for {self._limits.pong_s:g} s") from None
        except self._connection.error as error:
            raise _Over(self._told(error)) from None

    def _told(self, error: Exception) -> str:
        """Ray's reason: its first lines, which say what died and how."""
        if isinstance(error, self._connection.death):
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            long = next((line for line in lines if "dead because" in line), lines[0] if lines else "")
            return f"the actor is gone: {long[:200]}"
        return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"

    def kill(self, why: str) -> None:
        """End the actor at once; `why` becomes the reason it is gone."""
        if self.state in (LEAVING, GONE):
            return
        self._why = why
        self.state = LEAVING
        if self._life:
            # Not now: a task that is cancelled before its first step never runs, and would bury nobody.
            self._loop.call_soon(self._life.cancel)

    async def stop(self, error: EngineError) -> None:
        """Fault the request at hand and end the actor; returns when it was told to go."""
        self._fail(error)
        self.kill(error.message)
        await self.gone.wait()

    def retire(self) -> None:
        """Let it go while it idles."""
        self.retired = True
        self.kill("it had nothing to do")

    async def _bury(self, why: str) -> None:
        self.state = LEAVING
        self._fail(EngineLost("the engine's actor ended in the middle of this text"))
        if self._work:
            self._work.cancel()
            await asyncio.wait([self._work])
        if self._actor is not None:
            self._connection.kill(self._actor)
        self.state = GONE
        self.gone.set()
        self._owner.worker_gone(self._me, why)

    # -- requests -------------------------------------------------------------------------

    @property
    def load(self) -> int:
        """Requests at hand."""
        return int(self.state == BUSY)

    @property
    def room(self) -> int:
        """Requests that it can be given: an actor speaks one text at a time."""
        return int(self.state == IDLE)

    def say(self, request: Request) -> None:
        """Speak; only while IDLE."""
        assert self.state == IDLE, self.state
        self.state = BUSY
        self._request = request
        self.last_voice = request.ask.voice
        self.served += 1
        self._deadline = self._loop.time() + self._limits.first_chunk_s
        self._work = self._loop.create_task(self._speak(request))

    def cancel(self, request: Request) -> None:
        """Stop speaking; the sink hears nothing more. The actor is free when its engine has stopped."""
        if self._request is request:
            self._request = None
            if self._work:
                self._work.cancel()
                self._work = self._loop.create_task(self._wait_until_idle(self._work))

    def _fail(self, error: EngineError) -> None:
        request, self._request = self._request, None
        if request is not None:
            request.finish(error)

    async def _speak(self, request: Request) -> None:
        """The request's records, to its sink."""
        generator = self._actor.ask.remote(request.ask)
        ended = False
        try:
            async with asyncio.timeout_at(self._deadline) as limit:
                async for ref in generator:
                    record = await ref
                    if isinstance(record, bytes):
                        self._deadline = self._loop.time() + self._limits.gap_s
                        limit.reschedule(self._deadline)
                        samples = np.frombuffer(record, "<i2").astype(np.int16, copy=False)
                        if not request.pcm(samples):
                            self.cancel(request)
                            return
                    elif ended := self._take(record):
                        return
            raise _Over("its speech came to no end")
        except TimeoutError:
            self._fail(EngineTimeout("the engine made no sound within its time limit"))
            self.kill("the engine made no sound within its time limit")
        except (_Over, self._connection.error) as error:
            why = str(error) if isinstance(error, _Over) else self._told(error)
            self._fail(EngineLost("the engine's actor ended in the middle of this text"))
            self.kill(why)
        finally:
            if not ended:
                self._connection.cancel(generator)

    def _take(self, record: Any) -> bool:
        """What is no PCM; returns whether the request is over."""
        if isinstance(record, ipc.Fault) and record.fatal:
            self.missing_dependency = record.code == "missing_dependency"
            self._fail(EngineError(f"the engine failed: {record.message}"))
            self.kill(record.message)
            return True
        if not isinstance(record, (ipc.End, ipc.Fault)):
            self._note(record)
            return False
        request, self._request = self._request, None
        self._free(record if isinstance(record, ipc.End) else None)
        if request is not None:
            request.finish(EngineError(record.message) if isinstance(record, ipc.Fault) else None)
        return True

    async def _wait_until_idle(self, before: asyncio.Task[None]) -> None:
        """After a cancel: the engine is at its last chunk, which may take as long as any other."""
        since = self._loop.time()
        await asyncio.wait([before])
        try:
            async with asyncio.timeout_at(max(self._deadline, since + self._limits.cancel_s)):
                await self._actor.idle.remote()
        except TimeoutError:
            self.kill(f"it went on for {self._loop.time() - since:.3g} s after a cancel")
        except self._connection.error as error:
            self.kill(self._told(error))
        else:
            self._free(None, self._loop.time() - since)

    def _free(self, end: Optional[ipc.End], after_s: Optional[float] = None) -> None:
        if self.state == BUSY:
            self.freed_after_s = after_s
            self.state = IDLE
            self.idle_since = self._loop.time()
            self._owner.worker_free(self._me, end)
