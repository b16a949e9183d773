"""
The server as a program: it serves until a signal, and then has time to finish.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Callable, Coroutine, Iterator
from itertools import count
from typing import Any

from .app import Server
from .config import Settings

log = logging.getLogger(__name__)

STOPS = (signal.SIGTERM, signal.SIGINT)
"""Signals that stop a server."""


async def run(
    settings: Settings,
    started: Callable[[Server], None] = lambda server: None,
    made: Callable[[Server], None] = lambda server: None,
) -> None:
    """
    Serve until SIGTERM or SIGINT; then let running streams finish, and stop. A second signal hurries: what
    runs is closed. A third ends the process there and then, whatever it does.

    SIGHUP has files of policies, keys and certificates read again; without any it ends the program, as a
    closed terminal should.

    Args:
        started: called with the server once it can speak.
        made: called with the server before it starts, to open further doors.

    Raises:
        As `Server` and `Server.start`.
    """
    server = Server(settings)
    made(server)
    with _signals() as told:
        if server.reload:
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, server.reload)
        try:
            await _until(told, server.start())
            if not told.is_set():
                started(server)
                await told.wait()
                log.info("stopping; running streams have %g s", settings.server.drain_s)
                told.clear()
                await _until(told, server.drain())
        finally:
            await server.stop()


@contextlib.contextmanager
def _signals() -> Iterator[asyncio.Event]:
    """An event that each signal sets; from the third on they are the kernel's, even if the loop hangs."""
    loop, told, times = asyncio.get_running_loop(), asyncio.Event(), count(1)
    before = {number: signal.getsignal(number) for number in STOPS}

    def stop() -> None:
        told.set()
        if next(times) == 2:
            for number in STOPS:
                loop.remove_signal_handler(number)
                signal.signal(number, signal.SIG_DFL)

    for number in STOPS:
        loop.add_signal_handler(number, stop)
    try:
        yield told
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


async def _until(told: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Do `work`, or leave it when the event comes first."""
    task, waiter = asyncio.ensure_future(work), asyncio.ensure_future(told.wait())
    await asyncio.wait([task, waiter], return_when=asyncio.FIRST_COMPLETED)
    waiter.cancel()
    task.cancel()
    if task.done():
        task.result()
    else:
        await asyncio.wait([task])
