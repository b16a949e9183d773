"""
A policy file, looked at again and again: what it says, and whether it has stopped changing.

Whole files are compared, not their dates: they are small, and so it is all one whether an editor wrote in
place, another file was renamed over, or a link further up was turned (as Kubernetes turns `..data` when a
ConfigMap changes, which a watch on the file itself does not see). Only `look` touches the disk.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 65_536
"""Longest policy file that is read; one that says everything, each key with its sentence, has 3 kB."""

SETTLE_S = 1.0
"""
Seconds that a new text must stay the same before it is taken: a file that is being written in place may be
valid when half of it is there. A guess, above what any editor or copy takes for a file of this size.
"""


@dataclass(frozen=True, slots=True)
class Sight:
    """
    What was seen of a file.

    Args:
        text: what it says; None: it cannot be read.
        fault: then why, to follow the file's name.
        missing: there is no such file.
    """

    text: str | None
    fault: str = ""
    missing: bool = False


def look(path: Path, what: str = "policy file", most: int = MOST_BYTES) -> Sight:
    """
    Read a file of at most so many bytes, called `what`, wherever its links lead now. It may block as long
    as the disk does.
    """
    try:
        with open(path, "rb", opener=_open) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return Sight(None, "cannot be read (it is no regular file)")
            data = file.read(most + 1)
        if len(data) > most:
            return Sight(None, f"is longer than {most} bytes")
        return Sight(data.decode("utf-8"))
    except FileNotFoundError:
        return Sight(None, f"there is no such {what}", missing=True)
    except OSError as error:
        return Sight(None, f"cannot be read ({error.strerror or error})")
    except UnicodeDecodeError as error:
        line = 1 + data[: error.start].count(b"\n")
        return Sight(None, f"line {line} is not UTF-8")


def _open(path: str, flags: int) -> int:
    """Without waiting for a writer, as the opening of a pipe would."""
    return os.open(path, flags | os.O_NONBLOCK)


class Settling:
    """
    Tells when a file has become another one. Times are seconds on any clock that does not go back.

    Args:
        first: what is known already.
    """

    def __init__(self, first: Sight) -> None:
        self._known = first
        self._seen, self._since = first, 0.0

    @property
    def unsettled(self) -> bool:
        """It has been seen to differ, and is not taken yet: look again soon."""
        return self._seen != self._known

    def see(self, sight: Sight, now: float, at_once: bool = False) -> bool:
        """
        Whether `sight` is news that stands: another text than the last one, and the same for `SETTLE_S`.

        Args:
            sight: what a look at `now` saw.
            at_once: do not wait, for somebody has said that the file is complete.
        """
        if sight != self._seen:
            self._seen, self._since = sight, now
        if sight == self._known or not (at_once or now - self._since >= SETTLE_S):
            return False
        self._known = sight
        return True
