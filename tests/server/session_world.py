"""
A server's sessions in virtual time: the real `Session`, and what is around it in small.

Real are sessions with their connections, utterances, cores, encoders, outboxes, the shelf, turns, quotas and
admission. Made small are the clock (`virtual_loop`), the socket (`small_socket`), the engine (`noise_engine`)
and the codec threads (none).
"""

import asyncio
import logging
from dataclasses import dataclass, field

from abr_tts.audio import libopus
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

from .noise_engine import Engine
from .small_socket import Kernel, Socket

MAX_AHEAD_S, MAX_LEAD_S = 2.0, 2.5
"""Shorter than the texts, so that either binds."""

LIMITS = {
    "engine.kind": "tone", "limits.relief": False, "limits.streams": 4, "limits.streams_per_connection": 3,
    "limits.waiting_streams": 2, "limits.close_timeout_s": 1.0, "resume.window_s": 15.0, "resume.streams": 2,
    "stream.max_ahead_s": MAX_AHEAD_S, "stream.max_lead_s": MAX_LEAD_S,
    "engine.clause_chars": 40, "engine.first_clause_chars": 40, "stream.linger_s": 2.0,
}  # fmt: skip


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
