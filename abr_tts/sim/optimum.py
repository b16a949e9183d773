"""
The offline optimum: what no sender can beat, by dynamic programming over a network known beforehand.

It is an upper bound of the quality of experience, not a plan that could be carried out. The link is a
fluid that carries its capacity to the last byte, its jitter always helps, nothing is lost but in drop
windows, packets share headers as well as the wire format allows, and the sender knows the future. What
binds is the capacity, the engine's schedule, the size of speech at each rung, and the player's rules.
Whatever a real sender does, it could do here for the same points or more:

- One who knows the future sends each frame once, at the rung at which it is heard, in order.
- A stall costs more than waiting as long before the first sound, which a sender brings about by sending
  later. So the optimum never stalls, and the start is chosen.
- Speech is cut into pieces of 100 ms of one rung. Where a real sender changes within a piece, the cheaper
  rung in all of it loses no more than is taken off the price of a change.

The stalled share stands beside it and is another bound: what is left to a sender that begins as soon as it
can and sends the cheapest rung.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..control.ladder import MESSAGE_HEAD_BYTES, SEGMENT_BYTES, SEGMENT_HEAD_BYTES, Rung
from ..control.policy import Policy
from ..stream.playout import START_TICKS
from ..units import FRAME_TICKS, FRAMES_PER_SECOND
from ..wire.compact import PACKETS_MOST
from .arms import CODECS
from .engine import conversation
from .packets import SpeechSizes
from .run import TLS_BYTES, World
from .scenario import Scenario
from .score import CHANGE, CHANGE_EVENT, STARTUP_S, UTILITY, utility_of
from .speaker import CHARACTERS_A_SECOND
from .supply import Supply

PIECE_FRAMES = 5
"""Frames of a piece: a usual message."""

PIECE_S = PIECE_FRAMES / FRAMES_PER_SECOND

START_PIECES = START_TICKS // FRAME_TICKS // PIECE_FRAMES
"""Pieces that a player wants before it starts."""

CELLS = 1_000
"""Cells into which the bytes of an utterance are cut, about."""

LEAST_CELL_BYTES = 64
"""A piece of the cheapest rung is 200 bytes: smaller cells would tell nothing."""

FINE_S = 0.02
"""The start is found to so many seconds, a frame; the bound stays one."""

WEBSOCKET_BYTES = 2
"""Least head of a WebSocket frame (RFC 6455 section 5.2)."""

REQUEST_BYTES = 250
"""Of a request on the wire, about, beside its text."""

Table = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Optimum:
    """
    A bound for one session, or for a set of them.

    Args:
        qoe: no sender has more, audio-weighted.
        stall_pct: of the seconds of audio, what a sender is stalled at least that starts as soon as it can.
        audio_s: seconds of audio.
        bound: what exactly it bounds, in a sentence.
    """

    qoe: float
    stall_pct: float
    audio_s: float
    bound: str


class Best(NamedTuple):
    """For one utterance: points (the sum under the QoE), seconds that must be stalled, when it ends."""

    points: float
    stall_s: float
    ended_at: float


BOUND = (
    "upper bound of QoE for any sender of this ladder {how}: capacity known beforehand and used to the last "
    "byte, the engine's schedule and the player's rules kept; stalled: the least of a sender that starts as "
    "soon as it can"
)


def optimum(
    scenario: Scenario,
    utterances: Iterable[tuple[float, float]] | None,
    policy: Policy,
    *,
    upgrading: bool,
    utility: Mapping[str, float] = UTILITY,
    world: World | None = None,
    until_s: float | None = None,
    seed: int = 1,
) -> Optimum:
    """
    The bound for the session that `run` plays with the same arguments.

    Each utterance is begun when the one before has ended and the listener has rested, as in `run`; so
    where stalls differ, later utterances meet other moments of the network.

    Args:
        policy: gives the rungs.
        upgrading: what was sent may be sent again, better; else each frame is sent once, and the player
            wants its first 200 ms at the rungs at which they are heard.
        utility: of rungs, as `score` takes it.

    Raises:
        ValueError: nothing is spoken.
        ConfigError: a rung has no utility.
    """
    world = world or World()
    search = Search(scenario, policy, utility, world, upgrading)
    last_start = scenario.duration_s if until_s is None else until_s
    plan = conversation(f"{seed}/talk") if utterances is None else utterances
    now = points = stalled = total = 0.0
    for index, (audio_s, rest_s) in enumerate(plan):
        if now > last_start:
            break
        speech = Spoken.of(audio_s, world, f"{seed}/{index}", search.rungs)
        best = search.best(speech, search.asked(speech, now))
        points, stalled, total = points + best.points, stalled + best.stall_s, total + speech.audio_s
        now = best.ended_at + rest_s
    if not total:
        raise ValueError("nothing was spoken")
    how = "that may send better what it has sent" if upgrading else "that sends each frame once"
    return Optimum(points / total, 100 * stalled / total, total, BOUND.format(how=how))


def over(optima: Iterable[Optimum]) -> Optimum:
    """
    The bound of a set of sessions: the audio-weighted mean, as `score.summarise` has it.

    Raises:
        ValueError: the set is empty.
    """
    every = list(optima)
    total = sum(one.audio_s for one in every)
    if not total:
        raise ValueError("nothing was spoken")
    qoe = sum(one.qoe * one.audio_s for one in every) / total
    return Optimum(qoe, sum(one.stall_pct * one.audio_s for one in every) / total, total, every[0].bound)


# ---------------------------------------------------------------- what is said


@dataclass(frozen=True, slots=True)
class Spoken:
    """
    An utterance in pieces.

    Args:
        audio_s: its length.
        made: when each piece is begun to be made, seconds after the server has the request.
        seconds: of speech in each piece.
        sizes: by rung, bytes on the wire of each piece.
    """

    audio_s: float
    made: tuple[float, ...]
    seconds: tuple[float, ...]
    sizes: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, audio_s: float, world: World, seed: str, rungs: tuple[Rung, ...]) -> Spoken:
        """The utterance that `run` makes of the same seed: its schedule and its packets."""
        engine = world.engine
        clauses = engine.clauses(audio_s, Random(f"{seed}/clauses"))
        samples = sum(size for clause in clauses for _, size in clause)
        frames = -(-samples * FRAMES_PER_SECOND // engine.rate)
        model = SpeechSizes(f"{seed}/sizes", frames)
        begins = range(0, frames, PIECE_FRAMES)
        sizes = tuple(_in_pieces([model.bytes_of(r, f) for f in range(frames)], world.tls) for r in rungs)
        audio_s = samples / engine.rate
        seconds = tuple(min(PIECE_S, audio_s - b / FRAMES_PER_SECOND) for b in begins)
        return cls(audio_s, tuple(_made(clauses, engine.rate, len(begins))), seconds, sizes)


def _in_pieces(packets: list[int], tls: bool) -> tuple[float, ...]:
    least = [least_bytes(size, tls) for size in packets]
    return tuple(sum(least[at : at + PIECE_FRAMES]) for at in range(0, len(least), PIECE_FRAMES))


def least_bytes(packet: int, tls: bool) -> float:
    """Bytes on the wire of one packet of audio, which shares its headers with as many as may be."""
    shared = MESSAGE_HEAD_BYTES + WEBSOCKET_BYTES + (TLS_BYTES if tls else 0)
    payload = packet + (3 if packet > 255 else 2) + shared / PACKETS_MOST
    return payload * (SEGMENT_BYTES + SEGMENT_HEAD_BYTES) / SEGMENT_BYTES


def _made(clauses: list[list[tuple[float, int]]], rate: int, count: int) -> list[float]:
    """When the first frame of each piece is there; the last piece may be less than a frame."""
    made: list[float] = []
    total, begun = 0, 0.0
    for clause in clauses:
        for delay, size in clause:
            total += size
            while len(made) < count and total * FRAMES_PER_SECOND >= rate * (len(made) * PIECE_FRAMES + 1):
                made.append(begun + delay)
        begun += clause[-1][0]
    return made + [begun] * (count - len(made))


# ---------------------------------------------------------------- the search


class Search:
    """The best of one utterance after another over one scenario; see `optimum`."""

    def __init__(
        self, scenario: Scenario, policy: Policy, utility: Mapping[str, float], world: World, upgrading: bool
    ) -> None:
        fitted = policy.for_listener(CODECS, world.engine.rate)
        self.rungs = _worthwhile(fitted.rungs, utility)
        self._worth = [utility_of(rung.name, utility) for rung in self.rungs]
        self._supply = Supply(scenario.down, scenario.duration_s)
        self._uplink, self._up_s = Supply(scenario.up, scenario.duration_s), scenario.up.delay_s
        self._down_s = max(0.0, scenario.down.delay_s - scenario.down.jitter_s)
        self._upgrading = upgrading

    def asked(self, speech: Spoken, now: float) -> float:
        """When the server has the request for `speech` that leaves at `now`, if nothing blocks it."""
        size = REQUEST_BYTES + speech.audio_s * CHARACTERS_A_SECOND
        return self._uplink.when(self._uplink.by(now) + size) + self._up_s

    def best(self, speech: Spoken, begun: float) -> Best:
        """The bound for `speech` that the server is asked for at `begun`."""
        released = [self._supply.by(begun + at) for at in speech.made]
        cheapest = _through(released, speech.sizes[0])
        arrives = [self._supply.when(position) + self._down_s for position in cheapest]
        soonest = arrives[min(START_PIECES, len(arrives)) - 1]
        late = (at - soonest - due for at, due in zip(arrives, _due(speech), strict=True))
        stall_s = max(0.0, *late)
        worth, start = self._from(speech, released, soonest, soonest + stall_s)
        waited = start - begun - speech.made[0]
        return Best(worth - STARTUP_S * waited, stall_s, start + speech.audio_s)

    def _from(
        self, speech: Spoken, released: list[float], soonest: float, feasible: float
    ) -> tuple[float, float]:
        """
        The best worth and start, not before `soonest`; before `feasible` something would stall.

        Between two starts no one is worth more than the later one, nor waits less than the earlier
        one: so intervals are cut where the bound is greatest, until it is fine.
        """
        most = self._worth[-1] * speech.audio_s
        low = max(soonest, feasible)
        worth = self._play(speech, released, low)
        best, best_start = worth - low, low
        ahead = [(low - most, low, low + most - worth)]
        while ahead:
            bound, begin, end = heapq.heappop(ahead)
            if -bound <= best + 1e-9 or end - begin <= FINE_S:
                best, best_start = max((best, best_start), (-bound, begin))
                break
            middle = (begin + end) / 2
            worth = self._play(speech, released, middle)
            best, best_start = max((best, best_start), (worth - middle, middle))
            heapq.heappush(ahead, (begin - worth, begin, middle))
            heapq.heappush(ahead, (bound - begin + middle, middle, end))
        return best + best_start, best_start

    def _play(self, speech: Spoken, released: list[float], start: float) -> float:
        """Most that can be heard from `start` on without a stall, changes paid: the dynamic program."""
        deadlines = [self._supply.by(max(0.0, start + due - self._down_s)) for due in self._deadlines(speech)]
        top = _through(released, speech.sizes[-1])
        if all(at <= deadline for at, deadline in zip(top, deadlines, strict=True)):
            return self._worth[-1] * speech.audio_s
        return _programme(speech, released, deadlines, np.array(self._worth))

    def _deadlines(self, speech: Spoken) -> list[float]:
        """Seconds after the start by which each piece must be there."""
        due = _due(speech)
        return due if self._upgrading else [0.0] * min(START_PIECES, len(due)) + due[START_PIECES:]


def _worthwhile(rungs: tuple[Rung, ...], utility: Mapping[str, float]) -> tuple[Rung, ...]:
    """The cheapest first, without what is no better than something cheaper."""
    kept: list[Rung] = []
    for rung in sorted(rungs, key=lambda r: (r.kbps, -utility_of(r.name, utility))):
        if not kept or utility_of(rung.name, utility) > utility_of(kept[-1].name, utility):
            kept.append(rung)
    return tuple(kept)


def _due(speech: Spoken) -> list[float]:
    """Seconds after the start at which the last frame of each piece is heard."""
    due = [(n * PIECE_FRAMES + PIECE_FRAMES - 1) / FRAMES_PER_SECOND for n in range(len(speech.made))]
    due[-1] = (
        due[-1] - PIECE_S + max(1, math.ceil(speech.seconds[-1] * FRAMES_PER_SECOND)) / FRAMES_PER_SECOND
    )
    return due


def _through(released: list[float], sizes: tuple[float, ...]) -> list[float]:
    """Positions in the link's bytes at which each piece is through, sent in order as soon as it is made."""
    positions, at = [], 0.0
    for begin, size in zip(released, sizes, strict=True):
        at = max(at, begin) + size
        positions.append(at)
    return positions


def _programme(speech: Spoken, released: list[float], deadlines: list[float], worth: Table) -> float:
    """
    The greatest sum of utility, less changes, such that each piece is through by its deadline.

    State: the rung of the last piece and the position in the link's bytes, in cells. Rounding always
    helps: along a run of one rung sizes are rounded by what adds up, one cell is given back where a run
    begins, and deadlines are a cell later, which is more than waiting for the engine can cost.
    """
    first = released[0]
    most = min(deadlines[-1] - first, sum(speech.sizes[-1]) + max(0.0, released[-1] - first))
    cell = max(LEAST_CELL_BYTES, most / CELLS)
    begins = [math.floor((at - first) / cell) for at in released]
    ends = [math.floor((at - first) / cell) + 1 for at in deadlines]
    width = min(max(ends), math.floor(most / cell) + 1) + 1
    totals = np.cumsum([np.zeros(len(worth)), *np.array(speech.sizes).T], axis=0)
    steps = np.diff(np.floor(totals / cell).astype(int), axis=0)
    price = CHANGE - PIECE_S
    tilt = price * worth[:, None]
    table = np.full((len(worth), width), -np.inf)
    table[:, 0] = 0.0
    for index, seconds in enumerate(speech.seconds):
        begin, end = min(begins[index], width - 1), min(ends[index] + 1, width)
        table[:, begin] = table[:, : begin + 1].max(axis=1)
        stay = table[:, begin:]
        climb = np.maximum.accumulate(stay + tilt, axis=0) - tilt
        fall = np.maximum.accumulate((stay - tilt)[::-1], axis=0)[::-1] + tilt
        move = np.maximum(climb, fall) - (CHANGE_EVENT if index else 0.0)
        table = np.full((len(worth), width), -np.inf)
        for rung, step in enumerate(steps[index]):
            _shift(table[rung], stay[rung], begin + step, end)
            _shift(table[rung], move[rung][:1], begin + max(0, step - 1), end)
            _shift(table[rung], move[rung][1:], begin + step, end)
        table += (worth * seconds)[:, None]
    return float(table.max())


def _shift(into: Table, row: Table, at: int, end: int) -> None:
    """`row` from cell `at` on, up to `end`, where it is more than what is there."""
    count = min(len(row), end - at)
    if count > 0:
        part = into[at : at + count]
        np.maximum(part, row[:count], out=part)
