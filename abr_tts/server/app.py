"""
The server as a whole: its parts, how they start and how they stop.

    server = Server(settings)
    await server.start()      # listens from here on; the engine is ready when it returns
    ... server.url ...
    await server.stop()

`program.run` is the same for a program of its own: until a signal, and then with time to finish.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from aiohttp import web

from ..audio import encoded, libopus
from ..audio.resample import Resampler, by_name
from ..control.ladder import FULL
from ..engine.references import References
from ..errors import ConfigError
from ..stream.track import prepare
from .access import credentials, tls
from .access.auth import Auth
from .access.standing import Standing
from .asyncapi.document import AsyncApi
from .config import Settings, StreamSettings
from .dashscope.door import DashScope
from .doors.desk import Desk
from .front import PATH, Front
from .grpc.opening import door as grpc_door
from .load.idlers import Idlers
from .load.limits import Admission, StreamIds
from .load.quotas import Quotas
from .load.relief import CLOSED, Relief, cores, cpu_s
from .load.turns import Speed, Turns
from .openai.door import OpenAi
from .resume.resumption import Resumption
from .rollout.kept import Keeper, load
from .rollout.policies import LinkMemory, Policies
from .rollout.refresh import Kind, Refresh
from .rollout.reload import Reloader, tell
from .rollout.rollout import Rollout
from .sending.sockets import listen
from .shared import Shared
from .speech.recording import Recordings
from .speech.surroundings import Services
from .speech.synthesis import pool
from .speech.uplinks import Share
from .speech.workshop import Workshop
from .watching import http_log, tracing
from .watching.admin import Admin
from .watching.heap import Heap, find_trim
from .watching.memory import Memory
from .watching.metrics import Metrics
from .watching.ops import Ops
from .watching.pages import Pages

log = logging.getLogger(__name__)

DEAD_PEER_SLACK_S = 10.0
"""Seconds that the kernel holds a silent peer longer than we do, so that our rule is the one that binds."""

ENDING_S = 1.0
"""Seconds that engine and threads may take to end once connections are closed; they take 0.3 (measured)."""

MOVE_AT = 0.5
"""Share of the time that streams have to end in, after which those whose text is not all with the engine are
moved: the rest of it is for the clause under way, 14 s at most, and for sending. A guess."""

WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
"""Addresses that mean every address of the machine, and where a client on it finds them."""


class Server:
    """
    One server: an engine pool, codec threads and a front door. Made inside a running event loop.

    Args:
        settings: see `config`.

    Raises:
        ConfigError: a bad certificate, file of keys, policy or device, or a folder that cannot be written.
        MissingDependency, OpusError: no libopus that can be used, or no torchaudio that is asked for.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings = settings or Settings()
        self.port = settings.server.port
        """The port that it listens on, once started."""
        self.listening = asyncio.Event()
        """Set once it listens; the engine may still be loading."""
        self.metrics = Metrics()
        self.more_facts: dict[str, Any] = {}
        """What the page is told besides, of further doors."""
        self._certificate = tls.certificate(settings.tls)
        auth = Auth(settings.auth)
        opus = settings.stream.opus_library
        self._library = libopus.load(str(opus) if opus else None)
        self._resampler = _resampler(settings.stream)
        self._tracing = tracing.make(settings.tracing, settings.engine.kind)
        self.pool = pool(settings)
        self._workshop = Workshop(settings.server.codec_threads)
        self._idle = asyncio.Event()
        self._draining = False
        self._admission = Admission(settings.limits, self._idle.set)
        self._recordings = Recordings(settings.record) if settings.record.dir else None
        self._relief = Relief(cores())
        self._turns = self._take_turns()
        services = Services(
            settings, self.pool, self._workshop, self._library, self.metrics, self._turns, self._relief,
            self._recordings, self._resampler, self._tracing,
        )  # fmt: skip
        policies = Policies(settings, auth.key_names, load(settings.rollout.state_file))
        self._keeper = Keeper(settings.rollout.state_file, policies.slots)
        rollout = self._roll_out(policies)
        ids = StreamIds(settings.limits.stream_ids, settings.limits.stream_ids_s)
        limits, voices_dir = settings.limits, settings.engine.voices_dir
        self._resumption = Resumption(
            settings.resume, self._admission, ids, self.metrics, lambda: self._draining
        )
        shared = Shared(
            services, self._admission, ids, policies, LinkMemory(), lambda: self._draining, Share(limits),
            References(voices_dir, limits.voices) if voices_dir else None, self._resumption, Quotas(limits),
        )  # fmt: skip
        self._front = Front(auth, shared, rollout)
        self.desk = Desk(self._front, auth, shared)
        """What doors of other protocols go through."""
        self._open_doors()
        self._grpc = grpc_door(settings, self._front, self._certificate)
        admin = Admin(settings.admin, auth, rollout, self._keeper)
        admin.add_to(self._front.app.router)
        self._refresh = self._refreshing(credentials.kinds(settings, auth, admin.auth, self._certificate))
        self._memory = Memory(settings.debug)
        self._memory.add_to(self._front.app.router, admin)
        if settings.web.enabled:
            self._add_pages(admin, rollout)
        self._standing = Standing(auth, lambda: list(self._front.sessions))
        self._idlers = Idlers(settings.limits.hello_timeout_s, self._connections)
        self._front.app.middlewares.append(self._idlers.middleware)
        close_s = settings.limits.close_timeout_s
        self._runner = web.AppRunner(
            self._front.app, access_log=None, logger=http_log.log, shutdown_timeout=close_s
        )
        self._tasks: list[asyncio.Task[None]] = []

    def _open_doors(self) -> None:
        """For clients of others' products, where they are set; and what is said on all WebSockets."""
        settings, app = self.settings, self._front.app
        if settings.openai.enabled:
            OpenAi(settings.openai, self.desk).add_to(app)
        if settings.dashscope.enabled:
            DashScope(self.desk).add_to(app.router)
        AsyncApi(settings).add_to(app.router)

    def _add_pages(self, admin: Admin, rollout: Rollout) -> None:
        """Pages for people, and what the operator's asks for."""
        router = self._front.app.router
        Pages(lambda request: self._front.facts(request) | self.more_facts).add_to(router)
        now = asyncio.get_running_loop().time
        ops = Ops(self._front.told, self.pool, self.metrics, self._admission, rollout, now)
        ops.add_to(router, admin)

    def _take_turns(self) -> Turns:
        """Whose turn it is at the engine; `_look_after` sees to it."""
        limits, speed, relief = self.settings.limits, Speed(), self._relief
        parallel = self.settings.engine.parallel
        turns = Turns(
            limits.engine_share, limits.waiting_streams, lambda: self.pool.ready * parallel, speed,
            limits.whole_streams, lambda: relief.step >= CLOSED,
        )  # fmt: skip
        self.metrics.engine.spoke = speed.add
        for name, what, value in (
            ("engine_turns", "Streams that have words to say and are spoken", lambda: turns.speaking),
            ("engine_turns_waiting", "Streams that have words to say and wait", lambda: turns.waiting),
            ("engine_turns_whole", "Streams that wait to be delivered whole", lambda: turns.patient),
            (
                "engine_turns_room",
                "Streams that the engine carries, by its measured speed",
                lambda: turns.room,
            ),
            ("strain", "Processors and event loop: 1 is all there is", lambda: relief.strain.value),
            ("relief_step", "What new streams do without: 0 nothing, 4 all", lambda: relief.step),
        ):
            self.metrics.watch(name, what, value)
        return turns

    def _look_after(self, lag_s: float) -> None:
        """Again and again: how much is left, and for whom there is room by now."""
        now = asyncio.get_running_loop().time()
        if self.settings.limits.relief:
            self._relief.look(cpu_s(), lag_s, now)
        self._turns.look(now)

    def _refreshing(self, kinds: list[Kind]) -> Refresh | None:
        """How files of keys and certificates are read again; None: there are none."""
        refresh = Refresh(kinds, self.settings.rollout.check_s, self.metrics.reloaded)
        self.metrics.watch(
            "files_stale", "Files of keys whose last change was refused", lambda: refresh.stale
        )
        return refresh if kinds else None

    @property
    def app(self) -> web.Application:
        """Where further doors may be opened, until it starts."""
        return self._front.app

    @property
    def door(self) -> Front:
        """Decides who may come in, for further doors as well."""
        return self._front

    def _roll_out(self, policies: Policies) -> Rollout:
        """How they change while the server runs."""
        rollout = Rollout(policies, partial(tell, self.metrics))
        every_s = self.settings.rollout.check_s
        self._reloader = Reloader(rollout, every_s, self._keeper) if rollout.has_files else None
        self.metrics.policies.watch(policies.in_use, lambda: len(rollout.faults), lambda: policies.share)
        return rollout

    @property
    def url(self) -> str:
        """Where a client on this machine connects: ws://127.0.0.1:8765/v1/stream."""
        return f"{'wss' if self._certificate else 'ws'}://{place(self.settings.server.host, self.port)}{PATH}"

    @property
    def http_url(self) -> str:
        """The same place for /healthz, /readyz and /metrics, without a path."""
        return f"{'https' if self._certificate else 'http'}://{place(self.settings.server.host, self.port)}"

    @property
    def grpc_target(self) -> str | None:
        """Where a gRPC client on this machine connects, as 127.0.0.1:50051; None: there is no such door."""
        return place(self.settings.server.host, self._grpc.port) if self._grpc else None

    async def start(self) -> None:
        """
        Listen, and load the engine; returns when it can speak. /readyz says no until then.

        Raises:
            ConfigError: the port is in use, or the address is not of this machine.
            MissingDependency, EngineError: the engine does not start.
        """
        try:
            self._memory.start()
            await self._listen()
            self._workshop.start()
            self._load_formats()
            if self._recordings:
                self._recordings.start()
            self._tasks.append(asyncio.ensure_future(self.metrics.watch_loop(self._look_after)))
            self._tasks.append(asyncio.ensure_future(self._idlers.run()))
            self._tasks.append(asyncio.ensure_future(self._standing.run()))
            self._tasks.append(asyncio.ensure_future(self._memory.run()))
            heap = Heap(self.settings.server.trim_s, find_trim())
            self._tasks.append(asyncio.ensure_future(heap.run()))
            await self._keeper.save()
            if self._reloader:
                self._tasks.append(asyncio.ensure_future(self._reloader.run()))
            if self._refresh:
                self._tasks.append(asyncio.ensure_future(self._refresh.run()))
            await self.pool.start()
            self._warm_up()
        except BaseException:
            await self.stop()
            raise
        log.info("listening on %s", self.url)

    def _connections(self) -> list[web.RequestHandler]:
        return self._runner.server.connections if self._runner.server else []

    def _load_formats(self) -> None:
        """
        What makes mp3, for the doors whose clients ask for it, on a codec thread while the engine loads: the
        first of them would wait for it.
        """
        if self.settings.openai.enabled or self.settings.dashscope.enabled:
            self._workshop.submit(encoded.prepare, lambda _: None, lambda fault: log.warning("%s", fault))

    def _warm_up(self) -> None:
        """Make the codecs ready, some 15 ms a sample rate, so that the first stream does not wait for it."""
        for rate in {voice.sample_rate for voice in self.pool.voices}:
            with suppress(ValueError):  # a rate that no stream can have: the stream will say so
                prepare(self._library, rate, FULL.for_rate(rate).rungs, self._resampler)

    async def _listen(self) -> None:
        settings = self.settings
        server, silence_s = settings.server, settings.limits.idle_timeout_s
        sockets = listen(server.host, server.port, server.backlog_connections, silence_s + DEAD_PEER_SLACK_S)
        self.port = sockets[0].getsockname()[1]
        await self._runner.setup()
        context = self._certificate.context if self._certificate else None
        for one in sockets:
            await web.SockSite(self._runner, one, ssl_context=context).start()
        if self._grpc:
            await self._grpc.start()
        self.listening.set()

    async def drain(self) -> None:
        """
        Take nothing new, and wait until what runs is sent, of long texts as far as it comes (`Session.move`).

        That takes `server.drain_s` at most with what `stop` takes after it: time to close is kept back.
        """
        self._draining = True
        self._resumption.clear()
        deadline_s = self.settings.server.drain_s
        wait_s = max(deadline_s - self.settings.limits.close_timeout_s - ENDING_S, deadline_s / 2)
        for session in list(self._front.sessions):
            session.go_away(wait_s)
        self._idle.clear()
        if not self._admission.streams:
            return
        move = asyncio.get_running_loop().call_later(wait_s * MOVE_AT, self._move)
        try:
            await asyncio.wait_for(self._idle.wait(), wait_s)
        except TimeoutError:
            log.warning("%d streams were not sent in time", self._admission.streams)
        finally:
            move.cancel()

    def _move(self) -> None:
        for session in list(self._front.sessions):
            session.move()

    async def stop(self) -> None:
        """Close every connection with 1012, end the engine; returns when nothing is left. Twice is once."""
        self._draining = True
        self._resumption.clear()
        for site in list(self._runner.sites):
            await site.stop()
        for session in list(self._front.sessions):
            session.shut()
        tasks = [
            task for task in self._front.sessions.values() if task and task is not asyncio.current_task()
        ]
        if tasks:
            await asyncio.wait(tasks, timeout=self.settings.limits.close_timeout_s)
        if self._grpc:
            await self._grpc.stop()
        await self._runner.cleanup()
        await self.pool.stop()
        self._workshop.stop()
        await asyncio.to_thread(self._tracing.stop)
        if self._recordings:
            await asyncio.to_thread(self._recordings.stop)
        for task in self._tasks:
            task.cancel()
            await asyncio.wait([task])
        self._memory.stop()

    @property
    def reload(self) -> Callable[[], None] | None:
        """
        Call it to have the files of policies, keys and certificates read again; None: there are none.
        """
        readers = [one for one in (self._reloader, self._refresh) if one]
        return partial(_ask, readers) if readers else None


def _ask(readers: Sequence[Reloader | Refresh]) -> None:
    for one in readers:
        one.ask()


def place(host: str, port: int) -> str:
    """Where a client on this machine finds a server that listens on `host`, as it stands in a URL."""
    host = WILDCARDS.get(host, host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _resampler(settings: StreamSettings) -> Resampler:
    """What is set, loaded and its device tried."""
    try:
        return by_name(settings.resampler, settings.resampler_device)
    except ValueError as fault:
        raise ConfigError(f"stream.resampler_device: {fault}") from fault
