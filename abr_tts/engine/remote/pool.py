"""
A pool without workers: clauses go to servers elsewhere, on the event loop, a task for each.

Has the face of every pool (`face.Speaking`): the queue before the servers, their breakers, tries and
time-outs. How a server is asked is the dialect's business.

What is tried again: a try that failed before its first sample, and that another might not (see
`failures`). Never what has begun to sound: a listener would hear the beginning twice.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import Optional

from ...errors import Busy, EngineError, EngineLost, EngineTimeout, Unsupported
from .. import ipc
from ..base import Line, Samples, Sink, Voice
from ..face import FAILED, LOADING, READY, STARTING, STOPPED, Standing
from ..queue import Queue
from ..spec import Limits
from ..ticket import Counts
from ..voiced import Voiced
from ..voices import Catalogue
from .call import Call, RemoteStats
from .dialect import Dialect
from .failures import Failed, lost, unable
from .hosts import CLOSED, OPEN, Host, Hosts

log = logging.getLogger("abr_tts.engine")

LEAST_S = 0.02
"""Sound that must come within the limit between two chunks: a server that sends a byte now and then would
keep a place for hours. A frame, which even an engine 500 times slower than speech makes in 10 s."""

GREET_S, ANSWER_S = 2.0, 10.0
"""At the start: seconds between two questions to servers of which none answers, and for an answer. Chosen
here."""

RETRY_S = 1.0
"""What a request that finds the queue full is told to wait. A guess, as in `pool`."""


class RemotePool(Voiced[Call]):
    """
    Servers of one dialect. `await start()`, then `say`; at the end `await stop()`.

    Args:
        limits: `load_s` for a first answer at the start, `first_chunk_s`, `gap_s`, `queue`.
    """

    def __init__(self, dialect: Dialect, limits: Limits) -> None:
        super().__init__(dialect.abilities)
        self.limits = limits
        self._dialect = dialect
        self._options = dialect.options
        self._hosts = Hosts(self._options.urls, self._options.rules)
        self._queue: Queue[Call] = Queue()
        self._calls: set[Call] = set()
        self._alarm: Optional[asyncio.TimerHandle] = None
        self._count = Counts()
        self._state = STARTING
        self._sentence = ""
        self._reason = ""
        self._began = self._took = 0.0

    # -- life -----------------------------------------------------------------------------

    async def start(self) -> None:
        """
        Ask the servers until one answers; see `face.Speaking.start`.

        Raises:
            EngineError: none has within `load_s`, for the reason given.
        """
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._state = LOADING
        await self._dialect.open()
        try:
            voices = await self._first_answer()
        except BaseException:
            await self.stop()
            raise
        rate = self._options.sample_rate
        self._catalogue = Catalogue(voices, self.abilities, self._dialect.references, rate)
        self._state, self._sentence = READY, ""
        self._took = self._loop.time() - self._began

    async def _first_answer(self) -> list[Voice]:
        """The voices, once a server has answered."""
        deadline = self._began + self.limits.load_s
        while True:
            failed = lost("nothing was asked")
            asked = [self._loop.create_task(self._greeting(host, deadline)) for host in self._hosts.all]
            try:
                for answer in asyncio.as_completed(asked):
                    try:
                        return await answer
                    except Failed as error:
                        failed = error
            finally:
                for task in asked:
                    task.cancel()
            self._reason, self._sentence = failed.error.message, f"waiting for a server: {failed}"
            if not failed.retry or self._loop.time() + GREET_S >= deadline:
                raise EngineError(f"no {self.abilities.engine} server can be used: {failed}")
            await asyncio.sleep(GREET_S)

    async def _greeting(self, host: Host, deadline: float) -> list[Voice]:
        """The voices of `host`; raises `Failed`."""
        try:
            async with asyncio.timeout_at(min(deadline, self._loop.time() + ANSWER_S)):
                found = [*self._options.voices, *await self._dialect.greet(host.url)]
        except TimeoutError:
            raise lost("the engine's server did not answer in time") from None
        except Failed as failed:
            log.warning("%s: %s", host.url, failed)
            raise
        if not found and self._dialect.references is None:
            raise unable("it has no voice: name one in engine.options.voices")
        return found

    async def stop(self) -> None:
        """Fault what is under way, close every connection. Twice is once."""
        self._state, self._sentence = STOPPED, "the engine is shutting down"
        if self._alarm:
            self._alarm.cancel()
        error = EngineLost(self._sentence)
        for call in [*self._queue.clear(), *self._calls]:
            call.finish(error)
        tasks = [call.task for call in self._calls if call.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._dialect.close()

    # -- requests -------------------------------------------------------------------------

    def _speak(self, line: Line, sink: Sink, first: bool) -> Call:
        """
        Take a request.

        Raises:
            Busy: too many wait, or every server is left alone for a while; `retry_after` says when
                to come back.
        """
        now = self._loop.time()
        if self.waiting >= self.limits.queue:
            raise Busy(f"{self.waiting} requests wait for the engine", retry_after=RETRY_S)
        if (wait := self._hosts.refuse_for(now)) > 0 and self._state != STOPPED:
            raise Busy(f"the engine is out of service: {self._reason}", retry_after=round(wait, 3))
        self._count.said += 1
        ask = ipc.Say(self._count.said, line.text, line.voice, line.language, line.speed, line.instruct)
        call = Call(self._on_cancel, self._count, ask, sink, line)
        if self._state == STOPPED:
            self._loop.call_soon(call.finish, EngineLost(self._sentence))
        elif host := self._hosts.pick(now):
            self._give(call, host)
        else:
            self._queue.add(call, first)
        return call

    def convert(self, audio: Samples, voice: Voice, speed: float, sink: Sink) -> Call:
        """No protocol of these has it; raises `Unsupported`."""
        raise Unsupported(f"{self.abilities.engine} converts no voices")

    def _give(self, call: Call, host: Host) -> None:
        call.enter(host)
        call.given_at = self._loop.time()
        self._calls.add(call)
        call.task = self._loop.create_task(self._serve(call))
        # Not in the task itself: one that is cancelled before its first step never runs at all.
        call.task.add_done_callback(lambda task: self._left(call))

    def _left(self, call: Call) -> None:
        self._calls.discard(call)
        self._leave(call)

    def _leave(self, call: Call) -> None:
        """The call's place is free, if it had one."""
        if call.leave():
            self._dispatch()

    def _on_cancel(self, call: Call) -> None:
        self._queue.remove(call)
        if call.task:
            call.task.cancel()

    async def _serve(self, call: Call) -> None:
        """One try after the other, until the call is over or waits in the queue again."""
        try:
            while call.host is not None:
                failed = await self._try(call, call.host)
                self._leave(call)
                if failed and not call.over:
                    await self._again(call, failed)
        except Exception as error:  # a fault of our own must not leave a listener waiting
            log.exception("a remote engine could not be asked")
            call.finish(EngineError(f"the engine could not be asked ({type(error).__name__})"))

    async def _try(self, call: Call, host: Host) -> Optional[Failed]:
        """Speak; returns why not, or None: the call is over."""
        now = self._loop.time()
        deadline = call.begin(now, self.limits.first_chunk_s)
        if now >= deadline:  # it has waited for another try, and no server is to blame
            return Failed(_too_late(call), retry=False, hurt=False)
        limit = asyncio.timeout_at(deadline)
        try:
            async with limit, aclosing(self._dialect.speak(host.url, call.line)) as speech:
                async for samples in speech:
                    if samples.size and not self._take(call, samples, limit):
                        return None
            if not call.heard:
                raise unable("the engine's server sent no sound")
        except (Failed, TimeoutError) as error:
            failed = error if isinstance(error, Failed) else Failed(_too_late(call), retry=False, hurt=True)
            self._failed(call, host, failed)
            return failed
        host.succeeded()
        call.finish(None)
        return None

    def _take(self, call: Call, samples: Samples, limit: asyncio.Timeout) -> bool:
        """Hand samples on; returns whether more are wanted."""
        rate = self._options.sample_rate
        call.heard += samples.size
        call.unheard += samples.size
        if call.unheard >= LEAST_S * rate:
            call.unheard, call.sounding = 0, True
            limit.reschedule(self._loop.time() + self.limits.gap_s)
        if call.heard > self._options.longest_s * rate:
            call.finish(EngineError(f"the engine's server went on for {self._options.longest_s:g} s"))
            return False
        return call.pcm(samples)

    def _failed(self, call: Call, host: Host, failed: Failed) -> None:
        """Count it against the server, and leave that alone if it is time to."""
        now = self._loop.time()
        log.warning("%s: %s", host.url, failed)
        self._reason = failed.error.message
        call.avoid.add(host)
        opens = failed.hurt and host.failed(now, self._reason)
        if failed.rest_s:
            host.rest(now, failed.rest_s)
        elif not failed.hurt:
            host.succeeded()  # it refuses this request, and is well
        if opens:
            self._count.lost += 1
            log.warning("%s is left alone for %g s", host.url, self._options.breaker_open_s)
        if opens or failed.rest_s:
            self._rearm()
            self._refuse_waiting()

    def _refuse_waiting(self) -> None:
        """While every server is shut nobody waits in vain."""
        if (wait := self._hosts.refuse_for(self._loop.time())) > 0:
            for call in self._queue.clear():
                call.finish(_out_of_service(self._reason, wait))

    def _rearm(self) -> None:
        """Come back when a server that is left alone may be asked again."""
        if self._alarm:
            self._alarm.cancel()
        wait = self._hosts.next_change(self._loop.time())
        self._alarm = None if wait is None else self._loop.call_later(wait, self._reopen)

    def _reopen(self) -> None:
        self._dispatch()
        self._rearm()

    async def _again(self, call: Call, failed: Failed) -> None:
        """Find a place for another try, at once or in the queue; or tell why there is none."""
        now = self._loop.time()
        other = self._hosts.pick(now, call.avoid)
        fresh = other is not None and other not in call.avoid
        pause = 0.0 if fresh else max(self._backoff(call), self._hosts.wait(now))
        spent = call.heard or call.tries > self._options.retries or now + pause >= call.deadline
        if not failed.retry or spent:
            failed.error.retry_after = failed.error.retry_after or self._hosts.refuse_for(now) or None
            call.finish(failed.error)
            return
        await asyncio.sleep(pause)
        now = self._loop.time()
        if host := self._hosts.pick(now, call.avoid):
            call.enter(host)
        elif (wait := self._hosts.refuse_for(now)) > 0:
            call.finish(_out_of_service(self._reason, wait))
        else:
            self._queue.add(call, first=True)

    def _backoff(self, call: Call) -> float:
        first, longest = self._options.backoff_s
        return min(first * 2.0 ** (call.tries - 1), longest)

    def _dispatch(self) -> None:
        """Give the servers those who wait, as long as there is a place."""
        while len(self._queue) and (host := self._hosts.pick(self._loop.time())) is not None:
            call = self._queue.take()
            assert call is not None
            self._give(call, host)

    # -- what it tells --------------------------------------------------------------------

    @property
    def ready(self) -> int:
        """Requests that may run at once: none while every server is left alone."""
        return self._hosts.places(self._loop.time()) if self._state == READY else 0

    @property
    def waiting(self) -> int:
        """Requests without a server yet."""
        return len(self._queue)

    @property
    def stats(self) -> RemoteStats:
        """Where it stands, server by server; `lost` counts breakers that opened."""
        now = self._loop.time() if self._began else 0.0
        return RemoteStats(
            size=len(self._hosts.all) * self._options.parallel,
            ready=self.ready if self._began else 0,
            busy=sum(host.busy for host in self._hosts.all),
            starting=0,
            waiting=self.waiting,
            last_reason=self._reason,
            servers=tuple(host.stats(now) for host in self._hosts.all),
            **vars(self._count),
        )

    @property
    def progress(self) -> Standing:
        """Whether a server answers, and of how many."""
        if not self._began:
            return Standing(STARTING, "", 0.0, 0.0)
        now = self._loop.time()
        if self._state != READY:
            return Standing(self._state, self._sentence, 0.0, now - self._began)
        states = [host.state(now) for host in self._hosts.all]
        shut = len(states) - states.count(CLOSED)
        sentence = f"{shut} of {len(states)} servers are left alone: {self._reason}" if shut else ""
        state = FAILED if states.count(OPEN) == len(states) else READY
        return Standing(state, sentence, 1.0, self._took)


def _too_late(call: Call) -> EngineTimeout:
    if call.sounding:
        return EngineTimeout("the engine's server fell silent in the middle")
    return EngineTimeout("the engine's server made no sound within its time limit")


def _out_of_service(reason: str, wait: float) -> EngineLost:
    return EngineLost(f"the engine is out of service: {reason}", retry_after=round(wait, 3))
