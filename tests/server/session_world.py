"""
A server's sessions in virtual time: the real `Session`, and what is around it in small.

Real are sessions with their connections, utterances, cores, encoders, outboxes, the shelf, turns, quotas and
admission. Made small are the clock (a loop that leaps from timer to timer), the socket (a kernel that takes
so many bytes until its client reads), the codec threads (none) and the engine (noise, at a pace).
"""

import asyncio
import contextlib
import logging
import selectors
from collections import deque
from dataclasses import dataclass, field

import numpy as np
from aiohttp import WSMessage, WSMsgType

from abr_tts.audio import libopus
from abr_tts.engine.base import Abilities, Voice
from abr_tts.engine.voices import Catalogue
from abr_tts.errors import Busy, EngineLost
from abr_tts.server.access.auth import Caller
from abr_tts.server.config import load
from abr_tts.server.front import wire_limits
from abr_tts.server.load.limits import Admission, StreamIds
from abr_tts.server.load.quotas import Quotas
from abr_tts.server.load.relief import Relief
from abr_tts.server.load.turns import Speed, Turns
from abr_tts.server.resume.resumption import Resumption
from abr_tts.server.rollout.policies import LinkMemory, Policies
from abr_tts.server.sending.line import WebSocketLine
from abr_tts.server.session import Session
from abr_tts.server.shared import Shared
from abr_tts.server.speech.surroundings import Services
from abr_tts.server.speech.uplinks import Share
from abr_tts.server.watching.metrics import Metrics
from abr_tts.wire.connection import Connection

RATE = 22_050
KERNEL_BYTES = 16_384
"""What the kernel takes of a connection before its client reads."""

MAX_AHEAD_S, MAX_LEAD_S = 2.0, 2.5
"""Shorter than the texts, so that either binds."""

LIMITS = {
    "engine.kind": "tone", "limits.relief": False, "limits.streams": 4, "limits.streams_per_connection": 3,
    "limits.waiting_streams": 2, "limits.close_timeout_s": 1.0, "resume.window_s": 15.0, "resume.streams": 2,
    "stream.max_ahead_s": MAX_AHEAD_S, "stream.max_lead_s": MAX_LEAD_S,
    "engine.clause_chars": 40, "engine.first_clause_chars": 40, "stream.linger_s": 2.0,
}  # fmt: skip


class _Leaping(selectors.SelectSelector):
    """Waits for nothing: its loop's clock leaps to where the wait would end."""

    now = 0.0

    def select(self, timeout=None):
        ready = super().select(0)
        if not ready and timeout:
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose clock goes only when nothing is left to do."""

    def __init__(self):
        self._leaping = _Leaping()
        super().__init__(self._leaping)
        self.faults = []
        """What callbacks raised."""
        self.set_exception_handler(lambda loop, context: self.faults.append(context))

    def time(self):
        return self._leaping.now

    def run_for(self, seconds):
        """All that is due within."""
        self.call_later(seconds, self.stop)
        self.run_forever()

    def do(self, call, *args):
        """Call inside the loop, and all that comes of it at once; its result."""
        results = []
        self.call_soon(lambda: results.append(call(*args)))
        self.run_for(0.001)
        assert self.faults == [], self.faults
        return results[0]

    @property
    def timers(self):
        """What is still to be called."""
        return [timer for timer in self._scheduled if not timer.cancelled()]


class Threads:
    """In place of codec threads: a job is done in a later turn of the loop."""

    waiting = 0

    def __init__(self, loop):
        self._loop = loop

    def submit(self, work, done, failed, slack=0.0):
        def job():
            try:
                result = work()
            except Exception as error:
                failed(error)
            else:
                done(result)

        self._loop.call_soon(job)


def noise(text):
    """What the engine says for a text: int16, 1 500 samples a character."""
    return np.random.default_rng(list(text.encode())).integers(-9_000, 9_000, len(text) * 1_500, np.int16)


class Clause:
    """A request of the engine (`face.Asked`)."""

    def __init__(self, engine, text, voice, sink):
        self.engine, self.text, self.sink = engine, text, sink
        self.samples = noise(text)
        self.given_at, self.over, self.at = None, False, 0

    def cancel(self):
        self.over = True

    def go_on(self):
        """The next chunk, a quarter of a second of it."""
        chunk = self.samples[self.at : self.at + RATE // 4]
        self.at += len(chunk)
        self.sink.pcm(chunk)

    def finish(self, error=None):
        self.over = True
        self.sink.fault(error) if error else self.sink.end()


class Engine:
    """Noise instead of speech, one clause at a time, four times as fast as it sounds."""

    PACE = 0.25
    abilities = Abilities("noise")
    ready = 1

    def __init__(self, loop):
        self._loop, self._queue, self._current = loop, deque(), None
        self.said = []
        """Texts that were asked for, in order."""
        self.voices = (Voice("noise", ("en",), RATE),)
        catalogue = Catalogue(self.voices, self.abilities)
        self.choose, self.unspeakable = catalogue.choose, catalogue.unspeakable

    @property
    def waiting(self):
        return len([one for one in self._queue if not one.over])

    @property
    def busy(self):
        return self._current is not None and not self._current.over

    def say(self, text, voice, language, speed, sink, *, first=False, instruct=None):
        if self.waiting > 6:
            raise Busy("too many requests wait already", retry_after=1.0)
        self.said.append(text)
        clause = Clause(self, text, voice, sink)
        self._queue.append(clause)
        self._loop.call_soon(self._begin)
        return clause

    def _begin(self):
        while self._queue and not self.busy:
            self._current = self._queue.popleft()
            if not self._current.over:
                self._current.given_at = self._loop.time()
                self._loop.call_later(0.05, self._go_on, self._current)

    def _go_on(self, clause):
        if clause.over:
            self._begin()
        elif clause.at < len(clause.samples):
            clause.go_on()
            self._loop.call_later(0.25 * self.PACE, self._go_on, clause)
        else:
            clause.finish()
            self._begin()

    def fail(self):
        """The worker dies at what it speaks."""
        if self.busy:
            self._current.finish(EngineLost("the worker is gone"))
            self._loop.call_soon(self._begin)


class Kernel(asyncio.Transport):
    """A connection's transport: it takes what fits, the rest waits, until the client reads."""

    def __init__(self):
        super().__init__()
        self._protocol = asyncio.Protocol()
        self.taken, self._held, self._buffer = deque(), 0, deque()
        self._closing = False

    def get_protocol(self):
        return self._protocol

    def set_protocol(self, protocol):
        self._protocol = protocol

    def set_write_buffer_limits(self, high=None, low=None):
        pass

    def get_write_buffer_size(self):
        return sum(map(len, self._buffer))

    def is_closing(self):
        return self._closing

    def get_extra_info(self, name, default=None):
        return default

    def write(self, data):
        if self._closing:
            return
        if self._buffer or self._held + len(data) > KERNEL_BYTES:
            self._buffer.append(data)
            if len(self._buffer) == 1:
                self._protocol.pause_writing()
        else:
            self._take(data)

    def _take(self, data):
        self._held += len(data)
        self.taken.append(data)

    def read(self, most):
        """The client's next messages."""
        found = [self.taken.popleft() for _ in range(min(most, len(self.taken)))]
        self._held -= sum(map(len, found))
        if self._buffer:
            while self._buffer and self._held + len(self._buffer[0]) <= KERNEL_BYTES:
                self._take(self._buffer.popleft())
            if not self._buffer:
                self._protocol.resume_writing()
        return list(map(payload, found))

    def abort(self):
        if not self._closing:
            self._closing = True
            self._buffer.clear()
            asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)


def payload(data):
    """Of a server's frame."""
    assert data[0] == 0x82, "a whole binary message"
    return data[{126: 4, 127: 10}.get(data[1], 2) :]


class Socket:
    """A WebSocket as a session sees it."""

    def __init__(self, kernel):
        self._kernel, self._messages = kernel, asyncio.Queue()
        self.closed, self.close_code = False, None

    async def receive(self):
        return await self._messages.get()

    def came(self, data):
        kind = WSMsgType.TEXT if isinstance(data, str) else WSMsgType.BINARY
        self._messages.put_nowait(WSMessage(kind, data, None))

    def end(self, code):
        """The client has closed (1000), or is gone (1006)."""
        self.close_code = code
        self._messages.put_nowait(WSMessage(WSMsgType.CLOSED, None, None))
        if code == 1006:
            self._kernel.abort()

    async def close(self, *, code, message):
        self.closed, self.close_code = True, self.close_code or code
        self._messages.put_nowait(WSMessage(WSMsgType.CLOSED, None, None))
        self._kernel.abort()


@dataclass(eq=False)
class Visit:
    """A connection, both its ends."""

    session: Session
    kernel: Kernel
    socket: Socket
    task: asyncio.Task
    received: int = 0
    """Bytes that the client has read."""
    handles: dict = field(default_factory=dict)
    """Handle → id of a stream."""
    wanted: dict = field(default_factory=dict)
    """Id → {track: pts} that the client asked for when it attached."""
    due: dict = field(default_factory=dict)
    """(id, track) → pts of the next packet."""


class Logged(logging.Handler):
    """Faults that the server has logged as its own."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.lines = []
        logging.getLogger("abr_tts").addHandler(self)

    def emit(self, record):
        self.lines.append(self.format(record))

    def stop(self):
        logging.getLogger("abr_tts").removeHandler(self)


class World:
    """A server without its front door. Made and used inside `loop`."""

    def __init__(self, loop):
        self.loop, self.draining, self.lines, self.logged = loop, False, [], Logged()
        settings = load(overrides=LIMITS)
        self.metrics, self.engine = Metrics(), Engine(loop)
        speed = Speed()
        self.metrics.engine.spoke = speed.add
        limits = settings.limits
        self.turns = Turns(limits.engine_share, limits.waiting_streams, lambda: 1, speed)
        services = Services(
            settings, self.engine, Threads(loop), libopus.load(None), self.metrics, self.turns, Relief(1)
        )
        self.settings, self.admission = settings, Admission(limits)
        self.ids = StreamIds(limits.stream_ids, limits.stream_ids_s)
        self.resumption = Resumption(
            settings.resume, self.admission, self.ids, self.metrics, lambda: self.draining
        )
        self.quotas = Quotas(limits)
        self.shared = Shared(
            services, self.admission, self.ids, Policies(settings), LinkMemory(), lambda: self.draining,
            Share(limits), None, self.resumption, self.quotas,
        )  # fmt: skip

    def connect(self):
        """A client comes."""
        caller = Caller(key_digest="anna", session=f"s{len(self.lines)}")
        self.quotas.connect(caller)
        kernel = Kernel()
        socket = Socket(kernel)
        connection = Connection("server", self.loop.time(), wire_limits(self.settings.limits))
        line = WebSocketLine(socket, kernel, self.settings.limits.close_timeout_s)
        session = Session(line, connection, caller, self.shared)
        visit = Visit(session, kernel, socket, self.loop.create_task(session.run()))
        self.lines.append(visit)

        def gone(_):
            self.lines.remove(visit)
            self.quotas.disconnect(caller, self.loop.time())

        visit.task.add_done_callback(gone)
        return visit

    def drain(self):
        """As `app.Server.drain` begins."""
        self.draining = True
        self.resumption.clear()
        for line in self.lines:
            line.session.go_away(5.0)

    def move(self):
        """As it goes on when streams last."""
        for line in self.lines:
            line.session.move()

    def stop(self):
        """As `app.Server.stop`."""
        self.draining = True
        self.resumption.clear()
        for line in self.lines:
            line.session.shut()

    @property
    def utterances(self):
        """All that live, with a connection or without."""
        for line in self.lines:
            yield from line.session._utterances.values()
        yield from self.resumption.detached

    @property
    def counted(self):
        """Streams that are being made or sent, as connections and the shelf know them."""
        shelved = [one for one in self.resumption._held.values() if one.holder is None and one.active]
        return sum(line.session.active for line in self.lines) + len(shelved)


@contextlib.contextmanager
def virtual():
    """A loop, closed afterwards."""
    loop = VirtualLoop()
    try:
        yield loop
    finally:
        loop.close()
