"""
The workshop: threads that encode, so that the event loop never does.

libopus and soxr let other threads run while they work. The most urgent job goes first, so that
nobody's first sound waits behind speech that another listener needs in ten seconds. A stream
has one job at a time, so what waits here is bounded by the number of streams. What a job is, it
does not know.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

NICENESS = 5
"""That the threads take on Linux, where each may have its own: on a full machine, whoever waits for a first
sound waits for the loop and the engines. The threads keep a quarter of a core beside one that is always busy
(sched(7)). Of 50 listeners who ask for sentence after sentence the mean first sound came after 53 ms without
it and 40 ms with it, and of 1 in 100 after 290 and 245 (tools/bench/load)."""


class Workshop:
    """
    `start()` it before the first job, `stop()` it at the end.

    Args:
        threads: how many encode at once; 0 takes one for each processor core.
    """

    def __init__(self, threads: int = 0) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: list[tuple[float, int, Callable[[], None]]] = []
        self._news = threading.Condition()
        self._handing = threading.Lock()
        self._results: list[tuple[Callable[[Any], None], Any]] = []
        """What is done and on its way to the loop."""
        self._numbers = itertools.count()
        self._stopped = False
        self._threads = [
            threading.Thread(target=self._work, name=f"codec-{number}", daemon=True)
            for number in range(threads or os.cpu_count() or 1)
        ]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def submit(
        self,
        work: Callable[[], T],
        done: Callable[[T], None],
        failed: Callable[[Exception], None],
        slack: float = 0.0,
    ) -> None:
        """
        Run `work` on a thread; its result comes back by `done`, what it raised by `failed`.

        Both are called on the event loop. After `stop` nothing comes back.

        Args:
            slack: how long this may wait, in any unit that all callers share: less goes first.
        """

        def job() -> None:
            try:
                result = work()
            except Exception as error:
                self._send_back(failed, error)
            else:
                self._send_back(done, result)

        with self._news:
            heapq.heappush(self._waiting, (slack, next(self._numbers), job))
            self._news.notify()

    @property
    def waiting(self) -> int:
        """Jobs that no thread has taken yet."""
        return len(self._waiting)

    def stop(self) -> None:
        """Finish what runs (milliseconds), drop what waits."""
        with self._news:
            self._stopped = True
            self._waiting.clear()
            self._news.notify_all()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def _work(self) -> None:
        _give_way()
        while True:
            with self._news:
                while not self._waiting and not self._stopped:
                    self._news.wait()
                if self._stopped:
                    return
                _, _, job = heapq.heappop(self._waiting)
            job()

    def _send_back(self, receive: Callable[[Any], None], value: object) -> None:
        """Waking the loop takes two calls of the kernel: once is enough for what comes at the same time."""
        with self._handing:
            self._results.append((receive, value))
            if len(self._results) > 1:
                return  # it has been woken, and has not come yet
        with suppress(RuntimeError):  # the loop has closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        with self._handing:
            results, self._results = self._results, []
        for receive, value in results[1:]:
            self._loop.call_soon(self._hand_over, receive, value)
        self._hand_over(*results[0])

    def _hand_over(self, receive: Callable[[Any], None], value: object) -> None:
        if not self._stopped:
            receive(value)


def _give_way() -> None:
    """This thread behind those of other work, where the system can tell threads apart."""
    if sys.platform == "linux":
        with suppress(OSError):  # forbidden in a sandbox: it is quick enough without
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
