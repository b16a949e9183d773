"""
What a server's trace tells of one stream: which rungs it sent when, and why what is heard changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..control.controller import UPGRADE
from ..trace import Trace
from ..units import FRAME_TICKS
from .account import Change

LATE = "the upgrade did not come in time"
"""Why the bank is heard though the server's plan was another: the only reason that it cannot know."""


class Piece(NamedTuple):
    """A message of audio was made at `at`: `frames` frames from `pts` on, in layer `rank`."""

    at: float
    rank: int
    rung: str
    pts: int
    frames: int

    @property
    def end(self) -> int:
        """The pts behind it."""
        return self.pts + self.frames * FRAME_TICKS


class Plan(NamedTuple):
    """From `at` on the server meant to send these rungs, for these reasons."""

    at: float
    bank: str
    upgrade: str | None
    bank_reason: str
    upgrade_reason: str


class Told:
    """
    Args:
        trace: of the stream.
        origin: what counts as second 0, on the trace's clock.
    """

    def __init__(self, trace: Trace, origin: float) -> None:
        self.pieces: list[Piece] = []
        self.plans: list[Plan] = []
        self.length: int | None = None
        """Samples of the whole speech at the engine's rate; None: the trace ends before."""
        at = float(trace.header["now"]) - origin
        for entry in trace.entries:
            record = entry.record
            if entry.is_input:
                at = float(record["now"]) - origin
            elif entry.kind == "encode":
                self.pieces.append(Piece(at, record["rank"], record["rung"], record["pts"], record["frames"]))
            elif entry.kind == "decided":
                self.plans.append(_plan(at, record))
            elif entry.kind == "finished":
                self.length = record["length"]

    def reason(self, change: Change) -> str:
        """Why what is heard changed, in the server's words."""
        piece = self._carried(change)
        if piece is not None and piece.rank == UPGRADE:
            plan = _last(self.plans, piece.at)
            return plan.upgrade_reason if plan else ""
        left = self._stopped_at(change)
        if left is None:
            plan = _last(self.plans, piece.at if piece else change.at)
            return plan.bank_reason if plan else ""
        for plan in self.plans:
            if left < plan.at <= change.at and plan.upgrade != change.source:
                return plan.upgrade_reason
        return LATE

    def _carried(self, change: Change) -> Piece | None:
        """The piece whose sound the change begins with: the best that was sent by then."""
        fitting = [
            piece
            for piece in self.pieces
            if piece.rung == change.target and piece.pts <= change.pts < piece.end and piece.at < change.at
        ]
        return max(fitting, key=lambda piece: (piece.rank, piece.at), default=None)

    def _stopped_at(self, change: Change) -> float | None:
        """When the upgrade that is left here was sent last; None: it was no upgrade."""
        times = [
            piece.at
            for piece in self.pieces
            if piece.rank == UPGRADE and piece.rung == change.source and piece.pts < change.pts
        ]
        return times[-1] if times else None


def merged(pieces: Sequence[Piece], rank: int, gap_s: float) -> list[tuple[float, float, str]]:
    """
    (begin, end, rung) of the times in which a layer was sent.

    Args:
        rank: 0 for the bank, 1 for upgrades.
        gap_s: pieces of one rung that are no further apart are one; it is also the least length.
    """
    spans: list[tuple[float, float, str]] = []
    for piece in pieces:
        if piece.rank != rank:
            continue
        if spans and spans[-1][2] == piece.rung and piece.at - spans[-1][1] <= gap_s:
            spans[-1] = (spans[-1][0], piece.at, piece.rung)
        else:
            spans.append((piece.at, piece.at, piece.rung))
    return [(begin, max(end, begin + gap_s), rung) for begin, end, rung in spans]


def _plan(at: float, record: Any) -> Plan:
    return Plan(
        at,
        record["bank"],
        record["upgrade"],
        record["bank_reason"]["sentence"],
        record["upgrade_reason"]["sentence"],
    )


def _last(plans: Sequence[Plan], at: float) -> Plan | None:
    return next((plan for plan in reversed(plans) if plan.at <= at), None)
