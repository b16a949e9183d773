"""
Networks as data: `tts-netem/1` documents and capacity traces become `Scenario` records.

It checks once, names the key or line of every fault, and opens no file: reading is the
caller's. What a network does with packets is `link`'s affair.
"""

from __future__ import annotations

import csv
import difflib
import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ConfigError

FORMAT = "tts-netem/1"
"""The format's name and version, which every document bears."""

UPLINK_KBPS = 2_000.0
"""Capacity towards the server for a trace that tells the downlink alone: ample, as in the
scenarios of tools/netem, because reports need 2 kbit/s."""

QUEUE_BYTES = 65_536
"""Drop-tail queue where none is told, the usual one of the scenarios."""

JITTER_MS = 3.0
"""Jitter where none is told, the usual one of the scenarios."""


@dataclass(frozen=True, slots=True)
class Bursts:
    """
    Loss that comes in bursts of *time* (Gilbert-Elliott with a clock, not by the packet).

    A good spell lasts `good_s` seconds on the average and loses the share `good` of packets,
    a bad one `bad_s` and `bad`; lengths are exponential.
    """

    good_s: float
    bad_s: float
    good: float
    bad: float


@dataclass(frozen=True, slots=True)
class Direction:
    """
    One way through the network.

    Args:
        rate: (second, kbit/s) from that second on, the first at 0; 0 holds packets.
        delay_s: propagation, one way.
        jitter_s: a packet is this much early or late at most, and never overtakes another.
        queue_bytes: what waits beyond this is dropped.
        drop_windows: [from, to) seconds in which packets that leave the queue are lost.
        loss: share of packets lost, one by one.
        bursts: loss in bursts.
    """

    rate: tuple[tuple[float, float], ...]
    delay_s: float
    jitter_s: float = 0.0
    queue_bytes: int = QUEUE_BYTES
    drop_windows: tuple[tuple[float, float], ...] = ()
    loss: float = 0.0
    bursts: Bursts | None = None

    def kbps_at(self, second: float) -> float:
        """Capacity at `second` of a round, 0 or later."""
        return self.rate[bisect_right(self.rate, (second, math.inf)) - 1][1]


@dataclass(frozen=True, slots=True)
class Scenario:
    """
    A network path. After `duration_s` it begins anew, as mahimahi's traces do.

    Args:
        name: of the document or trace.
        duration_s: seconds of one round.
        down: from the server to the listener.
        up: back.
        seed: of its chances.
        note: what it is for.
    """

    name: str
    duration_s: float
    down: Direction
    up: Direction
    seed: int = 1
    note: str = ""

    @property
    def base_rtt_s(self) -> float:
        """Round trip of a small packet on the idle path, without jitter."""
        return self.down.delay_s + self.up.delay_s


def steady(kbps: float, *, delay_ms: float = 20, jitter_ms: float = 0, name: str = "steady") -> Scenario:
    """A path of constant capacity downwards, `delay_ms` each way."""
    delay, jitter = delay_ms / 1000, jitter_ms / 1000
    down = Direction(((0.0, kbps),), delay, jitter)
    return Scenario(name, 120.0, down, Direction(((0.0, UPLINK_KBPS),), delay, jitter))


# ---------------------------------------------------------------- tts-netem/1


def from_json(document: Mapping[str, Any]) -> Scenario:
    """
    The scenario of a `tts-netem/1` document, as `json.load` gives it.

    Raises:
        ConfigError: an unknown, missing or wrong value; the sentence begins with its key.
    """
    _only("", document, ("format", "name", "note", "seed", "duration_s", "down", "up"))
    if document.get("format") != FORMAT:
        raise ConfigError(f"format: {document.get('format')!r} is not {FORMAT!r}")
    duration = _number("duration_s", document.get("duration_s"), above=0.0)
    name, note, seed = document.get("name"), document.get("note", ""), document.get("seed", 1)
    if not isinstance(name, str) or not name:
        raise ConfigError("name: a scenario needs a name")
    if not isinstance(note, str):
        raise ConfigError("note: must be a string")
    if type(seed) is not int:
        raise ConfigError("seed: must be an integer")
    down = _direction("down", document.get("down"), duration)
    return Scenario(name, duration, down, _direction("up", document.get("up"), duration), seed, note)


def _direction(key: str, value: Any, duration: float) -> Direction:
    body = _table(key, value)
    _only(key, body, ("rate", "delay_ms", "jitter_ms", "queue_bytes", "loss", "drop_windows"))
    loss, bursts = _loss(f"{key}.loss", body.get("loss"))
    return Direction(
        rate=_rate(f"{key}.rate", body.get("rate"), duration),
        delay_s=_number(f"{key}.delay_ms", body.get("delay_ms")) / 1000,
        jitter_s=_number(f"{key}.jitter_ms", body.get("jitter_ms", 0)) / 1000,
        queue_bytes=_queue(f"{key}.queue_bytes", body.get("queue_bytes", QUEUE_BYTES)),
        drop_windows=_windows(f"{key}.drop_windows", body.get("drop_windows", [])),
        loss=loss,
        bursts=bursts,
    )


def _rate(key: str, value: Any, duration: float) -> tuple[tuple[float, float], ...]:
    steps = _pairs(key, value)
    if not steps:
        raise ConfigError(f"{key}: needs at least one [second, kbit/s]")
    if steps[0][0] != 0:
        raise ConfigError(f"{key}[0]: must begin at second 0, not {steps[0][0]}")
    _rising(lambda index: f"{key}[{index}]", steps)
    if not any(kbps for at, kbps in steps if at < duration):
        raise ConfigError(f"{key}: is 0 all the time, so nothing would ever arrive")
    return steps


def _rising(where: Callable[[int], str], steps: tuple[tuple[float, float], ...]) -> None:
    for index in range(1, len(steps)):
        if steps[index][0] <= steps[index - 1][0]:
            raise ConfigError(f"{where(index)}: second {steps[index][0]} does not come after the one before")


def _windows(key: str, value: Any) -> tuple[tuple[float, float], ...]:
    windows = _pairs(key, value)
    for index, (begin, end) in enumerate(windows):
        if end <= begin or (index and begin < windows[index - 1][1]):
            raise ConfigError(f"{key}[{index}]: must be [from, to], later than the one before")
    return windows


def _loss(key: str, value: Any) -> tuple[float, Bursts | None]:
    if value is None:
        return 0.0, None
    body = _table(key, value)
    _only(key, body, ("p", "get"))
    share = _share(f"{key}.p", body.get("p", 0.0))
    if "get" not in body:
        return share, None
    bursts = _table(f"{key}.get", body["get"])
    _only(f"{key}.get", bursts, ("good_s", "bad_s", "good", "bad"))
    return share, Bursts(
        _number(f"{key}.get.good_s", bursts.get("good_s"), above=0.0),
        _number(f"{key}.get.bad_s", bursts.get("bad_s"), above=0.0),
        _share(f"{key}.get.good", bursts.get("good", 0.0)),
        _share(f"{key}.get.bad", bursts.get("bad")),
    )


def _queue(key: str, value: Any) -> int:
    size = _number(key, value)
    if size < 1500 or size != int(size):
        raise ConfigError(f"{key}: must be whole bytes and hold one packet of 1500, not {value!r}")
    return int(size)


def _pairs(key: str, value: Any) -> tuple[tuple[float, float], ...]:
    if not isinstance(value, (list, tuple)):
        raise ConfigError(f"{key}: must be a list of pairs of numbers")
    pairs = []
    for index, pair in enumerate(value):
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise ConfigError(f"{key}[{index}]: must be a pair of numbers, not {pair!r}")
        pairs.append((_number(f"{key}[{index}][0]", pair[0]), _number(f"{key}[{index}][1]", pair[1])))
    return tuple(pairs)


def _table(key: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{key}: {'is missing' if value is None else 'must be an object'}")
    return value


def _only(key: str, body: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for name in body:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            raise ConfigError(f"{key}{'.' if key else ''}{name}: unknown key; {hint}")


def _number(key: str, value: Any, above: float | None = None) -> float:
    """A finite number, not below 0, or greater than `above`."""
    if value is None:
        raise ConfigError(f"{key}: is missing")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ConfigError(f"{key}: must be a number, not {value!r}")
    if value < 0 or (above is not None and value <= above):
        raise ConfigError(f"{key}: must be {'above' if above is not None else 'at least'} 0, not {value!r}")
    return float(value)


def _share(key: str, value: Any) -> float:
    share = _number(key, value)
    if share > 1:
        raise ConfigError(f"{key}: must be a share from 0 to 1, not {value!r}")
    return share


# ---------------------------------------------------------------- traces


def from_trace(
    text: str,
    name: str,
    base_rtt_ms: float,
    *,
    queue_bytes: int = QUEUE_BYTES,
    jitter_ms: float = JITTER_MS,
    seed: int = 1,
) -> Scenario:
    """
    The scenario of a capacity trace: CSV with the head `time_s,kbps`, a row where capacity changes.

    Args:
        text: the file's content.
        name: of the file, for the record and for errors.
        base_rtt_ms: round trip of the idle path; half of it each way.
        queue_bytes, jitter_ms: of the downlink, which a trace does not tell.

    A last row that repeats the capacity before it only closes the trace; any other lasts as long
    as the row before it.

    Raises:
        ConfigError: the sentence begins with name and line.
    """
    rows = list(csv.reader(text.splitlines()))
    if not rows or [cell.strip() for cell in rows[0]] != ["time_s", "kbps"]:
        raise ConfigError(f"{name}:1: the first line must be time_s,kbps")
    steps, lines = [], []
    for line, row in enumerate(rows[1:], 2):
        if row:
            steps.append(_row(f"{name}:{line}", row))
            lines.append(line)
    if not steps or not any(kbps for _, kbps in steps):
        raise ConfigError(f"{name}:1: has no capacity in it")
    _rising(lambda index: f"{name}:{lines[index]}", tuple(steps))
    begin = steps[0][0]
    rate = tuple((at - begin, kbps) for at, kbps in steps)
    delay = base_rtt_ms / 2000
    down = Direction(rate, delay, jitter_ms / 1000, queue_bytes)
    up = Direction(((0.0, UPLINK_KBPS),), delay, jitter_ms / 1000)
    return Scenario(name, _end(rate), down, up, seed)


def _end(rate: tuple[tuple[float, float], ...]) -> float:
    if len(rate) == 1:
        return 1.0
    (before, level), (last, closing) = rate[-2:]
    return last if level == closing else 2 * last - before


def _row(where: str, row: list[str]) -> tuple[float, float]:
    if len(row) != 2:
        raise ConfigError(f"{where}: must be two numbers, not {','.join(row)!r}")
    try:
        at, kbps = float(row[0]), float(row[1])
    except ValueError:
        raise ConfigError(f"{where}: must be two numbers, not {','.join(row)!r}") from None
    return _number(f"{where} time_s", at), _number(f"{where} kbps", kbps)
