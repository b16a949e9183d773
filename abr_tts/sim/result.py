"""
What came of a run, as records: for scores, tables and plots.

They hold what happened and judge nothing; that is `score`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..units import ticks_to_seconds
from .listener import Heard
from .speaker import Speaker


@dataclass(frozen=True, slots=True)
class Point:
    """
    A moment of a run, for plots: time, capacity, seconds sent and held, bytes under way, the rung that is
    played, and the seconds stalled since the utterance began.
    """

    at: float
    kbps: float
    lead_s: float
    buffer_s: float
    outstanding: int
    rung_played: str
    stall_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Change:
    """What is sent changed: when, from and to which rung, from which second of speech on, and why."""

    at: float
    source: str
    target: str
    from_s: float
    reason: str


@dataclass(slots=True)
class Utterance:
    """
    What became of one utterance. Times are seconds of the world.

    `startup_s` is from the request to the first sound, network and engine included; `delivery_s`
    from the engine's first chunk on the server to the first sound.
    """

    audio_s: float
    asked_at: float
    startup_s: float = math.inf
    delivery_s: float = math.inf
    ended_at: float = math.inf
    complete: bool = False
    stalls: int = 0
    stall_s: float = 0.0
    lost_frames: int = 0
    runs: tuple[tuple[str, float], ...] = ()
    """(rung, seconds) of what was played, in order."""
    changes: tuple[Change, ...] = ()
    sent_s: dict[str, float] = field(default_factory=dict)
    """Seconds of audio sent, by rung; pre-roll, overlap and what was upgraded count each time."""
    payload_bytes: int = 0
    """Its own WebSocket messages."""
    wire_bytes: int = 0
    """IP packets down, headers, TLS and retransmissions included, while it lasted."""
    trace: tuple[Point, ...] = ()

    @property
    def played_s(self) -> dict[str, float]:
        """Seconds played, by rung."""
        total: dict[str, float] = {}
        for rung, seconds in self.runs:
            total[rung] = total.get(rung, 0.0) + seconds
        return total


@dataclass(frozen=True, slots=True)
class Result:
    """A session over one scenario."""

    scenario: str
    utterances: tuple[Utterance, ...]
    seconds: float
    """Of virtual time."""
    timeouts: int
    retransmitted: int
    dropped: int
    """TCP time-outs, packets sent again, and packets that found the queue full, downwards."""


def note_sent(utterance: Utterance, speaker: Speaker) -> None:
    """What went out for it."""
    record = speaker.sent_record
    utterance.payload_bytes = record.payload_bytes
    utterance.sent_s = {rung: ticks_to_seconds(ticks) for rung, ticks in record.ticks.items()}
    utterance.changes = tuple(
        Change(at, switch.source, switch.target, ticks_to_seconds(switch.at), switch.reason)
        for at, switch in record.switches
    )


def note_heard(utterance: Utterance, heard: Heard, speaker: Speaker | None) -> None:
    """What was heard of it."""
    utterance.complete = heard.finished_at is not None
    utterance.stalls = heard.playout.stalls
    utterance.stall_s = ticks_to_seconds(heard.playout.stall_ticks)
    utterance.lost_frames = heard.lost
    utterance.runs = tuple((rung, ticks_to_seconds(ticks)) for rung, ticks in heard.runs)
    if heard.started_at is not None:
        utterance.startup_s = heard.started_at - utterance.asked_at
        first = speaker.sent_record.first_pcm_at if speaker else None
        utterance.delivery_s = math.inf if first is None else heard.started_at - first
