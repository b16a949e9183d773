"""What processes use, by /proc (Linux): memory, processor time, what they hold open."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
"""Of a second, in which the kernel counts processor time."""

LOOK_S = 0.5
"""Between two looks at memory. A look walks over the pages of each process: some milliseconds."""


def family(pid: int) -> list[int]:
    """A process and all that it started, and they, in any order."""
    found = [pid]
    for one in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{one}/task").iterdir():
                found += [int(child) for child in (task / "children").read_text().split()]
    return found


def pss_kb(pids: Iterable[int]) -> int:
    """Resident memory, shared pages divided among those that share them; of all together."""
    return sum(_field(pid, "smaps_rollup", "Pss:") for pid in pids)


def rss_kb(pid: int) -> int:
    """Resident memory of one."""
    return _field(pid, "status", "VmRSS:")


def threads(pid: int) -> int:
    """Threads of one."""
    return _field(pid, "status", "Threads:")


def descriptors(pid: int) -> int:
    """Files and sockets that one holds open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def cpu_s(pids: Iterable[int]) -> float:
    """Processor time of all together, user and system, in steps of 10 ms each."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total / TICKS


def _field(pid: int, file: str, name: str) -> int:
    """A number of a file of /proc; 0 of a process that is gone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1])
    return 0


class Usage:
    """`with Usage(pid) as used: …; used.peak_pss_mb, used.cpu_s` of a process and its children."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.peak_pss_mb = self.cpu_s = 0.0

    def __enter__(self) -> Usage:
        self._over = threading.Event()
        self._begun_s = cpu_s(family(self._pid))
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while True:
            self.peak_pss_mb = max(self.peak_pss_mb, pss_kb(family(self._pid)) / 1024)
            if self._over.wait(LOOK_S):
                return

    def __exit__(self, *_: object) -> None:
        self.cpu_s = cpu_s(family(self._pid)) - self._begun_s
        self._over.set()
        self._thread.join()
