"""
What the readers share: the text with its name, its limits, its lines; steps of capacity made a scenario.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...errors import ConfigError
from ..scenario import JITTER_MS, UPLINK_KBPS, Direction, Scenario

MOST_BYTES = 64 * 2**20
"""Characters of a file. mahimahi's longest own recording has 17 MB; a month of the FCC has gigabytes
and is to be cut first."""

MOST_ROWS = 2_000_000
"""Rows of a file: twenty minutes of mahimahi at 20 Mbit/s."""

MOST_S = 86_400.0
"""Seconds of a recording: a day."""

MOST_KBPS = 100_000_000.0
"""kbit/s of a link, 100 Gbit/s: what is more is another unit."""

RTT_MS = 60.0
"""Round trip where neither file nor user tells one, usual of a fixed or LTE line. A guess."""


@dataclass(frozen=True, slots=True)
class Source:
    """
    A text to be read.

    Args:
        text: the content.
        path: what errors call it.
        name: what its scenario is called.
        rtt_ms: round trip of the idle path; None: the format's own, or its usual one.
    """

    text: str
    path: str
    name: str
    rtt_ms: float | None = None

    def fault(self, line: int, sentence: str) -> ConfigError:
        """The error of a line."""
        return ConfigError(f"{self.path}:{line}: {sentence}")

    def check_size(self) -> None:
        """
        Refuse what is too large to be one recording.

        Raises:
            ConfigError: it has more than `MOST_BYTES`.
        """
        if len(self.text) > MOST_BYTES:
            raise self.fault(1, f"is {len(self.text)} bytes long; at most {MOST_BYTES} are read")

    def check_duration(self, seconds: float) -> None:
        """
        Refuse what lasts too long to be one recording.

        Raises:
            ConfigError: it lasts more than `MOST_S`.
        """
        if seconds > MOST_S:
            raise self.fault(1, f"lasts {seconds:g} s; at most {MOST_S:g} are read")

    def lines(self) -> Iterator[tuple[int, str]]:
        """
        (number, text without the space around it) of each line that is not empty.

        Raises:
            ConfigError: there are more than `MOST_ROWS` of them.
        """
        rows = 0
        for number, line in enumerate(self.text.splitlines(), 1):
            stripped = line.strip()
            if stripped:
                rows += 1
                if rows > MOST_ROWS:
                    raise self.fault(number, f"is row {rows}; at most {MOST_ROWS} are read")
                yield number, stripped

    def check_rows(self) -> None:
        """As `lines`, for a reader that reads them in its own way."""
        for _ in self.lines():
            pass

    def number(self, line: int, what: str, value: object, most: float) -> float:
        """
        A finite number from 0 to `most`, from a text or from JSON.

        Raises:
            ConfigError: it is none.
        """
        try:
            if isinstance(value, bool) or not isinstance(value, (int, float, str)):
                raise ValueError
            found = float(value)
        except (ValueError, OverflowError):
            raise self.fault(line, f"{what} must be a number, not {str(value)[:40]!r}") from None
        if not 0 <= found <= most:
            raise self.fault(line, f"{what} must be from 0 to {most:g}, not {str(value)[:40]}")
        return found

    def rtt(self, usual: float = RTT_MS) -> float:
        """Round trip in milliseconds: what the user said, or else `usual`."""
        return usual if self.rtt_ms is None else self.rtt_ms


def numbers(line: str) -> list[float]:
    """The finite numbers of a line, separated by space; none if anything else stands in it."""
    try:
        found = [float(word) for word in line.split()]
    except ValueError:
        return []
    return found if all(map(math.isfinite, found)) else []


def scenario(
    source: Source,
    steps: Sequence[tuple[float, float]],
    duration_s: float,
    rtt_ms: float,
    *,
    name: str = "",
    note: str = "",
) -> Scenario:
    """
    A path of this capacity downwards, ample upwards, half of the round trip each way.

    Args:
        steps: (seconds, kbit/s) from then on; the first at 0.

    Raises:
        ConfigError: nothing ever passes, or it is longer than `MOST_S`.
    """
    if not any(kbps for _, kbps in steps):
        raise source.fault(1, "has no capacity in it")
    source.check_duration(duration_s)
    delay, jitter = rtt_ms / 2000, JITTER_MS / 1000
    down = Direction(_merged(steps), delay, jitter)
    up = Direction(((0.0, UPLINK_KBPS),), delay, jitter)
    return Scenario(name or source.name, duration_s, down, up, note=note)


def _merged(steps: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Without steps that change nothing."""
    kept = [step for index, step in enumerate(steps) if not index or step[1] != steps[index - 1][1]]
    return tuple(kept)
