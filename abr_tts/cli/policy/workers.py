"""The tasks of a study on several processes: results come in any order, and are the same as on one."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from ...sim.optimum import Optimum
from ...sim.result import Result
from ...sim.study import Outcome, Study, Task
from ..failure import Failure
from ..progress import Bar


@dataclass(slots=True)
class Speed:
    """How fast it went: seconds of virtual time, of processors, and of the clock on the wall."""

    virtual_s: float = 0.0
    cpu_s: float = 0.0
    wall_s: float = 0.0

    def in_words(self, jobs: int) -> str:
        """One line."""
        if not self.virtual_s:
            return "nothing was simulated"
        processes = "1 process" if jobs == 1 else f"{jobs} processes"
        a_second = self.virtual_s / max(self.cpu_s, 1e-9)
        return (
            f"simulated {self.virtual_s / 3600:.1f} h of sessions in {self.wall_s:.1f} s on {processes}; "
            f"a core simulates {a_second:.0f} s of them in a second"
        )


def cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def perform(
    study: Study, jobs: int, bar: Bar, speed: Speed | None = None, tasks: Iterable[Task] | None = None
) -> Outcome:
    """
    Do a study.

    Args:
        jobs: processes; with 1 it is done in this one.
        bar: told of each task that is done.
        speed: what it took is added to it.
        tasks: some of the study's; all if None.

    Raises:
        ConfigError, NoCommonFormat: a contender cannot play.
        Failure: a process was killed.
    """
    wanted = study.tasks() if tasks is None else list(tasks)
    outcome, speed, begun = Outcome(study), speed or Speed(), time.monotonic()
    bar.begin(len(wanted))
    for task, came, cpu_s in _results(study, wanted, min(jobs, len(wanted))):
        outcome.add(task, came)
        if isinstance(came, Result):
            speed.virtual_s += came.seconds
            speed.cpu_s += cpu_s
        bar.step()
    speed.wall_s += time.monotonic() - begun
    return outcome


def _results(study: Study, tasks: list[Task], jobs: int) -> Iterable[tuple[Task, Result | Optimum, float]]:
    if jobs <= 1:
        for task in tasks:
            yield _timed(study, task)
        return
    pool = ProcessPoolExecutor(jobs, initializer=_begin, initargs=(study,))
    try:
        for done in as_completed([pool.submit(_work, task) for task in tasks]):
            yield done.result()
    except BrokenProcessPool:
        raise Failure("a process of the simulation was killed; is there enough memory?") from None
    finally:
        pool.shutdown(cancel_futures=True)


_study: Study
"""Of a working process: sent once, not with every task."""


def _begin(study: Study) -> None:
    global _study
    _study = study
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it at once; the parent tells of it


def _work(task: Task) -> tuple[Task, Result | Optimum, float]:
    return _timed(_study, task)


def _timed(study: Study, task: Task) -> tuple[Task, Result | Optimum, float]:
    begun = time.process_time()
    came = study.perform(task)
    return task, came, time.process_time() - begun
